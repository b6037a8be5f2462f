// How far a running job says that it has come (`gangway progress`), and what follows for when it ends.
// Invariant: a job is taken at its word only as long as it keeps it (Progress::has_overrun).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "base/time.h"

namespace gw::model {

/// As many as a double tells apart.
constexpr uint64_t kMostSteps = uint64_t{1} << 53;

struct Progress {
  uint64_t step = 0;         ///< Done in all: less than before if it had to go back.
  uint64_t of = 0;           ///< Of so many; 0: it did not say.
  uint64_t rate_milli = 0;   ///< Thousandths of steps a second, of late; 0: not known.
  base::Time told;           ///< When it said so, in this run; zero: it has said nothing in it.
  base::Time promised;       ///< By then this run must have ended, by what it told; zero: it told no end.
  bool has_overrun = false;  ///< In some run it went on past that.
  bool operator==(const Progress&) const = default;
};

/// What a job says.
struct ProgressReport {
  std::optional<uint64_t> step, of, rate_milli;
};

/// How long the rest takes at the rate; kUnlimited: that is not known, or is longer than a hundred years.
inline base::Duration rest_of(const Progress& p) {
  if (p.of == 0 || p.rate_milli == 0) return base::kUnlimited;
  const auto left = static_cast<double>(p.of > p.step ? p.of - p.step : 0);
  const double us = left / static_cast<double>(p.rate_milli) * 1e9;
  constexpr double kFar = 100.0 * 366 * 24 * 3600 * 1e6;
  return us > kFar ? base::kUnlimited : base::microseconds(static_cast<int64_t>(us));
}

/// When it is to end, by what it told last; never(): that is not known. Coarse, so that it moves only with a change
/// that matters: up to a whole number of minutes that are a power of two, an eighth of the rest at most.
inline base::Time expected_end(const Progress& p) {
  const base::Duration rest = rest_of(p);
  if (!p.told || rest == base::kUnlimited) return base::Time::never();
  int64_t grain = base::minutes(1).us;
  while (grain * 16 <= rest.us) grain *= 2;
  const int64_t end = (p.told + rest).us;
  return base::Time{(end + grain - 1) / grain * grain};
}

/// The same with a report more. The rate follows the steps told, and forgets half of what it was in a minute.
inline Progress with_report(Progress p, const ProgressReport& report, base::Time now) {
  constexpr double kHalfLife_s = 60;
  const bool has_went_on = report.step && p.told && now > p.told && *report.step >= p.step;
  if (report.rate_milli) {
    p.rate_milli = *report.rate_milli;
  } else if (has_went_on) {
    const double seconds = static_cast<double>((now - p.told).us) / 1e6;
    const double rate = static_cast<double>(*report.step - p.step) * 1e3 / seconds;
    const double kept = p.rate_milli == 0 ? 0 : std::exp2(-seconds / kHalfLife_s);
    const double mixed = kept * static_cast<double>(p.rate_milli) + (1 - kept) * rate;
    p.rate_milli = static_cast<uint64_t>(std::llround(std::min(mixed, static_cast<double>(kMostSteps))));
  }
  p.step = report.step.value_or(p.step);
  p.of = report.of.value_or(p.of);
  p.told = now;
  return p;
}

}  // namespace gw::model
