// See told_progress.h.
#include "ctld/core/shared/told_progress.h"

#include <algorithm>

#include "sched/queue/orders.h"

namespace gw::ctld {

using base::Duration;
using base::Time;

bool binds(const model::JobSpec& spec) { return !spec.request.elastic; }

void begin_progress(model::Job& job, Time now) {
  model::Progress& p = job.progress;
  if (!binds(job.spec)) return;
  if (p.left != base::kUnlimited) p.expected = now + p.left;
  if (p.allowed != base::kUnlimited) p.promised = now + p.allowed;
}

void keep_promise(model::Job& job, Time now) {
  model::Progress& p = job.progress;
  p.has_overrun |= p.promised && now >= p.promised;
  if (!p.expected || !binds(job.spec)) return;
  const Time began = job.placed()->running_since();
  const Time latest = sched::overrun_of(began, p.expected - began);
  p.promised = p.promised ? std::min(p.promised, latest) : latest;
}

void leave_out(model::Progress& p, Duration pause) {
  for (Time* at : {&p.told, &p.expected, &p.promised, &p.company.slow_since, &p.company.alone_since})
    if (*at) *at = *at + pause;
}

Duration idle_before(const model::Placed& placed, Time ended) {
  Time since = ended;
  if (placed.suspension && placed.suspension->kept_id) since = std::min(since, placed.suspension->since);
  if (placed.kill_sent) since = std::min(since, placed.kill_sent);
  return ended - since;
}

void end_progress(model::Progress& p, Time ended, bool was_preempted) {
  constexpr double kFarSeconds = 1e9;
  constexpr Duration kForAnotherStart = base::minutes(5);
  p.has_overrun |= p.promised && ended >= p.promised;
  Duration lost = {};
  if (p.rate_milli > 0) {
    const double steps = static_cast<double>(p.step - std::min(p.saved_step, p.step));
    const double lost_s = std::min(steps * 1e3 / static_cast<double>(p.rate_milli), kFarSeconds);
    lost = base::microseconds(static_cast<int64_t>(lost_s * 1e6));
  }
  p.left = p.expected ? std::max(p.expected - ended, Duration{}) + lost : base::kUnlimited;
  p.allowed = base::kUnlimited;
  if (p.promised)
    p.allowed = std::max(p.promised - ended, Duration{}) + lost + (was_preempted ? kForAnotherStart : Duration{});
  p.step = std::min(p.step, p.saved_step);
  p.told = p.expected = p.promised = {};
  p.company = {.needs_own_gpu = p.company.needs_own_gpu};  // the next run may be on other GPUs
}

}  // namespace gw::ctld
