// Rule 2: who is due how much of what there is. Each resource with a line is divided by itself, top down: first what is
// guaranteed and wanted, then the rest as the share policy says (sched/policy/share_policy.h; ties by name).
#pragma once

#include "sched/policy/share_policy.h"
#include "sched/quota/quota_tree.h"

namespace gw::sched {

/// By QOS.
struct Shares {
  std::vector<Quantities> guaranteed;  ///< As the tree says; of the root and its implicit child by what there is.
  std::vector<Quantities> fair;        ///< 0 where there is no line; of the root: everything.
  std::vector<Quantities> demand;      ///< Cut to the limit at every level.
  std::vector<bool> is_short;          ///< There is less than its children are guaranteed and want.
  uint32_t dead_zone_milli = 0;        ///< As the share policy says.

  /// Who holds no more than that is not above what it is due (rule 5): the dead zone included. By guarantee it is not
  /// for an own side that would hold no more than `own`, if that is a dead zone or more below its guarantee.
  uint64_t line(uint32_t qos, size_t resource, model::Reclaim by, uint32_t own_qos, uint64_t own) const;
};

/// What was used before, and how much that counts.
struct Past {
  uint64_t strength = 0;       ///< The k of weigh_past(), in millionths; 0: it does not count.
  std::vector<uint64_t> used;  ///< By QOS, with those below it, faded; empty: nobody has used anything.
};

/// `capacity`: of the nodes that can be used. `leaf_demand`: by QOS, of the jobs that run or wait there.
Shares divide(const QuotaTree& tree, const Quantities& capacity, const std::vector<Quantities>& leaf_demand,
              const Past& past = {}, const SharePolicy& policy = *share_by_weight());

}  // namespace gw::sched
