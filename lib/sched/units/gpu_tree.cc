// Dynamic programming over the tree: the best candidates of every size of a vertex are put together from those of its
// children. That is exact since all that counts is a sum over vertices of what depends on the number taken there, and
// since the lowest of two unions follows from the lowest of their parts.
#include "sched/units/gpu_tree.h"

#include <algorithm>
#include <set>

namespace gw::sched {
namespace {

using base::IndexSet;

IndexSet intersection(IndexSet a, const IndexSet& b) { return a &= b; }

/// The sets of GPUs joined by links of at least `mbps`.
std::vector<IndexSet> joined_by(const GpuGroups& groups, uint64_t mbps) {
  std::vector<IndexSet> sets;
  IndexSet open = IndexSet::first(groups.gpu_count());
  for (uint32_t first = open.next(0); first != UINT32_MAX; first = open.next(0)) {
    std::vector<uint32_t> todo{first};
    IndexSet& set = sets.emplace_back();
    while (!todo.empty()) {
      const uint32_t g = todo.back();
      todo.pop_back();
      if (!open.contains(g)) continue;
      open.erase(g);
      set.insert(g);
      for (uint32_t o = open.next(0); o != UINT32_MAX; o = open.next(o + 1))
        if (groups.pair(g, o).mbps >= mbps) todo.push_back(o);
    }
  }
  return sets;
}

/// All sets that have to be vertices.
std::vector<IndexSet> vertex_sets(const GpuGroups& groups) {
  std::vector<IndexSet> sets{IndexSet::first(groups.gpu_count())};
  std::vector<IndexSet> classes(groups.gpu_count());
  std::set<uint64_t> speeds;
  for (uint32_t a = 0; a < groups.gpu_count(); ++a) {
    classes[groups.class_of(a)].insert(a);
    for (uint32_t b = 0; b < a; ++b)
      if (groups.pair(a, b).mbps > 0) speeds.insert(groups.pair(a, b).mbps);
  }
  sets.insert(sets.end(), classes.begin(), classes.end());
  for (const GpuGroup& group : groups.groups()) sets.push_back(group.gpus);
  for (const uint64_t mbps : speeds)
    for (IndexSet& set : joined_by(groups, mbps))
      if (set.size() > 1) sets.push_back(std::move(set));
  return sets;
}

/// The pairs of `a` with `b`: how `a` and `b` are together.
void join(GpuPick& a, const GpuPick& b, const GpuGroups::Pair& pair, uint64_t pairs) {
  a.gpus |= b.gpus;
  a.mbps += b.mbps + pair.mbps * pairs;
  a.damage += b.damage;
  a.spread += b.spread + pair.distance * static_cast<uint32_t>(pairs);
}

/// The best of every size up to `count` out of two disjoint parts.
std::vector<GpuPick> merge(const std::vector<GpuPick>& left, const std::vector<GpuPick>& right,
                           const GpuGroups::Pair& pair, uint32_t count) {
  std::vector<GpuPick> out(std::min<size_t>(left.size() + right.size() - 1, size_t{count} + 1));
  std::vector<bool> known(out.size(), false);
  for (size_t l = 0; l < left.size(); ++l) {
    for (size_t r = 0; r < right.size() && l + r < out.size(); ++r) {
      GpuPick both = left[l];
      join(both, right[r], pair, l * r);
      if (!known[l + r] || both.beats(out[l + r])) out[l + r] = std::move(both);
      known[l + r] = true;
    }
  }
  return out;
}

}  // namespace

std::optional<GpuTree> GpuTree::build(const GpuGroups& groups) {
  GpuTree tree;
  if (groups.gpu_count() == 0 || !tree.hang(groups) || !tree.measure_pairs(groups)) return std::nullopt;
  return tree;
}

/// Makes the vertices and hangs each below the smallest that holds it. False if two overlap.
bool GpuTree::hang(const GpuGroups& groups) {
  std::vector<IndexSet> sets = vertex_sets(groups);
  std::stable_sort(sets.begin(), sets.end(), [](const IndexSet& a, const IndexSet& b) { return a.size() > b.size(); });
  for (const IndexSet& set : sets) {
    if (set.empty()) break;
    Vertex vertex;
    vertex.gpus = set;
    bool is_new = true;
    for (uint32_t v = 0; v < vertices_.size() && is_new; ++v) {
      if (!vertices_[v].gpus.intersects(set)) continue;
      if (!set.is_subset_of(vertices_[v].gpus)) return false;
      vertex.parent = v;
      is_new = !(vertices_[v].gpus == set);
    }
    if (!is_new) continue;
    if (!vertices_.empty()) vertices_[vertex.parent].children.push_back(static_cast<uint32_t>(vertices_.size()));
    vertices_.push_back(std::move(vertex));
  }
  for (uint32_t id = 0; id < groups.groups().size(); ++id) {
    const auto at = std::find_if(vertices_.begin(), vertices_.end(),
                                 [&](const Vertex& v) { return v.gpus == groups.groups()[id].gpus; });
    at->groups.push_back(id);
    vertex_of_group_.push_back(static_cast<uint32_t>(at - vertices_.begin()));
  }
  return true;
}

/// False if GPUs that first meet in the same vertex differ in their links or distances.
bool GpuTree::measure_pairs(const GpuGroups& groups) {
  std::vector<bool> is_measured(vertices_.size(), false);
  for (uint32_t a = 0; a < groups.gpu_count(); ++a) {
    for (uint32_t b = 0; b < a; ++b) {
      uint32_t meet = 0;
      for (uint32_t v = 0; v < vertices_.size(); ++v)
        if (vertices_[v].gpus.contains(a) && vertices_[v].gpus.contains(b)) meet = v;
      const GpuGroups::Pair& pair = groups.pair(a, b);
      if (!is_measured[meet]) vertices_[meet].pair = pair;
      is_measured[meet] = true;
      if (vertices_[meet].pair != pair) return false;
    }
  }
  return true;
}

GpuPick GpuTree::best(const GpuGroups& groups, uint32_t group, const IndexSet& free, uint32_t count) const {
  const uint32_t vertex = group == kAllGpus ? 0 : vertex_of_group_[group];
  GpuPick best = std::move(solve(groups, vertex, free, count).at(count));
  for (uint32_t v = vertices_[vertex].parent; v != UINT32_MAX; v = vertices_[v].parent)
    for (const uint32_t id : vertices_[v].groups)
      best.damage += groups.loss(groups.groups()[id], vertices_[v].gpus.common(free), count);
  return best;
}

/// The best candidates of 0, 1, 2, ... GPUs below a vertex, up to `count` or what is free.
std::vector<GpuPick> GpuTree::solve(const GpuGroups& groups, uint32_t vertex, const IndexSet& free,
                                    uint32_t count) const {
  const Vertex& v = vertices_[vertex];
  std::vector<GpuPick> best;
  if (v.children.empty()) {
    best = solve_leaf(v, free, count);
  } else {
    best.emplace_back();
    for (const uint32_t child : v.children)
      if (vertices_[child].gpus.intersects(free)) best = merge(best, solve(groups, child, free, count), v.pair, count);
  }
  const uint32_t here = v.gpus.common(free);
  for (const uint32_t id : v.groups)
    for (uint32_t taken = 1; taken < best.size(); ++taken)
      best[taken].damage += groups.loss(groups.groups()[id], here, taken);
  return best;
}

/// Interchangeable GPUs: the lowest free ones.
std::vector<GpuPick> GpuTree::solve_leaf(const Vertex& leaf, const IndexSet& free, uint32_t count) const {
  const IndexSet here = intersection(leaf.gpus, free);
  std::vector<GpuPick> best(1);
  for (uint32_t g = here.next(0); g != UINT32_MAX && best.size() <= count; g = here.next(g + 1)) {
    GpuPick next = best.back();
    join(next, {.gpus = IndexSet::of({g})}, leaf.pair, best.size() - 1);
    best.push_back(std::move(next));
  }
  return best;
}

}  // namespace gw::sched
