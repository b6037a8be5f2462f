// How far a running job says that it has come (`gangway progress`), and what follows for when it ends.
// Invariant: a job is taken at its word only as long as it keeps it (Progress::has_overrun).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "base/time.h"
#include "model/company.h"

namespace gw::model {

/// As many as a double tells apart.
constexpr uint64_t kMostSteps = uint64_t{1} << 53;

struct Progress {
  uint64_t step = 0;         ///< Done in all: less than before if it had to go back.
  uint64_t of = 0;           ///< Of so many; 0: it did not say.
  uint64_t rate_milli = 0;   ///< Thousandths of steps a second, of late; 0: not known.
  base::Time told;           ///< When it said so, in this run; zero: it has said nothing in it.
  base::Time expected;       ///< When this run is to end, by what it told, a little late; zero: not known.
  base::Time promised;       ///< By then this run must have ended, by what it told first; zero: no end.
  bool has_overrun = false;  ///< In some run it went on past that.
  uint64_t saved_step = 0;   ///< Done when its work was saved last.
  base::Duration left = base::kUnlimited;  ///< While it waits: how long its next run takes,
  /// And how long it may take by what was promised; kUnlimited: nothing was.
  base::Duration allowed = base::kUnlimited;
  uint32_t tasks = 0;  ///< Of an elastic gang: the size that the rate is of; 0: of none.
  /// What is known of another size that it had before; 0: nothing.
  uint32_t other_tasks = 0;
  uint64_t other_rate_milli = 0;
  bool is_guess = false;  ///< The rate is worked out of the other size's: nothing has been told at this one.
  /// With k times the tasks it is k^(scaling / 100) times as fast; 100 where nothing is known.
  uint32_t scaling = 100;
  Company company = {};  ///< What its pace said of those with whom it shares a GPU.
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

/// Takes over when it is to end by what it told last. With slack of a sixteenth of the rest and a minute, and kept as
/// long as what is told lies within twice that before it: so it moves only with a change that matters.
inline void expect_end(Progress& p, base::Time now) {
  const base::Duration rest = rest_of(p);
  if (rest == base::kUnlimited) {
    p.expected = {};
    return;
  }
  const base::Time exact = now + rest;
  const base::Duration slack = base::Duration{rest.us / 16} + base::minutes(1);
  if (!p.expected || exact > p.expected || exact + slack + slack < p.expected) p.expected = exact + slack;
}

/// How an elastic gang scales, from its rates at two sizes: a power law, as the throughput of data-parallel training
/// goes between the bounds of its batch and its network; in steps of 5, so that it says the same as long as it means
/// the same.
inline uint32_t scaling_of(uint32_t tasks, uint64_t rate, uint32_t other_tasks, uint64_t other_rate) {
  const double sizes = std::log(static_cast<double>(tasks) / other_tasks);
  const double rates = std::log(static_cast<double>(rate) / static_cast<double>(other_rate));
  return 5 * static_cast<uint32_t>(std::llround(20 * std::clamp(rates / sizes, 0.0, 1.0)));
}

/// Do they lie so far apart that the noise of a rate does not hide how it changes?
inline bool tells_scaling(uint32_t a, uint32_t b) {
  return a != 0 && b != 0 && 2 * std::max(a, b) >= 3 * std::min(a, b);
}

/// At another size: what it told before is what is known of the old one, unless one that is further off is known.
inline Progress at_size(Progress p, uint32_t tasks) {
  if (p.tasks != 0 && p.rate_milli > 0) {
    if (!p.is_guess && (tells_scaling(tasks, p.tasks) || !tells_scaling(tasks, p.other_tasks)))
      p.other_tasks = p.tasks, p.other_rate_milli = p.rate_milli;
    const double ratio = tasks == 0 ? 1 : std::pow(static_cast<double>(tasks) / p.tasks, p.scaling / 100.0);
    const double rate = std::min(static_cast<double>(p.rate_milli) * ratio, static_cast<double>(kMostSteps));
    p.rate_milli = static_cast<uint64_t>(std::llround(rate));
    p.is_guess = true;
  }
  p.tasks = tasks;
  return p;
}

/// Thousandths of steps a second since the report before; 0: that is not known.
inline uint64_t pace_of(const Progress& before, const ProgressReport& report, base::Time now) {
  if (report.rate_milli) return *report.rate_milli;
  if (!report.step || !before.told || now <= before.told || *report.step < before.step) return 0;
  const double seconds = static_cast<double>((now - before.told).us) / 1e6;
  const double pace = static_cast<double>(*report.step - before.step) * 1e3 / seconds;
  return static_cast<uint64_t>(std::llround(std::min(pace, static_cast<double>(kMostSteps))));
}

/// The same with a report more. The rate follows the steps told, and forgets half of what it was in a minute. `tasks`:
/// of an elastic gang, those that it has; 0: it is none.
inline Progress with_report(Progress p, const ProgressReport& report, base::Time now, uint32_t tasks = 0) {
  constexpr double kHalfLifeSeconds = 60;
  const bool is_resized = tasks != p.tasks;  // what was done since the last report was done at several sizes
  if (is_resized) p = at_size(p, tasks);
  const bool has_gone_on = !is_resized && report.step && p.told && now > p.told && *report.step >= p.step;
  if (report.rate_milli) {
    p.rate_milli = *report.rate_milli;
    p.is_guess = false;
  } else if (has_gone_on) {
    const double seconds = static_cast<double>((now - p.told).us) / 1e6;
    const double rate = static_cast<double>(*report.step - p.step) * 1e3 / seconds;
    const double kept = p.rate_milli == 0 || p.is_guess ? 0 : std::exp2(-seconds / kHalfLifeSeconds);
    p.is_guess = false;
    const double mixed = kept * static_cast<double>(p.rate_milli) + (1 - kept) * rate;
    p.rate_milli = static_cast<uint64_t>(std::llround(std::min(mixed, static_cast<double>(kMostSteps))));
  }
  if (tells_scaling(p.tasks, p.other_tasks) && !p.is_guess && p.rate_milli > 0 && p.other_rate_milli > 0)
    p.scaling = scaling_of(p.tasks, p.rate_milli, p.other_tasks, p.other_rate_milli);
  p.step = report.step.value_or(p.step);
  p.of = report.of.value_or(p.of);
  p.told = now;
  expect_end(p, now);
  return p;
}

}  // namespace gw::model
