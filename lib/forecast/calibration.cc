// See calibration.h.
#include "forecast/calibration.h"

#include <algorithm>
#include <vector>

namespace gw::forecast {
namespace {

constexpr double kOutside =
    0.08;  // Of the scores, on each side: waits that are still too young to count are long ones.

/// What errors are measured by: the width of what was drawn, a minute at least.
double width_of(const StartRange& drawn) {
  return std::max(static_cast<double>((drawn.high - drawn.low).us), static_cast<double>(base::seconds(60).us));
}

bool is_bounded(const StartRange& drawn) { return drawn.high != Time::never(); }

}  // namespace

void Calibration::told(base::JobId job, Time at, const StartRange& drawn) {
  if (is_bounded(drawn) && drawn.high >= at && open_.size() < kMostOpen) open_.emplace(job, drawn);
}

void Calibration::started(base::JobId job, Time at) {
  const auto told = open_.find(job);
  if (told == open_.end()) return;
  scores_.push_back(static_cast<double>((at - told->second.likely).us) / width_of(told->second));
  if (scores_.size() > kMostScores) scores_.pop_front();
  open_.erase(told);
}

StartRange Calibration::widened(const StartRange& drawn, Time now) const {
  StartRange out = drawn;
  if (scores_.size() >= kLeastScores && is_bounded(drawn)) {
    std::vector<double> sorted(scores_.begin(), scores_.end());
    std::sort(sorted.begin(), sorted.end());
    const double last = static_cast<double>(sorted.size() - 1);
    const auto at = [&](double part) {
      const double score = sorted[static_cast<size_t>(part * last)];
      return drawn.likely + Duration{static_cast<int64_t>(score * width_of(drawn))};
    };
    out.low = at(kOutside);
    out.high = at(1 - kOutside);
  }
  out.low = std::max(out.low, now);
  out.high = std::max(out.high, out.low);
  out.likely = std::clamp(drawn.likely, out.low, out.high);
  return out;
}

}  // namespace gw::forecast
