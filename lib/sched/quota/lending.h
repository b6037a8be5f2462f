// How many GPU-hours QOS borrowed and lent in a time, worked out from what jobs held then and from guarantees. Pure.
// Invariant: at every moment, below one parent, what is lent is no more than what is borrowed, nor than what those who
// lend leave of their guarantees.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/qos.h"

namespace gw::sched {

/// A QOS with all below it, in thousandths of a GPU times milliseconds.
struct LendingSum {
  std::string qos, parent;  ///< Empty: the root.
  uint64_t guaranteed = 0;  ///< As it is now, for the whole time.
  uint64_t held = 0;
  uint64_t borrowed = 0;  ///< Held beyond the guarantee, where anybody beside it has one.
  uint64_t lent = 0;      ///< Of the guarantee, held by others beside it; in proportion to what each leaves of its own.
  uint64_t idle_ms = 0;   ///< GPUs times milliseconds, as add_idle() was told.
};

class Lending {
 public:
  /// Of the time from `since` until `until`. Guarantees are those of `gpu`, else those of its types together.
  Lending(const std::vector<model::Qos>& tree, base::Time since, base::Time until);

  /// A job of this QOS held so much. What lies outside the time does not count; of a QOS that is gone nothing does.
  /// Error: more than kMostRuns, since all are kept.
  base::Status add(const std::string& qos, base::Time from, base::Time to, uint64_t gpu_milli);
  /// GPUs that jobs of this QOS held did nothing for so long.
  void add_idle(const std::string& qos, uint64_t ms);
  /// Of every QOS, each before those below it. In proportion to the runs and the levels of the tree.
  std::vector<LendingSum> sums();

  static constexpr size_t kMostRuns = 250'000;  // 12 MB for whoever asks

 private:
  struct Node {
    std::string name;
    uint32_t parent = UINT32_MAX;
    std::vector<uint32_t> children;
    uint64_t guarantee = 0, idle_ms = 0;
  };
  /// One more or less from then on.
  struct Change {
    base::Time at;
    uint32_t qos = 0;
    int64_t gpu_milli = 0;
  };

  base::Time since_, until_;
  std::vector<Node> nodes_;  // the root first
  std::map<std::string, uint32_t, std::less<>> ids_;
  std::vector<Change> changes_;

  class Sweep;
};

}  // namespace gw::sched
