// How long a running job is left in peace that has waited its patience, or that was preempted before: rules 12 and 13 of
// docs/quotas.md.
#pragma once

#include "sched/view/view.h"

namespace gw::sched {

/// Of the jobs at a leaf: what its QOS says, or one above it, else the policy; zero: nobody ever loses it.
Duration patience_of(const ClusterView& view, uint32_t leaf);

/// Since it could first start; one that was preempted before has waited since its first submission.
Time waits_since(const PendingJob& job);

/// Until when a running job is protected, since it was preempted before; its start: it is not.
Time protected_until(const ClusterView& view, uint32_t leaf, const PendingJob& running, Time started);

/// It started after its patience or is protected: fair shares do not disturb it yet.
bool is_settled(const ClusterView& view, uint32_t leaf, const PendingJob& running, Time started, Time now);

}  // namespace gw::sched
