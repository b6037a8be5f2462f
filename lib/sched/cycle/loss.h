// What is lost when jobs are preempted, as rule 8 of docs/quotas.md compares it: at the highest submitted priority
// first, then at the next lower. Invariant: adding a victim never makes a loss smaller.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <utility>
#include <vector>

#include "sched/quota/permission.h"

namespace gw::sched {

/// To stop a job and start it again costs each of its GPUs so much, whenever its work was last saved.
constexpr uint64_t kRestartSeconds = 600;

class Loss {
 public:
  void add(int64_t priority, uint64_t amount) {
    const auto at = std::find_if(by_priority_.begin(), by_priority_.end(),
                                 [priority](const auto& each) { return each.first <= priority; });
    if (at != by_priority_.end() && at->first == priority)
      at->second += amount;
    else
      by_priority_.insert(at, {priority, amount});
  }
  void add(const Candidate& c) { add(c.priority, c.loss); }
  std::strong_ordering operator<=>(const Loss& o) const {
    return std::lexicographical_compare_three_way(by_priority_.begin(), by_priority_.end(), o.by_priority_.begin(),
                                                  o.by_priority_.end());
  }
  bool operator==(const Loss&) const = default;

 private:
  std::vector<std::pair<int64_t, uint64_t>> by_priority_;  // the highest first
};

}  // namespace gw::sched
