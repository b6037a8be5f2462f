// Whether the waiting job of a full cluster finds room once some of the running ones are gone: every place is tried.
#pragma once

#include <set>
#include <vector>

#include "tests/prop/starvation/full_cluster.h"

namespace gw::prop {

/// What a job holds of one GPU.
struct HeldGpu {
  int node = 0;
  uint32_t gpu = 0;
  int64_t milli = 0;
};

class Places {
 public:
  /// `shared`: which GPUs the jobs of FullCluster::running hold, where some share them; else none are given, and it is
  /// no matter which.
  Places(const FullCluster& cluster, const std::vector<std::vector<HeldGpu>>& shared);
  /// Does the job, or what extends it, hold something on a node where a part of the waiting job may be?
  bool is_in_way(const Running& job) const;
  /// Without the running jobs of these ids.
  bool has_room(const std::set<int>& gone) const;

 private:
  struct Room {
    std::vector<int64_t> milli;  // free of each GPU
    int64_t cpus = 0;
  };
  const FullCluster& cluster_;
  std::vector<std::vector<HeldGpu>> held_;  // by running job

  std::vector<Room> rooms_without(const std::set<int>& gone) const;
  bool has_room_below(std::vector<Room>& rooms, int leaf) const;
  bool fit(std::vector<Room>& rooms, int leaf, size_t part, size_t node, int64_t left) const;
  bool is_open(size_t node, int leaf, const Tasks& tasks) const;
  int64_t take(Room& room, const Tasks& tasks, int64_t most) const;
};

}  // namespace gw::prop
