// gcancel on steps and batch scripts.
// Invariants: success is silent, and so is, under Slurm's name, a step that is not there; a batch script alone is never
// ended, only signalled.
#pragma once

#include <vector>

#include "client/conn/connection.h"
#include "cmds/shared/step_ids.h"

namespace gw::cmds {

struct CancelManner {
  int signo = 0;  ///< 0: end it.
  bool batch = false, quiet = false, verbose = false;
};

/// What has ended needs no cancelling; a signal, though, should reach somebody. An id that nothing has is a mistake,
/// but scancel passes over it, as clients of Slurm expect.
bool is_nothing_to_do(const client::Program& program, base::ErrorCode code, bool is_signal);

/// What -v says of one that was ended (`signo` 0) or signalled: "Signal 10 to job 7".
std::string what_was_done(int signo, std::string_view kind, const std::string& id);

/// Can these be ended or signalled in that manner? Errors: a batch script without a signal; -b with a step.
base::Status check_steps(const std::vector<StepId>& steps, const CancelManner& manner);

/// Those of the steps whose jobs pass the filter, whatever its ids.
base::Result<std::vector<StepId>> steps_that_pass(client::Connection& connection, const std::vector<StepId>& steps,
                                                  wire::JobFilter filter);

/// Ends or signals them one by one and tells what went wrong; returns the exit code.
int cancel_steps(const client::Program& program, client::Connection& connection, const std::vector<StepId>& steps,
                 const CancelManner& manner);

}  // namespace gw::cmds
