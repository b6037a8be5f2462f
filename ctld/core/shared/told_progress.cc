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
  keep_promise(job, now);
}

void keep_promise(model::Job& job, Time now) {
  model::Progress& p = job.progress;
  p.has_overrun |= p.promised && now >= p.promised;
  if (!p.expected) return;
  const Time began = job.placed()->running_since();
  const Time latest = sched::overrun_of(began, p.expected - began);
  p.promised = p.promised ? std::min(p.promised, latest) : latest;
}

void end_progress(model::Progress& p, Time ended) {
  p.has_overrun |= p.promised && ended >= p.promised;
  p.left = base::kUnlimited;
  if (p.expected && p.rate_milli > 0) {
    const double lost =
        static_cast<double>(p.step - std::min(p.saved_step, p.step)) / static_cast<double>(p.rate_milli);
    constexpr double kFar_s = 1e9;
    p.left = std::max(p.expected - ended, Duration{}) +
             base::microseconds(static_cast<int64_t>(std::min(lost * 1e3, kFar_s) * 1e6));
  }
  p.step = std::min(p.step, p.saved_step);
  p.told = p.expected = p.promised = {};
}

}  // namespace gw::ctld
