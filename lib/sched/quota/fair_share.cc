// See fair_share.h.
#include "sched/quota/fair_share.h"

#include <algorithm>
#include <set>

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

/// One resource among the children of one QOS.
class Division {
 public:
  Division(const QuotaTree& tree, const Past& past, Shares& shares, size_t resource)
      : tree_(tree), past_(past), shares_(shares), r_(resource) {}

  /// Returns whether there is enough for what is guaranteed and wanted.
  bool among(const std::vector<uint32_t>& children, uint64_t what) {
    for (uint32_t c : children)
      if (tree_.qos(c).has_line[r_]) members_.push_back(c);
    uint64_t given = 0;
    for (uint32_t c : members_) {
      fair(c) = std::min(shares_.guaranteed[c][r_], shares_.demand[c][r_]);
      given += fair(c);
    }
    const uint64_t unit = unit_of(what);
    uint64_t rest = (what - std::min(what, given)) / unit;
    std::set<int64_t, std::greater<>> priorities;
    for (uint32_t c : members_) priorities.insert(tree_.qos(c).priority);
    for (int64_t priority : priorities) rest = give(priority, unit, rest);
    return given <= what;
  }

 private:
  const QuotaTree& tree_;
  const Past& past_;
  Shares& shares_;
  const size_t r_;
  std::vector<uint32_t> members_;

  uint64_t& fair(uint32_t qos) { return shares_.fair[qos][r_]; }

  /// Whole GPUs, unless parts of GPUs are asked for.
  uint64_t unit_of(uint64_t what) const {
    if (!tree_.resources()[r_].starts_with("gpu")) return 1;
    bool is_whole = what % model::kWholeGpu == 0;
    for (uint32_t c : members_)
      is_whole &= shares_.guaranteed[c][r_] % model::kWholeGpu == 0 && shares_.demand[c][r_] % model::kWholeGpu == 0;
    return is_whole ? model::kWholeGpu : 1;
  }

  uint64_t give(int64_t priority, uint64_t unit, uint64_t rest) {
    std::vector<Claimant> claimants;
    std::vector<uint32_t> children;
    for (uint32_t c : members_) {
      const QosNode& node = tree_.qos(c);
      if (node.priority != priority) continue;
      const uint64_t used = past_.used.empty() ? 0 : past_.used[c];
      claimants.push_back({(shares_.demand[c][r_] - fair(c)) / unit, node.weight, 0, used});
      children.push_back(c);
    }
    weigh_past(claimants, past_.strength);
    rest = fill(rest, claimants);
    for (size_t i = 0; i < children.size(); ++i) fair(children[i]) += claimants[i].gets * unit;
    return rest;
  }
};

void set_guarantees(const QuotaTree& tree, const Quantities& capacity, Shares& out) {
  for (const QosNode& node : tree.nodes()) out.guaranteed.push_back(node.guaranteed);
  out.guaranteed[0] = capacity;
  const std::vector<uint32_t>& children = tree.qos(0).children;
  if (children.empty()) return;
  const uint32_t own = tree.leaf_of("");
  for (size_t r = 0; r < tree.width(); ++r) {
    uint64_t given = 0;
    for (uint32_t c : children)
      if (c != own) given += out.guaranteed[c][r];
    const bool has_line = tree.qos(own).has_line[r];
    out.guaranteed[own][r] = has_line ? capacity[r] - std::min(capacity[r], given) : 0;
  }
}

void set_demand(const QuotaTree& tree, const std::vector<Quantities>& leaf_demand, Shares& out) {
  out.demand = leaf_demand;
  for (auto s = static_cast<uint32_t>(tree.nodes().size()); s-- > 0;) {
    const QosNode& node = tree.qos(s);
    Quantities& demand = out.demand[s];
    for (size_t r = 0; r < tree.width(); ++r) demand[r] = std::min(demand[r], node.limit[r]);
    if (node.parent != kNoQos) add_to(out.demand[node.parent], demand);
  }
}

/// What is divided at a QOS that has no line itself: what the nearest one above has that does, or everything.
uint64_t to_divide(const QuotaTree& tree, const Shares& shares, uint32_t qos, size_t resource) {
  while (qos != 0 && !tree.qos(qos).has_line[resource]) qos = tree.qos(qos).parent;
  return shares.fair[qos][resource];
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

Shares divide(const QuotaTree& tree, const Quantities& capacity, const std::vector<Quantities>& leaf_demand,
              const Past& past) {
  Shares out;
  set_guarantees(tree, capacity, out);
  set_demand(tree, leaf_demand, out);
  out.fair.assign(tree.nodes().size(), tree.none());
  out.fair[0] = capacity;
  out.is_short.assign(tree.nodes().size(), false);
  for (uint32_t s = 0; s < tree.nodes().size(); ++s)
    for (size_t r = 0; r < tree.width(); ++r)
      if (!Division(tree, past, out, r).among(tree.qos(s).children, to_divide(tree, out, s, r))) out.is_short[s] = true;
  return out;
}

}  // namespace gw::sched
