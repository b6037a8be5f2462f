// Preemption: who is told to go, whose place is kept for whom, and what a dry run of moves has
// found. Invariant: after a start nobody is preempted before all nodes are back, or had the time to come back.
#pragma once

#include <vector>

#include "ctld/core/core.h"

namespace gw::ctld {

/// Nobody is preempted for a job that no longer waits for room.
bool can_make_room(const Core& core, const sched::Group& group);
/// What a dry run of consolidation found, once for each blocked job and set of moves. Like a move it waits until all
/// nodes are back; the scheduler says it once, so it is kept until then.
void report_moves(Core& core);
/// What others leave for a job is its own, also after a restart.
void nominate(Core& core, const sched::Nomination& nomination);
/// The job goes back to the queue as soon as it has left its nodes, unless it would rather end, or be suspended. False:
/// it is not there any more, or leaves already.
bool preempt(Core& core, const sched::Preempt& preempt);
/// The history of those for whom others leave says who these are, and by which rule.
void tell_displaced(Core& core, const std::vector<const sched::Preempt*>& leaving);

}  // namespace gw::ctld
