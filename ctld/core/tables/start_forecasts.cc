// See start_forecasts.h.
#include "ctld/core/tables/start_forecasts.h"

namespace gw::ctld {
namespace {

/// It ended by itself, by its limit, or because its user had enough of it: jobs like it will, too.
bool is_usual(model::JobState state) {
  using enum model::JobState;
  return state == kCompleted || state == kFailed || state == kTimeout || state == kOutOfMemory || state == kCancelled;
}

}  // namespace

void StartForecasts::take(const std::map<base::JobId, forecast::StartRange>& drawn, base::Time now) {
  told_.clear();
  for (const auto& [job, range] : drawn) {
    told_.emplace_hint(told_.end(), job, calibration_.widened(range, now));
    calibration_.told(job, now, range);
  }
}

void StartForecasts::started(base::JobId job, base::Time now) {
  calibration_.started(job, now);
  told_.erase(job);
}

void StartForecasts::ended(const model::Job& job) {
  calibration_.gone(job.id);
  told_.erase(job.id);
  const model::Ended* ended = job.ended();
  if (ended == nullptr || !ended->started || !is_usual(job.state)) return;
  run_times_.add({job.spec.uid, job.spec.time_limit, ended->ended - ended->started - ended->stood_still});
}

const forecast::StartRange* StartForecasts::find(base::JobId job, base::Time now) const {
  const auto told = told_.find(job);
  return told == told_.end() || told->second.high < now ? nullptr : &told->second;
}

}  // namespace gw::ctld
