// See fair_share.h.
#include "sched/quota/fair_share.h"

#include <algorithm>

namespace gw::sched {
namespace {

constexpr uint32_t kMostDeadZone = 1'000;

/// One resource among the children of one QOS.
class Division {
 public:
  Division(const QuotaTree& tree, const SharePolicy& policy, const Past& past, Shares& shares, size_t resource)
      : tree_(tree), policy_(policy), past_(past), shares_(shares), r_(resource) {}

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
    divide_rest(unit, (what - std::min(what, given)) / unit);
    return given <= what;
  }

 private:
  const QuotaTree& tree_;
  const SharePolicy& policy_;
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

  /// What is left of it once what is guaranteed and wanted is given: the policy says who gets that.
  void divide_rest(uint64_t unit, uint64_t rest) {
    std::vector<Side> sides;
    for (uint32_t c : members_) {
      const QosNode& node = tree_.qos(c);
      const uint64_t used = past_.used.empty() ? 0 : past_.used[c];
      sides.push_back({shares_.guaranteed[c][r_] / unit, (shares_.demand[c][r_] - fair(c)) / unit, node.weight,
                       node.priority, used});
    }
    divide_by(policy_, rest, sides, past_.strength);
    for (size_t i = 0; i < members_.size(); ++i) fair(members_[i]) += sides[i].gets * unit;
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

uint64_t Shares::line(uint32_t qos, size_t resource, model::Reclaim by, uint32_t own_qos, uint64_t own) const {
  const bool is_guaranteed = by == model::Reclaim::kGuaranteed;
  const auto zone = [&](uint64_t due) { return due / 1'000 * dead_zone_milli + due % 1'000 * dead_zone_milli / 1'000; };
  const uint64_t due = is_guaranteed ? guaranteed[qos][resource] : fair[qos][resource];
  const uint64_t own_due = guaranteed[own_qos][resource];
  return is_guaranteed && own <= own_due - zone(own_due) ? due : due + zone(due);
}

Shares divide(const QuotaTree& tree, const Quantities& capacity, const std::vector<Quantities>& leaf_demand,
              const Past& past, const SharePolicy& policy) {
  Shares out;
  out.dead_zone_milli = std::min(policy.dead_zone_milli(), kMostDeadZone);
  set_guarantees(tree, capacity, out);
  set_demand(tree, leaf_demand, out);
  out.fair.assign(tree.nodes().size(), tree.none());
  out.fair[0] = capacity;
  out.is_short.assign(tree.nodes().size(), false);
  for (uint32_t s = 0; s < tree.nodes().size(); ++s)
    for (size_t r = 0; r < tree.width(); ++r)
      if (!Division(tree, policy, past, out, r).among(tree.qos(s).children, to_divide(tree, out, s, r)))
        out.is_short[s] = true;
  return out;
}

}  // namespace gw::sched
