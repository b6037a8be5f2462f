// The GPUs of one make of node as the chooser sees them: which belong together, which are interchangeable, and what a
// set of free ones is worth. Built once per make.
// Invariants: every group has at least two GPUs; interchangeable GPUs can be swapped without changing any link, any
// distance or any group (as a family), so any choice is as good with one as with the other.
#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

#include "base/bitset.h"
#include "model/topology.h"

namespace gw::sched {

/// Kinds of groups, most precious first. Linked groups are the maximal sets of GPUs whose pairs are all linked (they
/// may overlap); a socket counts only where it has GPUs on several NUMA nodes, else it is the same as its NUMA node.
enum class GroupKind : uint8_t { kLinked, kSwitch, kNuma, kSocket };

struct GpuGroup {
  GroupKind kind = GroupKind::kLinked;
  uint32_t size = 0;
  base::IndexSet gpus;
};

/// At most so many linked groups are known (the lowest). 16 GPUs can have 324 at most, real machines have a few.
constexpr size_t kMaxLinkedGroups = 500;

/// Some GPUs and what counts for and against them within one level.
struct GpuPick {
  base::IndexSet gpus;
  uint64_t mbps = 0;    ///< Sum over the pairs' links.
  uint64_t damage = 0;  ///< What the free ones lose in GpuGroups::value().
  uint32_t spread = 0;  ///< Sum over the pairs' distances.

  /// Smaller is better.
  std::tuple<uint64_t, uint64_t, uint32_t> key() const { return {~mbps, damage, spread}; }
  /// Of two candidates of equal size: the better; of equally good ones that with the lowest index the other has not.
  bool beats(const GpuPick& other) const;
};

class GpuGroups {
 public:
  explicit GpuGroups(const model::NodeTopology& topology);

  uint32_t gpu_count() const { return static_cast<uint32_t>(class_of_.size()); }
  const std::vector<GpuGroup>& groups() const { return groups_; }
  /// Indices into groups(), ascending.
  const std::vector<uint32_t>& groups_of(uint32_t gpu) const { return groups_of_[gpu]; }
  /// The lowest GPU that `gpu` is interchangeable with (possibly itself).
  uint32_t class_of(uint32_t gpu) const { return class_of_[gpu]; }

  /// One pair: its link in MB/s, and how far apart by PCIe: 0 same switch, 1 NUMA node, 2 socket, 3 elsewhere.
  struct Pair {
    uint64_t mbps = 0;
    uint32_t distance = 0;
    bool operator==(const Pair&) const = default;
  };
  const Pair& pair(uint32_t a, uint32_t b) const { return pairs_[size_t{a} * class_of_.size() + b]; }
  uint64_t max_mbps() const { return max_mbps_; }

  /// What the free GPUs are worth to jobs still to come, as a packed number whose fields are, most significant first:
  /// whole (fully free) linked groups, whole switches, whole NUMA nodes, whole sockets; then how many jobs of 2, 4,
  /// 8, ... GPUs the groups could hold, each size by itself (sum over groups and over those k of free / k); then the
  /// same for jobs of every size from 2. Fields of larger sets are never below those of smaller sets.
  uint64_t value(const base::IndexSet& free) const;
  /// By how much value() falls when `taken` of the `free` free GPUs of a group are taken.
  uint64_t loss(const GpuGroup& group, uint32_t free, uint32_t taken) const;
  /// By how much value() falls when one of the `free` free GPUs of a group is taken.
  uint64_t loss(const GpuGroup& group, uint32_t free) const {
    return job_loss_[free] + (free == group.size ? whole(group.kind) : 0);
  }

 private:
  std::vector<GpuGroup> groups_;
  std::vector<std::vector<uint32_t>> groups_of_;
  std::vector<uint32_t> class_of_;
  std::vector<Pair> pairs_;
  std::vector<uint64_t> job_loss_;  // [free]: the two job fields
  uint64_t max_mbps_ = 0;

  void add_group(GroupKind kind, const base::IndexSet& gpus);
  void add_linked_groups();
  void add_places(const model::NodeTopology& topology);
  void extend_clique(const base::IndexSet& clique, base::IndexSet candidates, base::IndexSet done,
                     const std::vector<base::IndexSet>& linked);
  bool interchangeable(const model::NodeTopology& topology, uint32_t a, uint32_t b) const;
  static uint64_t whole(GroupKind kind);
};

}  // namespace gw::sched
