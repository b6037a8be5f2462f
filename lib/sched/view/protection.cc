// See protection.h.
#include "sched/view/protection.h"

#include <algorithm>

namespace gw::sched {
namespace {

/// After the first preemption; doubled by each one more, up to the job's patience.
constexpr Duration kFirstProtection = base::minutes(10);
/// Where patience has no end.
constexpr Duration kLongestProtection = base::hours(12);

}  // namespace

Duration patience_of(const ClusterView& view, uint32_t leaf) {
  const auto& own = view.quota().tree().qos(leaf).patience;
  return own ? *own : view.policy().patience;
}

Time waits_since(const PendingJob& job) { return job.preemptions > 0 ? job.submitted : job.eligible; }

Time protected_until(const ClusterView& view, uint32_t leaf, const PendingJob& running, Time started) {
  if (running.preemptions == 0 || running.suspends != Suspends::kNo || view.policy().reclaim_delay_max.us <= 0)
    return started;
  const Duration patience = patience_of(view, leaf);
  const Duration most = patience.us > 0 ? patience : kLongestProtection;
  Duration length = kFirstProtection;
  for (uint32_t i = 1; i < running.preemptions && length < most; ++i) length = length * 2;
  return started + std::min(length, most);
}

Time settled_until(const ClusterView& view, uint32_t leaf, const PendingJob& running, Time started) {
  const Time until = protected_until(view, leaf, running, started);
  const Duration patience = patience_of(view, leaf);
  const bool was_impatient = patience.us > 0 && running.eligible && started - waits_since(running) >= patience;
  return was_impatient ? std::max(until, started + patience) : until;
}

}  // namespace gw::sched
