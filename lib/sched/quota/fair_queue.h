// Whose turn it is, level by level through the tree of quotas (rule 3): at each level first who stays within its
// guarantee (where there is too little for all guarantees by priority of the QOS), then within its fair share, then who
// has the smallest part of what it is due; between equals the jobs themselves are compared. At a QOS without children
// the partition's tier, submitted priority and the order plug-in decide. Invariants: there is at most one turn of each
// class; each QOS stands in its parent's list as it stood when it, or what it holds, last changed.
#pragma once

#include <optional>
#include <vector>

#include "sched/queue/queue.h"
#include "sched/quota/quota.h"

namespace gw::sched {

/// A class's next job in line.
struct ClassHead {
  int32_t tier = 0;     ///< Of the best of its partitions.
  Rank rank;            ///< With -score as key.
  uint32_t number = 0;  ///< Of the class, among those of the pass.
  uint32_t leaf = 0;
  const Quantities* amounts = nullptr;
  bool operator<(const ClassHead& o) const { return std::tuple(o.tier, rank.tie()) < std::tuple(tier, o.rank.tie()); }
};

class FairQueue {
 public:
  /// `quotas` is asked anew for each comparison and outlives this.
  explicit FairQueue(const Quotas& quotas);
  void put(const ClassHead& turn);
  /// All at once, before the first pop(): cheaper than one by one.
  void fill(std::vector<ClassHead> turns);
  /// Takes the next one out.
  std::optional<ClassHead> pop();
  /// What the QOS holds has changed.
  void refresh(uint32_t leaf);

 private:
  /// A child as its parent ranks it.
  struct Entry {
    Standing standing = Standing::kGuaranteed;
    int64_t priority = 0;  ///< Of the QOS, where it counts.
    Ratio with, without;
    ClassHead best;
    uint32_t qos = 0;
    bool operator<(const Entry& o) const;
    bool operator==(const Entry& o) const {
      return best.number == o.best.number && qos == o.qos && !(*this < o) && !(o < *this);
    }
  };
  struct Line {
    std::vector<ClassHead> turns;    // at a QOS without children: a heap, the next one first
    std::vector<uint32_t> children;  // at others: those with a turn, in the order of their `own`
    std::optional<Entry> own;        // as the parent has it
  };
  const Quotas& quotas_;
  std::vector<Line> lines_;         // by QOS
  std::optional<uint32_t> behind_;  // where a turn was taken out and the ranks above do not know it yet

  const ClassHead* best_at(uint32_t qos) const;
  std::vector<uint32_t>::iterator place_of(std::vector<uint32_t>& children, const Entry& entry);
  bool rank(uint32_t qos);
};

}  // namespace gw::sched
