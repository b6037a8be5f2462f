// Use of the cluster by users and QOS: charged as shares of nodes are taken and released, stored with the change that
// caused it, told to the scheduler in fixed periods. See sched/usage.h.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// The job's user, QOS and budgets hold from now on what `takes` says in place of `gives`.
void charge(Core& core, const model::Job& job, const model::Allocation& gives, const model::Allocation& takes);
/// Likewise for what was held when the controller was ended, and counts since then.
void charge_again(Core& core, const model::Job& job, const model::Allocation& held);
/// What a node's share of a job cost is charged no longer.
void discharge(Core& core, const model::Job& job, NodeId node);
/// What the job holds has changed, or it ends: its service is counted up to now, and from now on by what it holds.
/// The caller writes its row.
void count_service(Core& core, model::Job& job);
/// The job has ended: what it had in all counts among the services by which some orders go (sched::Needs::services).
/// Whether there are so many more that these are to hear of it.
bool note_service(Core& core, const model::Job& job);
/// As the store has them. Whether there are any.
bool restore_services(Core& core, const store::Snapshot& snapshot);
/// Nobody has used anything: nothing to wake up for.
void arm_usage(Core& core);
/// A period is over: the scheduler is told what was used.
void usage_due(Core& core);
/// Tells the scheduler, if what it knows is another.
void publish_usage(Core& core);
/// As the store has it; rows that cannot be read are held aside.
void restore_usage(Core& core, const store::Snapshot& snapshot);

}  // namespace gw::ctld
