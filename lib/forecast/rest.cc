// See rest.h.
#include "forecast/rest.h"

#include <algorithm>
#include <numeric>

namespace gw::forecast {
namespace {

using base::Duration;
using base::Time;

/// After which time all recurring reservations lie to each other as they do now: the least common multiple of their
/// periods, but no more than a year beyond the longest. Zero: none recurs.
Duration pattern_of(const sched::AdvanceReservations& reservations) {
  constexpr int64_t kYear = base::hours(24 * 366).us;
  int64_t longest = 0, common = 1;
  for (const auto& [name, r] : reservations) {
    if (r.every.us <= 0) continue;
    longest = std::max(longest, r.every.us);
    const int64_t step = r.every.us / std::gcd(common, r.every.us);
    common = common > kYear / step ? kYear : common * step;
  }
  return Duration{longest == 0 ? 0 : std::max(longest, common)};
}

/// The last moment at which time alone could change something for this job.
Time last_edge(const sched::PendingJob& job) {
  Duration waits = {};
  for (const model::LocalityStep& step : job.request.locality)
    if (step.wait != base::kUnlimited) waits = waits + step.wait;
  Time last = std::max(job.deadline, job.eligible + waits);
  if (job.request.switches_wait != base::kUnlimited) last = std::max(last, job.eligible + job.request.switches_wait);
  return last;
}

}  // namespace

Time rest_from(const sched::ClusterView& view, Time changed) {
  const Duration pattern = pattern_of(view.reservations());
  if (pattern.us == 0) return Time::never();
  if (view.queue().size() == 0) return changed;
  Time last = changed;
  for (const auto& [name, r] : view.reservations()) {
    last = std::max(last, r.start);
    if (r.every.us == 0 && r.end != Time::never()) last = std::max(last, r.end);
  }
  for (const auto& [key, job_class] : view.queue().classes())
    for (const auto& [rank, job] : job_class.members) last = std::max(last, last_edge(job));
  return last + pattern;
}

}  // namespace gw::forecast
