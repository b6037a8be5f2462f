// What nodes know that the controller's state does not: marks of a newer state or of another one, and runs that were
// placed by those. Such runs continue; ids that nodes know are not given again; a node that has one gets no new jobs,
// since what it holds is not in the ledger. While a state that is behind its nodes waits to hear of all of them nothing
// starts: what it takes for waiting may run there.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// Looks for what the node has that is not ours; before it is shown to the scheduler. Returns what the node has seen.
Kin hear_of_state(Core& core, const model::Node& node, const wire::Register& m);
/// Keeps what else the node lists of foreign runs, such as their steps.
void want_foreign(const Core& core, NodeId node, const wire::Register& m, wire::Registered& out);
/// Some node has registered, or the time is over.
void look_who_is_heard(Core& core);
/// Jobs that the state takes for waiting may have runs on the node.
void update_jobs_of_foreign(Core& core, NodeId node);
/// A message about a foreign run, which may have the number of one of ours. False: it is about none.
bool foreign_message(Core& core, NodeId node, const wire::NodeToController& message);
/// Tells the node to end a run that the state does not know.
void stop_foreign(Core& core, const ForeignRun& run);
/// Nodes come back one after the other: the first node of a gang may have reported its end before another one told of
/// its part, or while nobody listened.
void end_left_behind(Core& core, NodeId node);
/// The job that the state has on the node is not there, but the node has gone on since the state was saved: it may have
/// come to its end. It waits, held, for somebody who knows.
void hold_what_may_have_ended(Core& core, model::Job& job, NodeId node);

}  // namespace gw::ctld
