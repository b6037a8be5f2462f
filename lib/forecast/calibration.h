// How true estimates came, and what follows for the next ones: a range is as wide as the ranges before it should have
// been so that four of five starts fell inside (conformal prediction: Vovk, Gammerman and Shafer, "Algorithmic Learning
// in a Random World", 2005). What no continuation of the queue foresees - jobs that are yet to come, machines that fail
// - is allowed for in this way, by as much as it has mattered here.
// Invariants: what is remembered is bounded; a range never begins before now; a start costs a sort of the scores, a
// range nothing.
#pragma once

#include <cstdint>
#include <deque>
#include <map>

#include "base/ids.h"
#include "forecast/estimate.h"

namespace gw::forecast {

class Calibration {
 public:
  static constexpr size_t kMostScores = 400;    ///< The latest.
  static constexpr size_t kLeastScores = 30;    ///< With fewer the range is told as it was drawn.
  static constexpr size_t kMostOpen = 100'000;  ///< Jobs with an estimate that have not started.

  /// The first estimate of a job is the one that is judged.
  void told(base::JobId job, Time at, const StartRange& drawn);
  void started(base::JobId job, Time at);
  /// It will not start any more, or something was changed about it: its start says nothing of the estimate.
  void gone(base::JobId job) { open_.erase(job); }
  /// What is to be told now, where this was drawn.
  StartRange widened(const StartRange& drawn, Time now) const;
  size_t scores() const { return scores_.size(); }
  size_t open() const { return open_.size(); }

 private:
  struct Told {
    StartRange drawn;
    Time at;
  };
  std::map<base::JobId, Told> open_;
  std::deque<double> scores_;     // (start - likely) / width of what was drawn
  double below_ = 0, above_ = 0;  // of them, those that few lie below, and above
};

}  // namespace gw::forecast
