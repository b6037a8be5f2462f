// How qsub submits: its words and the directives of its scripts, as a job of gbatch with what its system has otherwise:
// where it runs, where its output goes, which variables it has.
#pragma once

#include <string>
#include <vector>

#include "client/options/directives.h"
#include "cmds/gbatch/submission.h"
#include "cmds/queue/system.h"

namespace gw::cmds::queue {

/// The command line, taken apart.
struct Call {
  std::vector<std::string> options;   ///< As words of gbatch.
  std::vector<std::string> operands;  ///< The script and its arguments, or a command and its own.
  client::OwnDirectives directives;
  bool is_command = false;  ///< The operands are a command.
  std::string cluster;
  std::string line;  ///< As it was typed.
};

/// The command as it was typed, but for the values of -v, since others may read it.
std::string typed_line(const Caller& caller, Args args);
/// The job as it is to be submitted; warnings are added to `notes`. Errors: of the script, the options, the variables.
base::Result<Submission> prepare(const Caller& caller, const Call& call, std::vector<std::string>& notes);

/// Adds the dependency that -hold_jid means: on those of the user's own jobs with such numbers or names that are still
/// to end. As in Grid Engine, others are no error.
base::Status add_held_for(client::Connection& connection, Submission& submission);

}  // namespace gw::cmds::queue
