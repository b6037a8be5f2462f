// Rule 2: who is due how much of what there is. Each resource with a line is divided by itself, top down: first what is
// guaranteed and wanted, then the rest by priority and weight until what is wanted is met (water-filling, in whole
// units, largest remainder; ties by name). Past use may shift the weights, but never what is guaranteed.
#pragma once

#include "sched/quota/quota_tree.h"

namespace gw::sched {

/// By QOS.
struct Shares {
  std::vector<Quantities> guaranteed;  ///< As the tree says; of the root and its implicit child by what there is.
  std::vector<Quantities> fair;        ///< 0 where there is no line; of the root: everything.
  std::vector<Quantities> demand;      ///< Cut to the limit at every level.
  std::vector<bool> is_short;          ///< There is less than its children are guaranteed and want.
};

/// What was used before, and how much that counts.
struct Past {
  uint64_t strength = 0;       ///< The k of weigh_past(), in millionths; 0: it does not count.
  std::vector<uint64_t> used;  ///< By QOS, with those below it, faded; empty: nobody has used anything.
};

/// `capacity`: of the nodes that can be used. `leaf_demand`: by QOS, of the jobs that run or wait there.
Shares divide(const QuotaTree& tree, const Quantities& capacity, const std::vector<Quantities>& leaf_demand,
              const Past& past = {});

/// One of those among whom a surplus is divided.
struct Claimant {
  uint64_t wants = 0;  ///< No more than that.
  uint64_t weight = 0;
  uint64_t gets = 0;
  uint64_t used = 0;  ///< Before.
};
/// Fairness over time: makes each weight max(0, w + k (w - u)), in millionths of millionths, where w is its part of the
/// weights and u its part of the use of all who have a weight and want something. After time-aware fair share as in
/// KAI's scheduler (idea only). Who has a weight keeps at least so many of these units, so that nobody is without a
/// claim. Unless somebody has used something, nothing is changed.
void weigh_past(std::vector<Claimant>& claimants, uint64_t strength);
/// Divides `amount` in whole units: in proportion to weight, until what is wanted is met. What nobody of a weight above
/// zero wants is left over, and returned. Of equal remainders the earlier claimant's counts more.
uint64_t fill(uint64_t amount, std::vector<Claimant>& claimants);

}  // namespace gw::sched
