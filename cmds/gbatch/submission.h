// A batch job as it is sent to the controller, and what is told of its end.
#pragma once

#include <string>
#include <vector>

#include "client/conn/connection.h"
#include "cmds/request/batch_script.h"
#include "cmds/request/job_options.h"
#include "cmds/shared/commands.h"

namespace gw::cmds {

/// All that a submission is made of.
struct Submission {
  Script script;
  std::vector<BatchOptions> components;  ///< At least one; the first speaks for the whole job.
  std::vector<std::string> script_args;
  std::string environment;  ///< NUL-separated NAME=value.
  std::string line;         ///< The command as it was typed.
};
/// Completes the components and makes the request; what the user should know is added to `notes`. Errors: options that
/// contradict each other, with Slurm's words under its names; no current directory.
base::Result<wire::SubmitRequest> submit_request(const client::Program& program, Submission& submission,
                                                 std::vector<std::string>& notes);

/// What a command that waited for the job leaves with; how it ended is told unless `quiet`.
int exit_code_of(const client::Program& program, const wire::Job& job, bool quiet);
/// To be called before the id is printed: whoever has read it and ends this program is told.
void explain_when_interrupted(const client::Program& program, uint32_t id);
/// Waits for the end of the job; the exit code.
int wait_for(const client::Program& program, client::Connection& connection, uint32_t id, bool quiet);

}  // namespace gw::cmds
