// Jobs that are suspended: their processes are frozen, their memory stays, and they resume where they were when what
// they gave away is free again. A job is suspended because it is preempted and would rather not be ended, or
// because an administrator says so.
// Invariants: from when all nodes have said that the job is suspended until it resumes, the scheduler knows what it
// still holds under an id of its own (Suspension::kept_id), and the job itself as one that waits for the rest; its time
// limit does not count that time; a node that cannot freeze it makes it run on, or, where others need the room, end.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// False: it cannot be suspended at all.
bool suspend(Core& core, model::Job& job, model::Suspension why, base::Duration grace);
/// A node that was away may have missed what it was told last; said again it changes nothing.
void repeat_suspension(Core& core, const model::Job& job, NodeId node);
/// The node has frozen its share, or says why it cannot.
void on_suspended(Core& core, NodeId node, const wire::Suspended& m);
/// Its QOS, or what it asks for, is another one.
void tell_of_suspended(Core& core, const model::Job& job);
/// Is what the job gave away free again, as the plan says?
bool can_go_on(const Core& core, const model::Job& job, const sched::Start& start);
/// The job takes back what it gave away, and runs. False: it is not suspended.
bool go_on(Core& core, model::Job& job);
/// Some nodes have not said that they froze the job: it continues to run, or ends where others need the room.
void suspension_due(Core& core, model::Job& job);
/// After the controller's start.
void restore_suspension(Core& core, const model::Job& job, const model::Allocation& held);
/// An administrator, or an operator of its QOS, suspends the job until it is resumed.
base::Status suspend_on_request(Core& core, const Caller& caller, model::Job& job);
/// Likewise; it resumes as soon as there is room.
base::Status resume_on_request(Core& core, const Caller& caller, model::Job& job);

}  // namespace gw::ctld
