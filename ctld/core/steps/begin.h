// Steps are made inside the allocation of a job that runs, in the order in which they were asked for; one that finds no
// room waits in its job's line. Invariant: no line is empty.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// The first step of a job that is one step has all of it.
void begin_first_step(Core& core, model::Job& job);
/// True: it begins. False: it has to wait. Errors: it could never run here.
base::Result<bool> begin_step(Core& core, model::Job& job, const StepWait& wait);
/// Whoever waits for the step to be ready is refused.
void tell_step_waiters(Core& core, const model::Step& step, const base::Error& error);
/// Steps that waited begin, in their order, as far as there is room.
void begin_waiting_steps(Core& core, model::Job& job);
/// The run of a job is over or about to be: nobody waits for steps of it any more.
void refuse_steps(Core& core, JobId id, const std::string& why);
/// Nothing of the step is left: it is forgotten.
void drop_step(Core& core, StepKey key);

}  // namespace gw::ctld
