// Dividing an amount among those who want parts of it: water-filling, in whole units, largest remainder.
// Invariant: nobody gets more than it wants, all together no more than there is, and what is left over nobody with a
// claim wants.
#pragma once

#include <cstdint>
#include <vector>

namespace gw::sched {

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
/// claim. Unless somebody has used something, nothing is changed. `strength`: k in millionths.
void weigh_past(std::vector<Claimant>& claimants, uint64_t strength);
/// Divides `amount` in whole units: in proportion to weight, until what is wanted is met. What nobody of a weight above
/// zero wants is left over, and returned. Of equal remainders the earlier claimant's counts more.
uint64_t fill(uint64_t amount, std::vector<Claimant>& claimants);

}  // namespace gw::sched
