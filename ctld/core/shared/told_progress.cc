// See told_progress.h.
#include "ctld/core/shared/told_progress.h"

#include <algorithm>

#include "sched/queue/orders.h"

namespace gw::ctld {

using base::Duration;
using base::Time;

void begin_progress(model::Job& job, Time now) {
  model::Progress& p = job.progress;
  if (p.left == base::kUnlimited) return;
  p.told = now;
  p.expected = now + p.left;
  p.promised = now + p.allowed;
}

void keep_promise(model::Job& job, Time now) {
  model::Progress& p = job.progress;
  p.has_overrun |= p.promised && now >= p.promised;
  if (!p.expected) return;
  const Time began = job.placed()->running_since();
  const Time latest = sched::overrun_of(began, p.expected - began);
  p.promised = p.promised ? std::min(p.promised, latest) : latest;
}

void end_progress(model::Progress& p, Time ended, bool was_preempted) {
  constexpr double kFar_s = 1e9;
  constexpr Duration kForAnotherStart = base::minutes(5);
  p.has_overrun |= p.promised && ended >= p.promised;
  p.left = base::kUnlimited;
  if (p.expected && p.promised && p.rate_milli > 0) {
    const double steps = static_cast<double>(p.step - std::min(p.saved_step, p.step));
    const double lost_s = std::min(steps * 1e3 / static_cast<double>(p.rate_milli), kFar_s);
    const Duration lost = base::microseconds(static_cast<int64_t>(lost_s * 1e6));
    p.left = std::max(p.expected - ended, Duration{}) + lost;
    p.allowed = std::max(p.promised - ended, Duration{}) + lost + (was_preempted ? kForAnotherStart : Duration{});
  }
  p.step = std::min(p.step, p.saved_step);
  p.told = p.expected = p.promised = {};
}

}  // namespace gw::ctld
