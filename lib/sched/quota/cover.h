// Which of the running jobs are covered by what their QOS are due, and which are borrowed: rule 8 of docs/quotas.md. At
// each QOS its jobs are gone through in a fixed order (those that are never preempted, those covered at the QOS below,
// then by submitted priority, start, id; extensions of elastic gangs last): a job is covered there if it fits into what
// the QOS is due together with those covered before it. Invariant: a label depends on the entries alone, not on the
// order in which they were added; what starts later at the same or a lower priority uncovers nobody who could be
// preempted. Costs: a change a walk over the jobs of the QOS above it when labels are next asked for, without sorting.
#pragma once

#include <set>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "sched/quota/quota_tree.h"

namespace gw::sched {

/// A running job as the labels see it: with all its components, an elastic gang at its smallest size. Or one extension
/// of an elastic gang.
struct CoverEntry {
  base::JobId job;
  uint32_t leaf = 0;  ///< QOS where it runs.
  Quantities amounts;
  bool is_never_preempted = false;
  int64_t priority = 0;   ///< As submitted.
  base::Time started;     ///< Of an extension: of its gang.
  base::JobId gang = {};  ///< Of an extension.
};

class Cover {
 public:
  /// `due`: by QOS, the guarantees or the fair shares.
  Cover(const QuotaTree& tree, const std::vector<Quantities>& due);
  /// Something else is due from now on, which outlives the labels. Labels that do not change cost nothing.
  void set_due(const std::vector<Quantities>& due);
  const std::vector<Quantities>& due() const { return *due_; }
  /// Nothing, if the job is there already.
  void add(CoverEntry entry);
  /// Nothing, if it was never added.
  void remove(base::JobId job);

  /// Is the job covered at this QOS, which is its own or above it? False for jobs that were never added.
  bool is_covered(base::JobId job, uint32_t qos);
  /// What the jobs that are covered at the QOS hold together.
  const Quantities& covered(uint32_t qos);
  /// Without those who are gone: is the covered amount at no QOS from theirs up to `top` smaller, in any resource with
  /// a line that they held there? Costs a walk over the jobs of these QOS if one of them is covered, else nothing to
  /// speak of.
  bool keeps_amounts(uint32_t top, const std::set<base::JobId>& gone);

  /// How a job that can be preempted and has no extensions stands at its QOS and those above it up to `top`: kNowhere
  /// as long as it is covered at none. Of jobs of one QOS that hold the same and stand alike, keeps_amounts() says the
  /// same of each alone: between them in the order everybody is covered, who would be without the first as well.
  std::vector<uint32_t> standing(base::JobId job, uint32_t top);
  static constexpr uint32_t kNowhere = UINT32_MAX;
  /// Jobs of a QOS and below it.
  size_t size(uint32_t qos) const { return levels_[qos].order.size(); }

 private:
  struct Entry {
    CoverEntry job;
    std::vector<bool> is_covered;  // by depth of the QOS
    std::vector<uint32_t> behind;  // likewise: how many before it are not covered; empty until it is asked for
  };
  struct Level {
    std::vector<Entry*> order;  // of all jobs here and below, but for what is covered below
    bool is_sorted = true;
    bool is_fresh = true;
    bool is_counted = false;  // Entry::behind is true
    Quantities sum;
  };
  using Covered = std::unordered_set<const Entry*>;
  const QuotaTree& tree_;
  const std::vector<Quantities>* due_;
  std::unordered_map<base::JobId, Entry> entries_;
  std::vector<Level> levels_;  // by QOS

  Level& label(uint32_t qos);
  void count(uint32_t qos);
  /// Goes through the order; `visit` is told of each whether it is covered. The sum of those that are.
  template <typename IsCoveredBelow, typename IsGone, typename Visit>
  Quantities go_through(uint32_t qos, const IsCoveredBelow& is_covered_below, const IsGone& is_gone,
                        const Visit& visit) const;
  /// Who is covered without those who are gone, where that is told; nullopt: an amount became smaller.
  std::optional<Covered> label_without(uint32_t qos, const std::set<base::JobId>& gone, bool is_told);
  bool holds_any(uint32_t qos, const std::set<base::JobId>& gone) const;
  bool stands_below(const Entry& entry, uint32_t qos) const { return tree_.common(entry.job.leaf, qos) == qos; }
};

}  // namespace gw::sched
