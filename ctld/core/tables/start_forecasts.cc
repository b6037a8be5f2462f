// See start_forecasts.h.
#include "ctld/core/tables/start_forecasts.h"

#include <algorithm>

namespace gw::ctld {
namespace {

/// It ended by itself or by its limit: jobs like it will, too.
bool is_usual(model::JobState state) {
  using enum model::JobState;
  return state == kCompleted || state == kFailed || state == kTimeout || state == kOutOfMemory;
}

bool is_before_scheduler(const model::Job& job) {
  return job.waiting() != nullptr && job.waiting()->reason == model::WaitReason::kNone;
}

}  // namespace

void put_range(const forecast::StartRange& range, base::Time now, base::Time last, wire::StartRange& out) {
  const bool is_planned = last != base::Time::never();
  const auto put = [&](base::Time t) {
    return t == base::Time::never() && !is_planned ? 0 : std::clamp(t, now, std::max(now, last)).us;
  };
  out.set_low_us(put(range.low));
  out.set_likely_us(put(range.likely));
  out.set_high_us(put(range.high));
}

void put_range(const forecast::StartRange& range, base::Time now, wire::SubmitReply& out) {
  if (range.low == base::Time::never()) return;
  const int64_t planned = out.outlook().start_us();
  put_range(range, now, planned == 0 ? base::Time::never() : base::Time{planned}, *out.mutable_start_range());
}

void StartForecasts::take(const std::map<base::JobId, forecast::StartRange>& drawn, base::Time now,
                          const std::map<base::JobId, model::Job>& jobs) {
  const auto before = std::exchange(told_, {});
  for (const auto& [job, range] : drawn) {
    const auto known = jobs.find(job);
    if (known == jobs.end() || !is_before_scheduler(known->second)) continue;  // any more, while that was worked out
    told_.emplace_hint(told_.end(), job, calibration_.widened(range, now));
    calibration_.told(job, now, range);
  }
  if (told_ != before) has_news_ = true;
}

void StartForecasts::forget(base::JobId job) {
  calibration_.gone(job);
  told_.erase(job);
}

void StartForecasts::started(base::JobId job, base::Time now) {
  calibration_.started(job, now);
  told_.erase(job);
}

void StartForecasts::ended(const model::Job& job) {
  forget(job.id);
  const model::Ended* ended = job.ended();
  const bool is_cut_short = job.state == model::JobState::kCancelled;  // so it would have run longer
  if (ended == nullptr || !ended->started || (!is_usual(job.state) && !is_cut_short)) return;
  const base::Duration ran = ended->ended - ended->started - ended->stood_still;
  run_times_.add({job.spec.uid, job.spec.time_limit, ran, !is_cut_short});
}

const forecast::StartRange* StartForecasts::find(base::JobId job, base::Time now) const {
  const auto told = told_.find(job);
  return told == told_.end() || told->second.high < now ? nullptr : &told->second;
}

}  // namespace gw::ctld
