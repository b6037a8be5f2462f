// See calibration.h.
#include "forecast/calibration.h"

#include <algorithm>
#include <vector>

namespace gw::forecast {
namespace {

// Of the scores, on each side: waits that are still too young to count are long ones.
constexpr double kOutside = 0.08;
constexpr double kMostScore = 10;  // No single start makes ranges endless.

/// What errors are measured by: the width of what was drawn; at least a tenth of the wait, and a minute.
double width_of(const StartRange& drawn, Time at) {
  const double wait = static_cast<double>((drawn.likely - at).us);
  return std::max(
      {static_cast<double>((drawn.high - drawn.low).us), 0.1 * wait, static_cast<double>(base::seconds(60).us)});
}

bool is_bounded(const StartRange& drawn) { return drawn.high != Time::never(); }

}  // namespace

void Calibration::told(base::JobId job, Time at, const StartRange& drawn) {
  if (is_bounded(drawn) && drawn.high >= at && open_.size() < kMostOpen) open_.emplace(job, Told{drawn, at});
}

void Calibration::started(base::JobId job, Time at) {
  const auto told = open_.find(job);
  if (told == open_.end()) return;
  const auto& [drawn, when] = told->second;
  const double score = static_cast<double>((at - drawn.likely).us) / width_of(drawn, when);
  scores_.push_back(std::clamp(score, -kMostScore, kMostScore));
  if (scores_.size() > kMostScores) scores_.pop_front();
  open_.erase(told);
  std::vector<double> sorted(scores_.begin(), scores_.end());
  std::sort(sorted.begin(), sorted.end());
  const double last = static_cast<double>(sorted.size() - 1);
  below_ = sorted[static_cast<size_t>(kOutside * last)];
  above_ = sorted[static_cast<size_t>((1 - kOutside) * last)];
}

StartRange Calibration::widened(const StartRange& drawn, Time now) const {
  StartRange out = drawn;
  if (scores_.size() >= kLeastScores && is_bounded(drawn)) {
    const double width = width_of(drawn, now);
    out.low = drawn.likely + Duration{static_cast<int64_t>(below_ * width)};
    out.high = drawn.likely + Duration{static_cast<int64_t>(above_ * width)};
  }
  out.low = std::max(out.low, now);
  out.high = std::max(out.high, out.low);
  out.likely = std::clamp(drawn.likely, out.low, out.high);
  return out;
}

}  // namespace gw::forecast
