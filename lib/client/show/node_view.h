// What people are shown of nodes: states as sinfo words them, GPUs free, in use and offline.
#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"
#include "wire/api.pb.h"

namespace gw::client {

/// sinfo's %T: "idle", "mixed", "allocated", "drained", "draining", "down", "completing", "unknown", with `*` if the
/// node does not answer.
std::string node_state_long(const wire::Node& node);
/// sinfo's %t: "idle", "mix", "alloc", "drain", "drng", "down", "comp", "unk", with `*`.
std::string node_state_short(const wire::Node& node);
/// scontrol's State=: "MIXED+DRAIN", "DOWN*+..." with the star turned into +NOT_RESPONDING.
std::string node_state_flags(const wire::Node& node);
/// Does `word` (long or short, any case; "up", "all", "responding", ... not included) name the node's state?
bool node_state_is(const wire::Node& node, const std::string& word);

enum class Use : uint8_t { kAllocated, kIdle, kOther };
/// How sinfo's A/I/O counts the node.
Use node_use(const wire::Node& node);

struct GpuCounts {
  uint32_t free = 0, used = 0, offline = 0;
  GpuCounts& operator+=(const GpuCounts& o);
  std::string text() const;  ///< "6/2/0"
};
/// Offline counts GPUs taken offline, and all those not in use of a node that takes no jobs.
GpuCounts gpu_counts(const wire::Node& node);
/// GPUs and other generic resources in use, "gpu:2(IDX:0-1),fpga:intel:1,lscratch:0"; empty: the node has none.
std::string gres_used(const wire::Node& node);

struct CpuCounts {
  uint32_t allocated = 0, idle = 0, other = 0, total = 0;
  CpuCounts& operator+=(const CpuCounts& o);
};
CpuCounts cpu_counts(const wire::Node& node);
/// Hundredths as "0.53".
std::string load_text(uint64_t centi);

uint32_t total_gpus(const wire::Node& node);

}  // namespace gw::client
