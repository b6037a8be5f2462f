// Share policy `capacity`: what nobody needs of its own goes to the others in proportion to what they are guaranteed,
// whatever their weights and priorities; who is guaranteed nothing comes after them, evenly. Who is a little beyond its
// guarantee is left alone (a dead zone), and only so much is taken from others in a round. Source: the capacity
// scheduler of Hadoop YARN and its preemption monitor (queue capacity and maximum capacity; max_ignored_over_capacity,
// total_preemption_per_round, monitoring_interval), as documented with Hadoop 3.
#include <algorithm>

#include "plugins/share/support.h"

GW_PLUGIN_WEIGHTS(capacity, "dead_zone", "per_round", "round_seconds")

namespace gw::sched {
namespace {

class CapacityShares final : public SharePolicy {
 public:
  CapacityShares(uint32_t dead_zone_milli, TakingRounds rounds) : dead_zone_milli_(dead_zone_milli), rounds_(rounds) {}
  std::string_view name() const override { return "capacity"; }

  void divide(uint64_t amount, std::vector<Side>& sides, uint64_t /*past_strength*/) const override {
    for (const bool has_guarantee : {true, false}) {
      std::vector<Claimant> claimants;
      for (const Side& side : sides)
        if ((side.guaranteed > 0) == has_guarantee)
          claimants.push_back({side.wants, has_guarantee ? side.guaranteed : 1});
      amount = fill(amount, claimants);
      auto next = claimants.begin();
      for (Side& side : sides)
        if ((side.guaranteed > 0) == has_guarantee) side.gets = (next++)->gets;
    }
  }
  uint32_t dead_zone_milli() const override { return dead_zone_milli_; }
  TakingRounds rounds() const override { return rounds_; }

 private:
  uint32_t dead_zone_milli_;
  TakingRounds rounds_;
};

base::Result<std::shared_ptr<const SharePolicy>> make_capacity(const Weights& weights) {
  const Weights defaults = {{"dead_zone", 0.1}, {"per_round", 0.1}, {"round_seconds", 15}};
  GW_TRY_STATUS(base::check_weights(weights, capacity_plugin::kWeightNames));
  const auto of = [&](const char* name) { return base::weight_of(weights, defaults, name); };
  if (!(of("dead_zone") >= 0 && of("dead_zone") <= 1))
    return base::invalid("dead_zone is a part of what somebody is due: 0 to 1");
  if (!(of("per_round") > 0 && of("per_round") <= 1))
    return base::invalid("per_round is a part of the cluster's GPUs: above 0, and 1 at most");
  if (of("round_seconds") != 0 && !(of("round_seconds") >= 1 && of("round_seconds") <= 3'600))
    return base::invalid("round_seconds is 0 (no bound), or 1 to 3600");
  const auto seconds = static_cast<int64_t>(of("round_seconds"));
  return std::make_shared<const CapacityShares>(static_cast<uint32_t>(of("dead_zone") * 1'000 + 0.5),
                                                TakingRounds{base::seconds(seconds), of("per_round")});
}

}  // namespace
}  // namespace gw::sched

GW_SHARE_PLUGIN(capacity, gw::sched::make_capacity)
