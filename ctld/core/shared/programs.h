// The controller's prolog and epilog of a job: the shell is asked for them.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// Has the program of `job.placed()->program` run; answered by on_program_ended() (jobs/run.h), once. After a restart
/// of the controller it is asked for again: a program may run more than once for a run.
void ask_for_program(Core& core, const model::Job& job);

}  // namespace gw::ctld
