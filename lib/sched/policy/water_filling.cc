// See water_filling.h.
#include "sched/policy/water_filling.h"

#include <algorithm>
#include <utility>

namespace gw::sched {
namespace {

__extension__ using Wide = unsigned __int128;
__extension__ using Signed = __int128;

bool claims(const Claimant& c) { return c.weight > 0 && c.wants > 0; }

/// Those whose wish is within their part get it; the others share what that leaves. Ends when nobody's is.
uint64_t fill_small_wishes(uint64_t amount, std::vector<Claimant*>& open) {
  for (bool is_done = false; !is_done;) {
    is_done = true;
    Wide weights = 0;
    for (const Claimant* c : open) weights += c->weight;
    std::vector<Claimant*> left;
    uint64_t rest = amount;
    for (Claimant* c : open) {
      if (Wide{c->wants} * weights > Wide{amount} * c->weight) {
        left.push_back(c);
        continue;
      }
      c->gets = c->wants;
      rest -= c->wants;
      is_done = false;
    }
    amount = rest;
    open = std::move(left);
  }
  return amount;
}

}  // namespace

void weigh_past(std::vector<Claimant>& claimants, uint64_t strength) {
  constexpr uint64_t kMillion = 1'000'000;
  constexpr Wide kOne = Wide{kMillion} * kMillion;
  Wide weights = 0, used = 0;
  for (const Claimant& c : claimants) {
    if (!claims(c)) continue;
    weights += c.weight;
    used += c.used;
  }
  if (strength == 0 || used == 0) return;
  for (Claimant& c : claimants) {
    if (!claims(c)) continue;
    const auto due = static_cast<Signed>(kOne * c.weight / weights), had = static_cast<Signed>(kOne * c.used / used);
    const Signed weight = due + (due - had) * static_cast<Signed>(strength) / static_cast<Signed>(kMillion);
    c.weight = static_cast<uint64_t>(std::max(weight, static_cast<Signed>(c.weight)));
  }
}

uint64_t fill(uint64_t amount, std::vector<Claimant>& claimants) {
  std::vector<Claimant*> open;
  for (Claimant& c : claimants)
    if (claims(c)) open.push_back(&c);
  amount = fill_small_wishes(amount, open);
  if (open.empty()) return amount;
  Wide weights = 0;
  for (const Claimant* c : open) weights += c->weight;
  std::vector<std::pair<Wide, Claimant*>> remainders;
  uint64_t rest = amount;
  for (Claimant* c : open) {
    const Wide part = Wide{amount} * c->weight;
    c->gets = static_cast<uint64_t>(part / weights);
    rest -= c->gets;
    remainders.emplace_back(part % weights, c);
  }
  std::stable_sort(remainders.begin(), remainders.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  for (uint64_t i = 0; i < rest; ++i) ++remainders[i].second->gets;
  return 0;
}

}  // namespace gw::sched
