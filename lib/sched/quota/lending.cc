// See lending.h. A sweep over the moments at which something changed.
#include "sched/quota/lending.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace gw::sched {
namespace {

/// In thousandths of a GPU.
uint64_t guaranteed_gpus(const model::Qos& qos) {
  uint64_t of_types = 0;
  for (const auto& [resource, amount] : qos.guaranteed) {
    if (resource == "gpu") return amount;
    if (resource.starts_with("gpu:")) of_types += amount;
  }
  return of_types;
}

}  // namespace

Lending::Lending(const std::vector<model::Qos>& tree, base::Time since, base::Time until)
    : since_(since), until_(until) {
  nodes_.emplace_back();
  for (const model::Qos& qos : tree) {
    ids_[qos.name] = static_cast<uint32_t>(nodes_.size());
    nodes_.push_back({qos.name, 0, {}, guaranteed_gpus(qos), 0});
  }
  for (const model::Qos& qos : tree) {
    const auto parent = ids_.find(qos.parent);
    const uint32_t id = ids_.at(qos.name);
    nodes_[id].parent = parent == ids_.end() ? 0 : parent->second;
    nodes_[nodes_[id].parent].children.push_back(id);
  }
}

base::Status Lending::add(const std::string& qos, base::Time from, base::Time to, uint64_t gpu_milli) {
  const auto id = ids_.find(qos);
  from = std::max(from, since_);
  to = std::min(to, until_);
  if (id == ids_.end() || gpu_milli == 0 || from >= to) return {};
  if (changes_.size() >= 2 * kMostRuns)
    return base::invalid(fmt::format("more than {} runs of jobs with GPUs", kMostRuns), "name a shorter time");
  changes_.push_back({from, id->second, static_cast<int64_t>(gpu_milli)});
  changes_.push_back({to, id->second, -static_cast<int64_t>(gpu_milli)});
  return {};
}

void Lending::add_idle(const std::string& qos, uint64_t ms) {
  const auto id = ids_.find(qos);
  for (uint32_t at = id == ids_.end() ? 0 : id->second; at != 0; at = nodes_[at].parent) nodes_[at].idle_ms += ms;
}

/// Adds up what is so between two changes. Below a parent every GPU that is spare has lent the same part of itself, at
/// every moment: so it is enough to know that part over time, and no change looks at more than one QOS of each level.
class Lending::Sweep {
 public:
  explicit Sweep(const Lending& all) : nodes_(all.nodes_), below_(nodes_.size()), states_(nodes_.size()) {
    for (size_t i = 0; i < nodes_.size(); ++i) {
      below_[i].since = states_[i].since = all.since_;
      for (const uint32_t c : nodes_[i].children) {
        below_[i].spare += nodes_[c].guarantee;
        below_[i].is_shared_out |= nodes_[c].guarantee > 0;
      }
    }
  }

  /// From `at` on the QOS holds so much more.
  void change(uint32_t qos, int64_t gpu_milli, base::Time at) {
    for (; qos != 0; qos = nodes_[qos].parent) {
      settle(qos, at);
      Below& beside = below_[nodes_[qos].parent];
      beside.spare -= spare(qos);
      beside.borrowed -= borrowed(qos);
      states_[qos].held += static_cast<uint64_t>(gpu_milli);
      beside.spare += spare(qos);
      beside.borrowed += borrowed(qos);
    }
  }
  void finish(base::Time at) {
    for (uint32_t qos = 1; qos < nodes_.size(); ++qos) settle(qos, at);
  }
  /// GPUs in thousandths times milliseconds.
  uint64_t held_of(uint32_t qos) const { return in_ms(states_[qos].held_us); }
  uint64_t borrowed_of(uint32_t qos) const { return in_ms(states_[qos].borrowed_us); }
  uint64_t lent_of(uint32_t qos) const { return in_ms(states_[qos].lent_us); }

 private:
  /// Of the QOS below one parent, together.
  struct Below {
    base::Time since;
    uint64_t spare = 0, borrowed = 0;
    double lent_part_us = 0;  ///< How much of itself each spare GPU has lent until `since`.
    bool is_shared_out = false;
  };
  struct State {
    base::Time since;
    uint64_t held = 0;
    double lent_part_us = 0;                           ///< The parent's, at `since`.
    double held_us = 0, borrowed_us = 0, lent_us = 0;  // times thousandths of a GPU: more than fits into 64 bits
  };

  const std::vector<Node>& nodes_;
  std::vector<Below> below_;  // by parent
  std::vector<State> states_;

  static uint64_t in_ms(double us) { return static_cast<uint64_t>(std::llround(us / 1000)); }
  uint64_t spare(uint32_t qos) const {
    return nodes_[qos].guarantee - std::min(nodes_[qos].guarantee, states_[qos].held);
  }
  uint64_t borrowed(uint32_t qos) const {
    const bool counts = below_[nodes_[qos].parent].is_shared_out;
    return counts ? states_[qos].held - std::min(nodes_[qos].guarantee, states_[qos].held) : 0;
  }
  void settle(uint32_t qos, base::Time at) {
    Below& beside = below_[nodes_[qos].parent];
    if (beside.spare > 0)
      beside.lent_part_us += static_cast<double>((at - beside.since).us) *
                             static_cast<double>(std::min(beside.borrowed, beside.spare)) /
                             static_cast<double>(beside.spare);
    beside.since = at;
    State& own = states_[qos];
    const auto us = static_cast<double>((at - own.since).us);
    own.held_us += static_cast<double>(own.held) * us;
    own.borrowed_us += static_cast<double>(borrowed(qos)) * us;
    own.lent_us += static_cast<double>(spare(qos)) * (beside.lent_part_us - own.lent_part_us);
    own.lent_part_us = beside.lent_part_us;
    own.since = at;
  }
};

std::vector<LendingSum> Lending::sums() {
  const auto whole = static_cast<uint64_t>(std::max((until_ - since_).us, int64_t{0}) / 1000);
  std::sort(changes_.begin(), changes_.end(), [](const Change& a, const Change& b) { return a.at < b.at; });
  Sweep sweep(*this);
  for (const Change& change : changes_) sweep.change(change.qos, change.gpu_milli, change.at);
  sweep.finish(std::max(until_, since_));
  std::vector<LendingSum> out;
  std::vector<uint32_t> open(nodes_[0].children.rbegin(), nodes_[0].children.rend());
  while (!open.empty()) {
    const uint32_t at = open.back();
    open.pop_back();
    const Node& node = nodes_[at];
    out.push_back({node.name, nodes_[node.parent].name, node.guarantee * whole, sweep.held_of(at),
                   sweep.borrowed_of(at), sweep.lent_of(at), node.idle_ms});
    open.insert(open.end(), node.children.rbegin(), node.children.rend());
  }
  return out;
}

}  // namespace gw::sched
