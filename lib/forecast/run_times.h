// How long jobs really run, learned from those that have ended: what users ask for as a time limit is a bound, often
// far above what their jobs take. A length is drawn for a job from those whose limits were nearest to its own, of the
// same user where enough of his are known, given how long it has run already. Jobs that still run count as what is
// known of them: longer than so far (Kaplan and Meier, "Nonparametric Estimation from Incomplete Observations", JASA
// 1958), since the short ones of a time end first. Invariants: equal input and seed give equal draws; what is
// remembered is bounded.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "base/time.h"
#include "sched/cycle/snapshot.h"

namespace gw::forecast {

using base::Duration;
using base::Time;

/// Numbers that look random: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next();
  /// From 0 up to, but not including, 1.
  double part() { return static_cast<double>(next() >> 11U) * 0x1.0p-53; }

 private:
  uint64_t state_;
};

/// Runs that came to their end by themselves or by their time limit, and those that somebody ended before.
class RunTimes {
 public:
  struct Run {
    uint32_t uid = 0;
    Duration limit = base::kUnlimited;
    Duration ran = {};
    bool is_over = true;  ///< False: it would have run longer.
    bool operator==(const Run&) const = default;
  };
  static constexpr size_t kMost = 4'096;      ///< The latest,
  static constexpr size_t kMostOfUser = 512;  ///< and of each user: one array of his is not all that is known.

  void add(const Run& run);
  const std::deque<Run>& latest() const { return latest_; }

 private:
  std::deque<Run> latest_;
  std::map<uint32_t, size_t> of_users_;  // how many of them

  void forget(const std::deque<Run>::const_iterator& run);
};

/// A RunTimes put in order, beside what runs now.
class RunTimeDraws {
 public:
  RunTimeDraws(const RunTimes& known, const std::vector<sched::RunningJob>& running, Time now);
  /// In all, of a job that has run so long already; at most `limit`, more than `ran`. base::kUnlimited: nothing is
  /// known of jobs without a limit that end so late.
  Duration draw(uint32_t uid, Duration limit, Duration ran, Random& random) const;

 private:
  struct Known {
    double limit = 0;  // seconds
    double used = 0;   // part of the limit; of jobs without one: seconds
    bool is_over = true;
  };
  struct Sample {
    std::vector<Known> limited;  // by limit
    std::vector<Known> unlimited;
  };
  Sample all_;
  std::map<uint32_t, Sample> by_user_;

  void add(uint32_t uid, Duration limit, Duration ran, bool is_over);
  std::vector<Known> nearest(uint32_t uid, Duration limit) const;
};

}  // namespace gw::forecast
