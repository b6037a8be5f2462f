// Whose turn it is, level by level through the tree of quotas (rule 3): at each level first who stays within its
// guarantee (where there is too little for all guarantees by priority of the QOS), then within its fair share, then who
// has the smallest part of what it is due; between equals the jobs themselves are compared. At a QOS without children
// the partition's tier, submitted priority and the order plug-in decide; where partitions have orders of their own
// there is a line for each order, and the heads of the lines are compared without it. Invariants: there is at most one
// turn of each class; each QOS stands in its parent's list as it stood when it, or what it holds, last changed.
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
  uint32_t line = 0;  ///< Those of one line are ranked by one order.
  /// Within a line.
  bool operator<(const ClassHead& o) const { return std::tuple(o.tier, rank.tie()) < std::tuple(tier, o.rank.tie()); }
  /// Between lines: what orders say cannot be compared.
  bool is_before_other_line(const ClassHead& o) const {
    return std::tuple(o.tier, o.rank.priority, rank.submitted, rank.id) <
           std::tuple(tier, rank.priority, o.rank.submitted, o.rank.id);
  }
};

class FairQueue {
 public:
  /// `quotas` is asked anew for each comparison and outlives this. `has_lines`: more than one order ranks jobs.
  explicit FairQueue(const Quotas& quotas, bool has_lines = false);
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
    bool is_equal(const Entry& o, const FairQueue& queue) const {
      return best.number == o.best.number && qos == o.qos && !queue.is_before(*this, o) && !queue.is_before(o, *this);
    }
  };
  using Heap = std::vector<ClassHead>;  // of one line, the next one first
  struct Place {
    std::vector<Heap> lines;         // at a QOS without children
    std::vector<uint32_t> children;  // at others: those with a turn, in the order of their `own`
    std::optional<Entry> own;        // as the parent has it
    Heap* first_line();              // the one whose head is next; null: nobody is there
  };
  const Quotas& quotas_;
  const bool has_lines_;
  std::vector<Place> places_;       // by QOS
  std::optional<uint32_t> behind_;  // where a turn was taken out and the ranks above do not know it yet

  const ClassHead* best_at(uint32_t qos);
  bool is_before(const Entry& a, const Entry& b) const;
  Heap& heap_of(const ClassHead& turn);
  std::vector<uint32_t>::iterator place_of(std::vector<uint32_t>& children, const Entry& entry);
  bool rank(uint32_t qos);
};

}  // namespace gw::sched
