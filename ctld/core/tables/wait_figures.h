// How long jobs that started had waited, and for what: for monitoring. Since the controller was started; not stored.
// Invariant: one count for each cause and start, so that the sums over causes are what was waited in all.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "model/wait_split.h"

namespace gw::ctld {

class WaitFigures {
 public:
  /// Upper ends of the buckets, in seconds; what is longer comes last.
  static constexpr std::array<int64_t, 11> kBounds = {1,     10,     60,     300,    900,    3'600,
                                                      7'200, 21'600, 43'200, 86'400, 259'200};
  struct Histogram {
    std::array<uint64_t, kBounds.size() + 1> counts{};
    base::Duration sum = {};
  };
  using Histograms = std::array<Histogram, model::kWaitCauses>;
  /// A partition and a QOS.
  using Pool = std::pair<std::string, std::string>;

  /// A job starts there.
  void count(const std::string& partition, const std::string& qos, const model::WaitSplit& waited) {
    for (const model::WaitSplit::Part& part : waited.parts()) {
      Histogram& h = by_cause_[static_cast<size_t>(part.cause)];
      size_t bucket = 0;
      while (bucket < kBounds.size() && part.time.us > kBounds[bucket] * 1'000'000) ++bucket;
      ++h.counts[bucket];
      h.sum = h.sum + part.time;
    }
    constexpr size_t kMostPools = 2'000;  // those that come later count together
    const Pool pool{partition, qos};
    const bool is_counted = by_pool_.size() < kMostPools || by_pool_.contains(pool);
    by_pool_[is_counted ? pool : Pool{"other", "other"}] += waited;
  }
  const Histograms& by_cause() const { return by_cause_; }
  const std::map<Pool, model::WaitSplit>& by_pool() const { return by_pool_; }

 private:
  Histograms by_cause_{};
  std::map<Pool, model::WaitSplit> by_pool_;
};

}  // namespace gw::ctld
