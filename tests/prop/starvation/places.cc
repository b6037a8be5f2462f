// See places.h.
#include "tests/prop/starvation/places.h"

#include <algorithm>

namespace gw::prop {
namespace {

constexpr int kAnyLeaf = -1;

}  // namespace

Places::Places(const FullCluster& cluster, const std::vector<std::vector<HeldGpu>>& shared)
    : cluster_(cluster), held_(shared) {
  if (!held_.empty()) return;
  std::vector<uint32_t> next(cluster.nodes.size(), 0);
  for (const Running& job : cluster.running) {
    std::vector<HeldGpu>& held = held_.emplace_back();
    for (const int node : job.at)
      for (int64_t g = 0; g < job.task.gpus; ++g) held.push_back({node, next[static_cast<size_t>(node)]++, kWhole});
  }
}

std::vector<Places::Room> Places::rooms_without(const std::set<int>& gone) const {
  std::vector<Room> rooms;
  for (const Node& node : cluster_.nodes)
    rooms.push_back({std::vector<int64_t>(static_cast<size_t>(node.gpus), kWhole), node.cpus});
  for (size_t i = 0; i < cluster_.running.size(); ++i) {
    const Running& job = cluster_.running[i];
    if (gone.contains(job.id)) continue;
    for (const HeldGpu& held : held_[i]) rooms[static_cast<size_t>(held.node)].milli.at(held.gpu) -= held.milli;
    for (const int node : job.at) rooms[static_cast<size_t>(node)].cpus -= job.task.cpus;
  }
  return rooms;
}

bool Places::is_in_way(const Running& job) const {
  return std::any_of(cluster_.running.begin(), cluster_.running.end(), [&](const Running& other) {
    return other.line == job.line && std::any_of(other.at.begin(), other.at.end(), [&](int node) {
             const std::vector<Tasks>& parts = cluster_.waiting.parts;
             return std::any_of(parts.begin(), parts.end(),
                                [&](const Tasks& part) { return is_open(static_cast<size_t>(node), kAnyLeaf, part); });
           });
  });
}

bool Places::has_room(const std::set<int>& gone) const {
  std::vector<Room> rooms = rooms_without(gone);
  if (!cluster_.waiting.is_below_one_leaf) return has_room_below(rooms, kAnyLeaf);
  std::set<int> leaves;
  for (const Node& node : cluster_.nodes) leaves.insert(node.leaf);
  return std::any_of(leaves.begin(), leaves.end(), [&](int leaf) { return has_room_below(rooms, leaf); });
}

bool Places::has_room_below(std::vector<Room>& rooms, int leaf) const {
  return fit(rooms, leaf, 0, 0, cluster_.waiting.parts.front().count);
}

/// `left` tasks of this part are to be placed from this node on, and then the parts behind it.
bool Places::fit(std::vector<Room>& rooms, int leaf, size_t part, size_t node, int64_t left) const {
  const std::vector<Tasks>& parts = cluster_.waiting.parts;
  if (left == 0) return part + 1 == parts.size() || fit(rooms, leaf, part + 1, 0, parts[part + 1].count);
  if (node == rooms.size()) return false;
  const Tasks& tasks = parts[part];
  const int64_t most = !is_open(node, leaf, tasks) ? 0 : tasks.is_one_a_node ? 1 : left;
  const Room before = rooms[node];
  for (int64_t here = std::min(most, left); here >= 0; --here) {
    const bool fits = take(rooms[node], tasks, here) == here && fit(rooms, leaf, part, node + 1, left - here);
    rooms[node] = before;
    if (fits) return true;
  }
  return false;
}

bool Places::is_open(size_t node, int leaf, const Tasks& tasks) const {
  const Node& n = cluster_.nodes[node];
  return !n.is_closed && !cluster_.waiting.excluded.contains(static_cast<int>(node)) &&
         (leaf == kAnyLeaf || n.leaf == leaf) && (tasks.type.empty() || tasks.gpus == 0 || n.type == tasks.type);
}

/// As many of the tasks as there is room for, `most` at most.
int64_t Places::take(Room& room, const Tasks& tasks, int64_t most) const {
  const int64_t each = cluster_.waiting.milli;
  for (int64_t taken = 0; taken < most; ++taken) {
    if (room.cpus < tasks.cpus) return taken;
    std::vector<size_t> gpus;
    for (size_t g = 0; g < room.milli.size() && std::ssize(gpus) < tasks.gpus; ++g)
      if (room.milli[g] >= each) gpus.push_back(g);
    if (std::ssize(gpus) < tasks.gpus) return taken;
    room.cpus -= tasks.cpus;
    for (const size_t g : gpus) room.milli[g] -= each;
  }
  return most;
}

}  // namespace gw::prop
