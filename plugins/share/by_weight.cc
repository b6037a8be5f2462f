// Share policy `by_weight`: the higher priority first, and within one priority in proportion to weight until what is
// wanted is met (rule 2 of docs/quotas.md). Past use may shift the weights.
#include <functional>
#include <set>

#include "plugins/share/support.h"

namespace gw::sched {
namespace {

class ByWeight final : public SharePolicy {
 public:
  std::string_view name() const override { return "by_weight"; }

  void divide(uint64_t amount, std::vector<Side>& sides, uint64_t past_strength) const override {
    std::set<int64_t, std::greater<>> priorities;
    for (const Side& side : sides) priorities.insert(side.priority);
    for (const int64_t priority : priorities) {
      std::vector<Claimant> claimants;
      for (const Side& side : sides)
        if (side.priority == priority) claimants.push_back({side.wants, side.weight, 0, side.used});
      weigh_past(claimants, past_strength);
      amount = fill(amount, claimants);
      auto next = claimants.begin();
      for (Side& side : sides)
        if (side.priority == priority) side.gets = (next++)->gets;
    }
  }
};

}  // namespace
}  // namespace gw::sched

GW_SHARE_PLUGIN(by_weight, (gw::base::make_without_weights<gw::sched::SharePolicy, gw::sched::ByWeight>))
