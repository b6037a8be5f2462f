// See start_forecasts.h.
#include "ctld/core/tables/start_forecasts.h"

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

void StartForecasts::take(const std::map<base::JobId, forecast::StartRange>& drawn, base::Time now,
                          const std::map<base::JobId, model::Job>& jobs) {
  told_.clear();
  for (const auto& [job, range] : drawn) {
    const auto known = jobs.find(job);
    if (known == jobs.end() || !is_before_scheduler(known->second)) continue;  // any more, while that was worked out
    told_.emplace_hint(told_.end(), job, calibration_.widened(range, now));
    calibration_.told(job, now, range);
  }
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
