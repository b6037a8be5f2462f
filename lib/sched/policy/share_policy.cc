// The policies that come with the scheduler: those of plugins/share, linked in. See the header.
#include "sched/policy/share_policy.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace gw::sched {
namespace builtin::share {
// Each is defined by GW_SHARE_PLUGIN in plugins/share/NAME.cc; the build lists these files.
#define GW_IN_TREE_SHARE(plugin_name, ...) const SharePlugin* plugin_name();
#include "in_tree_shares.inc"
#undef GW_IN_TREE_SHARE
}  // namespace builtin::share

namespace {

constexpr const SharePlugin* (*kSharePolicies[])() = {
#define GW_IN_TREE_SHARE(plugin_name, ...) builtin::share::plugin_name,
#include "in_tree_shares.inc"
#undef GW_IN_TREE_SHARE
};

/// What is wrong with a division; empty: nothing.
std::string fault_of(uint64_t amount, const std::vector<Side>& sides) {
  uint64_t left = amount;
  for (const Side& side : sides) {
    if (side.gets > side.wants) return fmt::format("gives {} to one who wants {}", side.gets, side.wants);
    if (side.gets > left) return fmt::format("gives more than the {} that there are", amount);
    left -= side.gets;
  }
  return {};
}

}  // namespace

std::vector<std::string> share_names() {
  std::vector<std::string> out;
  for (const auto factory : kSharePolicies) out.emplace_back(factory()->name);
  return out;
}

base::Result<std::shared_ptr<const SharePolicy>> make_share(std::string_view name, const Weights& weights) {
  for (const auto factory : kSharePolicies)
    if (factory()->name == name) return factory()->make(weights);
  std::string hint = base::did_you_mean(name, share_names());
  if (hint.empty()) hint = "one of " + base::join(share_names(), ", ");
  return base::invalid(fmt::format("unknown share policy {}", base::printable(name)), hint);
}

const std::shared_ptr<const SharePolicy>& share_by_weight() {
  static const std::shared_ptr<const SharePolicy> kByWeight = *make_share("by_weight");
  return kByWeight;
}

void divide_by(const SharePolicy& policy, uint64_t amount, std::vector<Side>& sides, uint64_t past_strength) {
  std::vector<Side> told = sides;
  policy.divide(amount, told, past_strength);
  const bool is_sound = told.size() == sides.size() &&
                        std::equal(told.begin(), told.end(), sides.begin(),
                                   [](const Side& a, const Side& b) { return a.gets <= b.wants; }) &&
                        fault_of(amount, told).empty();
  if (!is_sound) return share_by_weight()->divide(amount, sides, past_strength);
  for (size_t i = 0; i < sides.size(); ++i) sides[i].gets = told[i].gets;
}

std::vector<std::string> check_share(const SharePolicy& policy) {
  constexpr int kRounds = 2'000;
  uint64_t state = 88'172'645'463'325'252;  // xorshift: the same policy, the same answer
  const auto draw = [&state](uint64_t below) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state % below;
  };
  std::vector<std::string> faults;
  for (int i = 0; i < kRounds && faults.empty(); ++i) {
    std::vector<Side> sides(draw(6));
    for (Side& side : sides) {
      side = {draw(40), draw(2) * draw(100), static_cast<uint32_t>(draw(4)), static_cast<int64_t>(draw(3)) - 1,
              draw(1'000)};
    }
    const uint64_t amount = draw(150), strength = draw(2) * 1'000'000;
    std::vector<Side> first = sides, second = sides;
    policy.divide(amount, first, strength);
    policy.divide(amount, second, strength);
    const bool is_same =
        first.size() == second.size() && std::equal(first.begin(), first.end(), second.begin(),
                                                    [](const Side& a, const Side& b) { return a.gets == b.gets; });
    if (first.size() != sides.size())
      faults.emplace_back("changes the list of sides");
    else if (!is_same)
      faults.emplace_back("divides the same in two ways");
    else if (std::string fault = fault_of(amount, first); !fault.empty())
      faults.push_back(std::move(fault));
  }
  const TakingRounds rounds = policy.rounds();
  if (policy.dead_zone_milli() > 1'000) faults.emplace_back("its dead zone is more than all that somebody is due");
  if (rounds.length < Duration{} || !(rounds.part > 0 && rounds.part <= 1))
    faults.emplace_back("its rounds are no time, or let others give up nothing, or more than everything");
  return faults;
}

}  // namespace gw::sched
