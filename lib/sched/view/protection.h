// How long a running job is left in peace that has waited its patience, or that was preempted before: rules 12 and 13
// of docs/quotas.md.
#pragma once

#include "sched/view/view.h"

namespace gw::sched {

/// Of the jobs at a leaf: what its QOS says, or one above it, else the policy; zero: nobody ever loses it.
Duration patience_of(const ClusterView& view, uint32_t leaf);

/// Since it could first start; one that was preempted before has waited since its first submission.
Time waits_since(const PendingJob& job);

/// Until when a running job is protected, since it was preempted before; its start: it is not, or it is suspended in
/// place of being ended and loses nothing.
Time protected_until(const ClusterView& view, uint32_t leaf, const PendingJob& running, Time started);

/// Until when fair shares do not disturb a running job, since it is protected or started after its patience.
Time settled_until(const ClusterView& view, uint32_t leaf, const PendingJob& running, Time started);

}  // namespace gw::sched
