// Levels are tried from the tightest; a level's candidates are the subsets of its groups (a linked group, a switch, a
// NUMA node, all). Within a group the tree finds the best, or where there is none branch and bound over how many GPUs
// to take of each class of interchangeable ones: of a class the lowest free ones, since others are as good and have
// higher indices.
#include "sched/units/gpu_search.h"

#include <algorithm>
#include <vector>

namespace gw::sched {
namespace {

using base::IndexSet;
using model::Locality;

uint64_t pairs_of(uint64_t gpus) { return gpus * (gpus - 1) / 2; }

class Branching {
 public:
  Branching(const GpuGroups& groups, const IndexSet& free, uint32_t count)
      : groups_(groups), count_(count), classes_(groups.gpu_count()) {
    for (const GpuGroup& group : groups_.groups()) left_.push_back(group.gpus.common(free));
  }

  /// Tries the subsets of `domain`. May be called for one domain after the other.
  void search(const IndexSet& domain) {
    collect_classes(domain);
    descend(0);
  }
  /// Of everything tried; without GPUs if nothing was.
  const GpuPick& best() const { return best_; }

 private:
  struct Class {
    std::vector<uint32_t> gpus;  // free ones, ascending
    uint32_t later = 0;          // GPUs in the classes after this one
  };

  const GpuGroups& groups_;
  const uint32_t count_;
  std::vector<Class> classes_;
  std::vector<uint32_t> left_;   // free GPUs of each group, less the taken ones
  std::vector<GpuPick> taken_;   // after each GPU taken
  std::vector<uint32_t> order_;  // the GPUs taken
  GpuPick best_;
  uint32_t steps_ = 0;

  /// Classes with the fewest free GPUs come first: taking those breaks the least, so that good choices come early.
  void collect_classes(const IndexSet& domain) {
    classes_.assign(groups_.gpu_count(), {});
    for (uint32_t g = domain.next(0); g != UINT32_MAX; g = domain.next(g + 1))
      classes_[groups_.class_of(g)].gpus.push_back(g);
    std::erase_if(classes_, [](const Class& c) { return c.gpus.empty(); });
    std::stable_sort(classes_.begin(), classes_.end(),
                     [](const Class& a, const Class& b) { return a.gpus.size() < b.gpus.size(); });
    uint32_t later = 0;
    for (size_t i = classes_.size(); i-- > 0;) {
      classes_[i].later = later;
      later += static_cast<uint32_t>(classes_[i].gpus.size());
    }
  }

  uint32_t needed() const { return count_ - static_cast<uint32_t>(order_.size()); }

  void descend(size_t index) {
    if (needed() == 0) {
      if (best_.gpus.empty() || taken_.back().beats(best_)) best_ = taken_.back();
      return;
    }
    if (is_hopeless()) return;
    const Class& c = classes_[index];
    const uint32_t least = needed() > c.later ? needed() - c.later : 0;
    uint32_t take = std::min(needed(), static_cast<uint32_t>(c.gpus.size()));
    for (uint32_t i = 0; i < take; ++i) add(c.gpus[i]);
    while (true) {
      descend(index + 1);
      if (take == least) break;
      remove();
      --take;
    }
    for (; take > 0; --take) remove();
  }

  /// Can nothing that is added make this beat the best? Bandwidth grows by the fastest link a pair at most, damage and
  /// spread never shrink.
  bool is_hopeless() {
    if (best_.gpus.empty() || order_.empty()) return false;
    if (++steps_ > kMaxSearchSteps) return true;
    GpuPick bound = taken_.back();
    bound.mbps += groups_.max_mbps() * (pairs_of(count_) - pairs_of(order_.size()));
    return bound.key() > best_.key();
  }

  void add(uint32_t gpu) {
    GpuPick next = order_.empty() ? GpuPick{} : taken_.back();
    for (const uint32_t other : order_) {
      next.mbps += groups_.pair(gpu, other).mbps;
      next.spread += groups_.pair(gpu, other).distance;
    }
    for (const uint32_t id : groups_.groups_of(gpu)) next.damage += groups_.loss(groups_.groups()[id], left_[id]--);
    next.gpus.insert(gpu);
    taken_.push_back(std::move(next));
    order_.push_back(gpu);
  }

  void remove() {
    for (const uint32_t id : groups_.groups_of(order_.back())) ++left_[id];
    taken_.pop_back();
    order_.pop_back();
  }
};

/// The best within the groups of one kind, or within all GPUs.
class Level {
 public:
  Level(const GpuGroups& groups, const std::optional<GpuTree>& tree, const IndexSet& free, uint32_t count)
      : groups_(groups), tree_(tree), free_(free), count_(count) {}

  GpuPick in_groups(GroupKind kind) const {
    Branching branching(groups_, free_, count_);
    GpuPick best;
    for (uint32_t id = 0; id < groups_.groups().size(); ++id) {
      const GpuGroup& group = groups_.groups()[id];
      if (group.kind != kind || group.gpus.common(free_) < count_) continue;
      if (!tree_) {
        IndexSet domain = group.gpus;
        branching.search(domain &= free_);
      } else if (GpuPick found = tree_->best(groups_, id, free_, count_); best.gpus.empty() || found.beats(best)) {
        best = std::move(found);
      }
    }
    return tree_ ? best : branching.best();
  }

  GpuPick anywhere() const {
    if (tree_) return tree_->best(groups_, GpuTree::kAllGpus, free_, count_);
    Branching branching(groups_, free_, count_);
    branching.search(free_);
    return branching.best();
  }

 private:
  const GpuGroups& groups_;
  const std::optional<GpuTree>& tree_;
  const IndexSet& free_;
  const uint32_t count_;
};

GpuChoice choice_of(const GpuPick& candidate, Locality level) {
  return {candidate.gpus, level, candidate.mbps, candidate.damage, candidate.spread};
}

}  // namespace

GpuSearch::GpuSearch(const model::NodeTopology& topology) : groups_(topology), tree_(GpuTree::build(groups_)) {}

GpuChoice GpuSearch::best(const IndexSet& free, uint32_t count) const {
  if (count == 0 || free.size() < count) return {};
  const Level level(groups_, tree_, free, count);
  if (count == 1) return choice_of(level.anywhere(), Locality::kGpu);
  constexpr std::pair<GroupKind, Locality> kLevels[] = {{GroupKind::kLinked, Locality::kNvlink},
                                                        {GroupKind::kSwitch, Locality::kPcie},
                                                        {GroupKind::kNuma, Locality::kNuma}};
  for (const auto& [kind, locality] : kLevels) {
    const GpuPick found = level.in_groups(kind);
    if (!found.gpus.empty()) return choice_of(found, locality);
  }
  return choice_of(level.anywhere(), Locality::kNode);
}

}  // namespace gw::sched
