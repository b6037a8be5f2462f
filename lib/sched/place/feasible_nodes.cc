// Feasible nodes from the index (now), from the timeline (later), or of empty nodes (ever).
#include "sched/place/feasible_nodes.h"

#include <algorithm>

namespace gw::sched {
FeasibleNodes::FeasibleNodes(const Capacity& capacity, const PartitionFacts& partition, const NodeFilter& filter,
                             const PlacementOptions& options)
    : capacity_(capacity),
      partition_(partition),
      filter_(filter),
      options_(options),
      index_(capacity.index(partition.name)) {
  const model::Request& r = filter.request();
  named_.insert(r.nodelist.begin(), r.nodelist.end());
  excluded_.insert(r.exclude.begin(), r.exclude.end());
  if (options.inside != nullptr) inside_.insert(options.inside->begin(), options.inside->end());
  if (options.against != Against::kNow || options.timeline == nullptr || index_ == nullptr) return;
  for (const auto& [node, bookings] : options.timeline->all()) {
    const uint32_t position = index_->position(node);
    if (position == UINT32_MAX || !options.timeline->is_booked(node, options.span, options.reservation)) continue;
    singled_.push_back(node);
    singled_bits_.insert(position);
    if (const NodeGroup* group = index_->group_of(position)) thinned_.insert(group);
  }
  std::sort(singled_.begin(), singled_.end());
}

/// Nodes of a group differ in what the request asks about: their names, or on which sockets their free cores are.
bool FeasibleNodes::asks_each_node() const {
  return filter_.request().tasks_per_socket > 0 || !filter_.request().nodelist.empty() ||
         !filter_.request().exclude.empty() || options_.inside != nullptr || options_.only != nullptr;
}

bool FeasibleNodes::is_required(const NodeAccount& account) const { return named_.contains(account.facts.name); }

std::optional<BlockerKind> FeasibleNodes::ask_names(const NodeAccount& account) const {
  const model::Request& r = filter_.request();
  if (excluded_.contains(account.facts.name)) return BlockerKind::kExcludedNode;
  // With -w and a fixed size the gang is exactly the named nodes.
  if (!r.nodelist.empty() && r.nodelist.size() >= r.max_nodes && r.nodes_given && !is_required(account))
    return BlockerKind::kNodeList;
  if (options_.inside != nullptr && !inside_.contains(account.facts.name)) return BlockerKind::kReservedNode;
  return std::nullopt;
}

namespace {

/// Of each GPU that is shared no more than is left of it by now.
void keep_at_most(std::vector<SharedGpu>& shared, const FreeResources& now) {
  std::erase_if(shared, [&](SharedGpu& s) {
    if (now.gpus.contains(s.gpu)) return false;
    const auto there =
        std::find_if(now.shared.begin(), now.shared.end(), [&](const auto& o) { return o.gpu == s.gpu; });
    if (there == now.shared.end()) return true;
    s.left = std::min(s.left, there->left);
    return false;
  });
}

}  // namespace

const FreeResources& FeasibleNodes::free_on(const NodeAccount& account) {
  if (options_.against == Against::kNow && !singled_bits_.contains(index_->position(account.facts.id)))
    return account.free;
  if (options_.against == Against::kEmpty) {
    FreeResources free;
    free.cores = account.facts.cores;
    // One that is offline comes back: it is no reason to refuse a job for ever.
    if (account.facts.topology)
      free.gpus = base::IndexSet::first(static_cast<uint32_t>(account.facts.topology->gpus.size()));
    free.mem_mb = account.facts.mem_mb;
    free.gres = account.facts.gres;
    return free_.emplace_back(std::move(free));
  }
  if (options_.timeline == nullptr) return account.free;
  FreeResources free = options_.timeline->free_during(account, options_.span, options_.reservation);
  if (options_.against == Against::kNow) {  // who outstays his end is still there
    free.cores &= account.free.cores;
    free.gpus &= account.free.gpus;
    keep_at_most(free.shared, account.free);
    free.mem_mb = std::min(free.mem_mb, account.free.mem_mb);
    free.gres.keep_at_most(account.free.gres);
    free.idle = free.idle && account.free.idle;
  }
  return free_.emplace_back(std::move(free));
}

const NodeBits* FeasibleNodes::without_singled(const NodeGroup& group) {
  if (!thinned_.contains(&group)) return &group.nodes;
  NodeBits& rest = bits_.emplace_back(group.nodes);
  for (uint32_t p = singled_bits_.next(0); p != UINT32_MAX; p = singled_bits_.next(p + 1)) rest.erase(p);
  return &rest;
}

bool FeasibleNodes::visit_node(const NodeAccount& account, const std::function<bool(FeasibleGroup)>& visit) {
  return visit(
      FeasibleGroup{&account, &free_on(account), nullptr, index_->position(account.facts.id), is_required(account)});
}

void FeasibleNodes::each_group(bool fullest, const std::function<bool(FeasibleGroup)>& visit) {
  const uint32_t least = filter_.is_shared() ? 0 : filter_.least_gpus();
  const auto give = [&](const NodeGroup& group) {
    const NodeBits* nodes = without_singled(group);
    if (nodes->empty()) return true;
    const NodeAccount& sample = index_->at(nodes->next(0));
    if (filter_.failed_static_filter(sample.facts, *sample.node_class)) return true;
    return visit(FeasibleGroup{&sample, &sample.free, nodes, 0, false});
  };
  for (uint32_t weight : index_->weights()) {
    if (weight > stop_after_weight) return;
    const auto first = index_->groups().lower_bound(NodeState{weight, least});
    auto last = index_->groups().lower_bound(NodeState{weight + 1});
    if (fullest) {
      for (auto it = first; it != last; ++it)
        if (!give(it->second)) return;
    } else {
      while (last != first)
        if (!give((--last)->second)) return;
    }
  }
}

void FeasibleNodes::each_node(const std::function<bool(FeasibleGroup)>& visit) {
  const std::vector<NodeId>& nodes =
      options_.only != nullptr ? *options_.only : capacity_.partition_nodes(partition_.name);
  for (NodeId id : nodes) {
    const NodeAccount& account = *capacity_.node(id);
    if (options_.against != Against::kEmpty && !account.facts.usable) continue;
    if (ask_names(account) || filter_.failed_static_filter(account.facts, *account.node_class)) continue;
    if (!visit_node(account, visit)) return;
  }
}

void FeasibleNodes::each(bool fullest, const std::function<bool(FeasibleGroup)>& visit) {
  if (index_ == nullptr) return;
  if (asks_each_node() || options_.against != Against::kNow) return each_node(visit);
  for (NodeId id : singled_) {
    const NodeAccount& account = *capacity_.node(id);
    if (!account.facts.usable || !account.facts.topology ||
        filter_.failed_static_filter(account.facts, *account.node_class))
      continue;
    if (!filter_.is_shared() && account.free.gpus.size() < filter_.least_gpus()) continue;
    if (!visit_node(account, visit)) return;
  }
  each_group(fullest, visit);
}

void FeasibleNodes::count_out(const NodeAccount& account, BlockerKind requirement, uint32_t nodes,
                              Diagnosis& diagnosis) const {
  diagnosis.ruled_out[requirement] += nodes;
  if (requirement == BlockerKind::kUnavailableNode) diagnosis.unusable_why[account.facts.unusable_why] += nodes;
}

std::vector<FeasibleGroup> FeasibleNodes::all(Diagnosis& diagnosis) {
  std::vector<FeasibleGroup> out;
  if (index_ == nullptr) return out;
  const auto take = [&](FeasibleGroup group) {
    const uint32_t nodes = group.nodes != nullptr ? group.nodes->count() : 1;
    diagnosis.nodes += nodes;
    if (const auto requirement = filter_.failed_filter(*group.account, *group.free, filter_.least_tasks())) {
      count_out(*group.account, *requirement, nodes, diagnosis);
      return;
    }
    group.max_tasks = filter_.most_tasks_in(*group.account, *group.free);
    group.gpus = filter_.most_gpus_in(*group.account, *group.free);
    diagnosis.fitting += nodes;
    out.push_back(group);
  };
  const auto ask = [&](const NodeAccount& account, const NodeBits* nodes) {
    const uint32_t count = nodes != nullptr ? nodes->count() : 1;
    std::optional<BlockerKind> requirement = ask_names(account);
    if (!requirement) requirement = filter_.failed_static_filter(account.facts, *account.node_class);
    if (!requirement && options_.against != Against::kEmpty && !account.facts.usable)
      requirement = BlockerKind::kUnavailableNode;
    if (requirement) {
      diagnosis.nodes += count;
      count_out(account, *requirement, count, diagnosis);
    } else if (nodes != nullptr) {
      take(FeasibleGroup{&account, &account.free, nodes, 0, false});
    } else {
      take(FeasibleGroup{&account, &free_on(account), nullptr, index_->position(account.facts.id),
                         is_required(account)});
    }
  };
  if (asks_each_node() || options_.against != Against::kNow) {
    const auto& nodes = options_.only != nullptr ? *options_.only : capacity_.partition_nodes(partition_.name);
    for (NodeId id : nodes) ask(*capacity_.node(id), nullptr);
    return out;
  }
  const NodeBits& unusable = index_->unusable();
  for (uint32_t p = unusable.next(0); p != UINT32_MAX; p = unusable.next(p + 1)) ask(index_->at(p), nullptr);
  for (NodeId id : singled_)
    if (!unusable.contains(index_->position(id))) ask(*capacity_.node(id), nullptr);
  for (const auto& [state, group] : index_->groups()) {
    const NodeBits* nodes = without_singled(group);
    if (!nodes->empty()) ask(index_->at(nodes->next(0)), nodes);
  }
  return out;
}

}  // namespace gw::sched
