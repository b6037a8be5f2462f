// The grouping of a partition's nodes.
#include "sched/ledger/node_index.h"

#include <algorithm>
#include <unordered_map>

namespace gw::sched {
namespace {

NodeState state_of(const NodeAccount& a) {
  NodeState s;
  s.weight = a.facts.weight;
  s.gpus = a.free.gpus.size();
  s.cores = a.free.cores.size();
  s.mem_mb = a.free.mem_mb;
  s.node_class = a.node_class->id;
  s.gpu_word = a.free.gpus.low_word();
  s.idle = a.is_idle();
  s.gres = a.free.gres;
  if (!a.free.shared.empty() || a.free.gpus.next(64) != UINT32_MAX) s.solo = a.facts.id.value;
  return s;
}

}  // namespace

NodeIndex::NodeIndex(const std::vector<const NodeAccount*>& members, const model::Network& network) {
  std::unordered_map<std::string, const NodeAccount*> by_name;
  for (const NodeAccount* a : members) by_name[a->facts.name] = a;
  // A switch's range in the network becomes a range of positions: nodes of other partitions are left out of both.
  std::vector<uint32_t> before(network.order.size() + 1, 0);
  for (size_t i = 0; i < network.order.size(); ++i) {
    before[i] = static_cast<uint32_t>(accounts_.size());
    const auto it = by_name.find(network.order[i]);
    if (it == by_name.end()) continue;
    accounts_.push_back(it->second);
    by_name.erase(it);
  }
  before[network.order.size()] = static_cast<uint32_t>(accounts_.size());
  for (const NodeAccount* a : members)
    if (by_name.contains(a->facts.name)) accounts_.push_back(a);
  leaves_.assign(accounts_.size(), UINT32_MAX);
  for (const model::Switch& s : network.switches) {
    const Domain d{s.level, before[s.first], before[s.last], s.parent, 0, 0};
    if (s.level == 0)
      for (uint32_t p = d.first; p < d.last; ++p) leaves_[p] = static_cast<uint32_t>(domains_.size());
    domains_.push_back(d);
  }
  where_.resize(accounts_.size());
  for (uint32_t p = 0; p < accounts_.size(); ++p) {
    const uint32_t id = accounts_[p]->facts.id.value;
    if (id >= positions_.size()) positions_.resize(id + 1, UINT32_MAX);
    positions_[id] = p;
    put_in(p);
  }
}

void NodeIndex::count(uint32_t position, int64_t gpus, int64_t cores) {
  for (uint32_t d = leaves_[position]; d != UINT32_MAX; d = domains_[d].parent) {
    domains_[d].free_gpus += static_cast<uint64_t>(gpus);
    domains_[d].free_cores += static_cast<uint64_t>(cores);
  }
}

void NodeIndex::take_out(uint32_t position) {
  Where& w = where_[position];
  if (!w.is_in) return;
  NodeGroup& group = w.group->second;
  const uint32_t weight = w.group->first.weight;
  group.nodes.erase(position);
  if (group.nodes.empty())
    groups_.erase(w.group);
  else if (group.sample == accounts_[position])
    group.sample = accounts_[group.nodes.next(0)];
  count(position, -static_cast<int64_t>(w.gpus), -static_cast<int64_t>(w.cores));
  if (--weights_[weight] == 0) weights_.erase(weight);
  w.is_in = false;
}

void NodeIndex::put_in(uint32_t position) {
  const NodeAccount& a = *accounts_[position];
  if (!a.facts.usable || !a.facts.topology) return unusable_.insert(position);
  unusable_.erase(position);
  Where& w = where_[position];
  const NodeState state = state_of(a);
  w.group = groups_.try_emplace(state).first;
  w.group->second.nodes.insert(position);
  if (w.group->second.sample == nullptr) w.group->second.sample = &a;
  w.gpus = state.gpus;
  w.cores = state.cores;
  w.is_in = true;
  count(position, state.gpus, state.cores);
  ++weights_[state.weight];
}

void NodeIndex::update(const NodeAccount& account) {
  const uint32_t p = position(account.facts.id);
  if (p == UINT32_MAX) return;
  take_out(p);
  put_in(p);
}

std::vector<uint32_t> NodeIndex::weights() const {
  std::vector<uint32_t> out;
  for (const auto& [weight, n] : weights_) out.push_back(weight);
  return out;
}

}  // namespace gw::sched
