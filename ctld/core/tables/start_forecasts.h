// When waiting jobs will start, as far as the shell's forecast (lib/forecast) goes, and what the next one is made from:
// how long the runs took that are over, and how true the ranges came that were told.
// Invariants: it is shown and decides nothing; what is remembered is bounded; a job has a range only while it waits.
#pragma once

#include <map>
#include <utility>

#include "forecast/calibration.h"
#include "forecast/run_times.h"
#include "model/job.h"
#include "wire/api.pb.h"

namespace gw::ctld {

/// As it is shown: within `last` (never: nothing is planned), and 0 where it is later than was looked at.
void put_range(const forecast::StartRange& range, base::Time now, base::Time last, wire::StartRange& out);
/// Of a job that is only asked about.
void put_range(const forecast::StartRange& range, base::Time now, wire::SubmitReply& out);

class StartForecasts {
 public:
  /// A new forecast of all that waited and could be looked at when it was begun; those that were told before and are
  /// not in it have none any more, nor has who no longer waits before the scheduler.
  void take(const std::map<base::JobId, forecast::StartRange>& drawn, base::Time now,
            const std::map<base::JobId, model::Job>& jobs);
  /// A waiting job starts.
  void started(base::JobId job, base::Time now);
  /// Something was changed about a job, or it no longer waits before the scheduler: what was told of it is void.
  void forget(base::JobId job);
  /// A job is over.
  void ended(const model::Job& job);
  const forecast::RunTimes& run_times() const { return run_times_; }
  /// Null: none is told, or it did not start within that range.
  const forecast::StartRange* find(base::JobId job, base::Time now) const;
  const forecast::Calibration& calibration() const { return calibration_; }
  /// Has take() told anything new since this was asked last?
  bool take_news() { return std::exchange(has_news_, false); }

 private:
  forecast::RunTimes run_times_;
  forecast::Calibration calibration_;
  std::map<base::JobId, forecast::StartRange> told_;
  bool has_news_ = false;
};

}  // namespace gw::ctld
