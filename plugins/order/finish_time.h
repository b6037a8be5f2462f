// Finish-time fairness over leases: how much later a job would end that runs from the beginning of a lease on than if
// it had had its GPUs to itself all the time. Source: Mahajan et al., "Themis: Fair and Efficient GPU Cluster
// Scheduling", NSDI 2020, section 4.1. Here the ideal is the run on as many GPUs as the job asks for, and how long that
// takes is what was told of it, as far as that is known. Invariant: within a lease none of it changes with time, or
// nobody would keep his rank for a moment.
#pragma once

#include <algorithm>
#include <cmath>

#include "sched/queue/order.h"

namespace gw::sched {

class FinishTimes {
 public:
  /// A lease of no less than six seconds.
  explicit FinishTimes(double minutes) : lease_(base::seconds(std::llround(60 * std::clamp(minutes, 0.1, 1e5)))) {}

  Duration lease() const { return lease_; }
  /// Leases begin together, at whole multiples of their length.
  Time lease_start(Time now) const { return Time{now.us / lease_.us * lease_.us}; }
  /// Since when it runs without a break, or waits. An elastic gang is counted anew each time that it has another size.
  static Time began(const JobFacts& facts) {
    const bool may_break = facts.is_running && facts.job.most_tasks == 0;
    return may_break ? std::max(facts.since, facts.job.counted_at) : facts.since;
  }
  /// It was there when the lease began.
  bool stood(const JobFacts& facts) const { return facts.job.submitted < lease_start(facts.now); }
  /// It has run, or waited, since before the lease: who came in it, or began to run or to wait, has to await its end.
  bool is_bidder(const JobFacts& facts) const { return began(facts) < lease_start(facts.now); }
  /// Seconds from its submission to its end if it ran from the beginning of the lease on.
  double end_of(const JobFacts& facts) const {
    const Duration age = std::max(lease_start(facts.now) - facts.job.submitted, Duration{});
    return std::max(base::in_seconds(age) + remaining(facts), kLeastIdeal);
  }
  /// The same by the time that it would take alone: 1 for who never waits.
  double rho(const JobFacts& facts) const {
    const double had = base::in_seconds(facts.attained) - base::in_seconds(in_lease(facts)) * facts.gpus;
    const Time overruns = facts.job.overruns;
    if (overruns && overruns <= lease_start(facts.now)) return 0;  // it told less than was true
    const double ideal = std::max(had, 0.0) / std::max(facts.asked, 1e-3) + remaining(facts);
    return std::min(end_of(facts) / std::max(ideal, kLeastIdeal), 1e8);
  }

 private:
  static constexpr double kLeastIdeal = 60;  // seconds: a shorter job is not the worse off for being short
  Duration lease_;

  /// So long it has run in this lease.
  Duration in_lease(const JobFacts& facts) const {
    return facts.is_running ? facts.now - std::max(lease_start(facts.now), began(facts)) : Duration{};
  }
  /// When the lease began. Who runs on past what was told of it needed nothing more then either.
  double remaining(const JobFacts& facts) const {
    const Duration told = facts.job.remaining != base::kUnlimited ? facts.job.remaining : facts.job.time_limit;
    if (told == base::kUnlimited) return 0;
    if (!facts.is_running) return base::in_seconds(told);
    const Duration had = std::max(lease_start(facts.now), facts.since) - facts.since;
    return base::in_seconds(std::max(told - had, Duration{}));
  }
};

}  // namespace gw::sched
