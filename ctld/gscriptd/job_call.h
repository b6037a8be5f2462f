// The command line of the controller's prolog or epilog of a job, from what the controller says of the job and what the
// configuration says. Pure. Invariant: whatever the controller says, the program is the configuration's, and it sees no
// variable but those of a job.
#pragma once

#include "base/result.h"
#include "config/config.h"
#include "program/run_program.h"
#include "wire/script.pb.h"

namespace gw::ctld {

/// Errors: the configuration names no such program (kUnavailable); what no controller would send.
base::Result<program::ProgramCall> job_call(const wire::ScriptJob& job, const config::Config& config);

}  // namespace gw::ctld
