// What is free on one node at a moment, or throughout a span of time.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bitset.h"
#include "model/named_counts.h"

namespace gw::sched {

/// A GPU of which jobs hold a part; `left` thousandths are free.
struct SharedGpu {
  uint32_t gpu = 0;
  uint32_t left = 0;
  bool operator==(const SharedGpu&) const = default;
};

struct FreeResources {
  base::IndexSet cores;
  base::IndexSet gpus;            ///< Wholly free.
  std::vector<SharedGpu> shared;  ///< Partly free, by index.
  uint64_t mem_mb = 0;
  bool idle = true;  ///< Nobody is on the node.
  model::Gres gres = {};
  bool operator==(const FreeResources&) const = default;
};

}  // namespace gw::sched
