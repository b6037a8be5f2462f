// By which clock each waiting job waits: one for what keeps it from the scheduler, or that of its class, which shows
// what the scheduler says of it. Invariants: every job that waits is on one clock, from its submission, requeue or
// revival on; what it has waited is added to its row when the wait is over (transition.h), and the waits that are not
// over are kept in a few rows from time to time, so that a restart loses minutes at most: those count as not known.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// What keeps the job waiting may have changed: it waits by the clock of that. It waits, and is no component.
void set_wait_clock(Core& core, const model::Job& job);
/// Likewise of all components of a heterogeneous job that wait: they start together, so each waits for what keeps any
/// of them.
void set_wait_clocks_of_components(Core& core, const model::Job& leader);
/// Likewise, where that is no matter of the scheduler.
void wait_for(Core& core, const model::Job& job, model::WaitCause cause);
/// Both were one until now, and have waited the same: a task and what is left of its array.
void share_wait(Core& core, const model::Job& of, const model::Job& with);
/// A plan was made: jobs that want something else by then are of other classes.
void follow_classes(Core& core, const sched::Plan& plan);
/// Before all its runs, with a wait that is not over.
model::WaitSplit waited_of(const Core& core, const model::Job& job);

/// Waits that are not over, as rows have them, go on. Before jobs are looked at.
void restore_waits(Core& core, const store::Snapshot& snapshot);
/// Writes those rows.
void keep_waits(Core& core);
/// Some of them; the rest soon, and all again after a while, as long as jobs wait.
void waits_due(Core& core);

}  // namespace gw::ctld
