// Lots from the index (now), from the timeline (later), or of empty nodes (ever).
#include "sched/lots.h"

#include <algorithm>

namespace gw::sched {
Lots::Lots(const Capacity& capacity, const PartitionFacts& partition, const Need& need, const Look& look)
    : capacity_(capacity), partition_(partition), need_(need), look_(look), index_(capacity.index(partition.name)) {
  const model::Request& r = need.request();
  named_.insert(r.nodelist.begin(), r.nodelist.end());
  excluded_.insert(r.exclude.begin(), r.exclude.end());
  if (look.inside != nullptr) inside_.insert(look.inside->begin(), look.inside->end());
  if (look.against != Against::kNow || look.timeline == nullptr || index_ == nullptr) return;
  for (const auto& [node, bookings] : look.timeline->all()) {
    const uint32_t position = index_->position(node);
    if (position == UINT32_MAX || !look.timeline->is_booked(node, look.span, look.reservation)) continue;
    singled_.push_back(node);
    singled_bits_.insert(position);
    if (const NodeGroup* group = index_->group_of(position)) thinned_.insert(group);
  }
  std::sort(singled_.begin(), singled_.end());
}

bool Lots::has_names() const {
  return !need_.request().nodelist.empty() || !need_.request().exclude.empty() || look_.inside != nullptr;
}

bool Lots::is_required(const NodeAccount& account) const { return named_.contains(account.facts.name); }

std::optional<BlockerKind> Lots::ask_names(const NodeAccount& account) const {
  const model::Request& r = need_.request();
  if (excluded_.contains(account.facts.name)) return BlockerKind::kExcludedNode;
  // With -w and a fixed size the gang is exactly the named nodes.
  if (!r.nodelist.empty() && r.nodelist.size() >= r.max_nodes && r.nodes_given && !is_required(account))
    return BlockerKind::kNodeList;
  if (look_.inside != nullptr && !inside_.contains(account.facts.name)) return BlockerKind::kReservedNode;
  return std::nullopt;
}

const Room& Lots::room_of(const NodeAccount& account) {
  if (look_.against == Against::kNow && !singled_bits_.contains(index_->position(account.facts.id)))
    return account.free;
  if (look_.against == Against::kEmpty) {
    Room room;
    room.cores = account.facts.cores;
    // One that is offline comes back: it is no reason to refuse a job for ever.
    if (account.facts.topology)
      room.gpus = base::IndexSet::first(static_cast<uint32_t>(account.facts.topology->gpus.size()));
    room.mem_mb = account.facts.mem_mb;
    return rooms_.emplace_back(std::move(room));
  }
  if (look_.timeline == nullptr) return account.free;
  Room room = look_.timeline->room_during(account, look_.span, look_.reservation);
  if (look_.against == Against::kNow) {  // who outstays his end is still there
    room.cores &= account.free.cores;
    room.gpus &= account.free.gpus;
    room.mem_mb = std::min(room.mem_mb, account.free.mem_mb);
    room.idle = room.idle && account.free.idle;
  }
  return rooms_.emplace_back(std::move(room));
}

const NodeBits* Lots::without_singled(const NodeGroup& group) {
  if (!thinned_.contains(&group)) return &group.nodes;
  NodeBits& rest = bits_.emplace_back(group.nodes);
  for (uint32_t p = singled_bits_.next(0); p != UINT32_MAX; p = singled_bits_.next(p + 1)) rest.erase(p);
  return &rest;
}

bool Lots::visit_node(const NodeAccount& account, const std::function<bool(Lot)>& visit) {
  return visit(Lot{&account, &room_of(account), nullptr, index_->position(account.facts.id), is_required(account)});
}

void Lots::each_group(bool fullest, const std::function<bool(Lot)>& visit) {
  const uint32_t least = need_.is_shared() ? 0 : need_.least_gpus();
  const auto give = [&](const NodeGroup& group) {
    const NodeBits* nodes = without_singled(group);
    if (nodes->empty()) return true;
    const NodeAccount& sample = index_->at(nodes->next(0));
    if (need_.ask_static(sample.facts, *sample.make)) return true;
    return visit(Lot{&sample, &sample.free, nodes, 0, false});
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

void Lots::each_node(const std::function<bool(Lot)>& visit) {
  const std::vector<NodeId>& nodes = look_.only != nullptr ? *look_.only : capacity_.partition_nodes(partition_.name);
  for (NodeId id : nodes) {
    const NodeAccount& account = *capacity_.node(id);
    if (look_.against != Against::kEmpty && !account.facts.usable) continue;
    if (ask_names(account) || need_.ask_static(account.facts, *account.make)) continue;
    if (!visit_node(account, visit)) return;
  }
}

void Lots::each(bool fullest, const std::function<bool(Lot)>& visit) {
  if (index_ == nullptr) return;
  if (has_names() || look_.against != Against::kNow) return each_node(visit);
  for (NodeId id : singled_) {
    const NodeAccount& account = *capacity_.node(id);
    if (!account.facts.usable || !account.facts.topology || need_.ask_static(account.facts, *account.make)) continue;
    if (!need_.is_shared() && account.free.gpus.size() < need_.least_gpus()) continue;
    if (!visit_node(account, visit)) return;
  }
  each_group(fullest, visit);
}

void Lots::count_out(const NodeAccount& account, BlockerKind clause, uint32_t nodes, Census& census) const {
  census.ruled_out[clause] += nodes;
  if (clause == BlockerKind::kUnavailableNode) census.unusable_why[account.facts.unusable_why] += nodes;
}

std::vector<Lot> Lots::all(Census& census) {
  std::vector<Lot> out;
  if (index_ == nullptr) return out;
  const auto take = [&](Lot lot) {
    const uint32_t nodes = lot.nodes != nullptr ? lot.nodes->count() : 1;
    census.nodes += nodes;
    if (const auto clause = need_.misfit(*lot.account, *lot.room, need_.least_tasks())) {
      count_out(*lot.account, *clause, nodes, census);
      return;
    }
    lot.max_tasks = need_.room_for(*lot.account, *lot.room);
    lot.gpus = need_.count_gpus(*lot.account->make, *lot.room);
    census.fitting += nodes;
    out.push_back(lot);
  };
  const auto ask = [&](const NodeAccount& account, const NodeBits* nodes) {
    const uint32_t count = nodes != nullptr ? nodes->count() : 1;
    std::optional<BlockerKind> clause = ask_names(account);
    if (!clause) clause = need_.ask_static(account.facts, *account.make);
    if (!clause && look_.against != Against::kEmpty && !account.facts.usable) clause = BlockerKind::kUnavailableNode;
    if (clause) {
      census.nodes += count;
      count_out(account, *clause, count, census);
    } else if (nodes != nullptr) {
      take(Lot{&account, &account.free, nodes, 0, false});
    } else {
      take(Lot{&account, &room_of(account), nullptr, index_->position(account.facts.id), is_required(account)});
    }
  };
  if (has_names() || look_.against != Against::kNow) {
    const auto& nodes = look_.only != nullptr ? *look_.only : capacity_.partition_nodes(partition_.name);
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
