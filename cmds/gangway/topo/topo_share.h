// What a job has of one node, as the scheduler chose it: its GPUs with the cores near them, the memory's NUMA nodes and
// the nearest NICs. For `gangway topo JOB`.
// Invariant: worked out by the scheduler's own table of the machine, from nothing but the machine and the share.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/bitset.h"
#include "base/result.h"
#include "model/topology.h"
#include "wire/job.pb.h"

namespace gw::cmds {

/// GPUs that have the same cores of the job near them, and what goes with them.
struct ShareUnit {
  base::IndexSet gpus;
  base::IndexSet cores;  ///< Of the job's. Empty: it has none near these GPUs.
  base::IndexSet numa;   ///< Of the GPUs.
  std::vector<uint32_t> nics;
};

struct ShareView {
  uint32_t job = 0;
  uint32_t tasks = 0;
  uint32_t cpus = 0;
  uint64_t mem_mb = 0;
  std::vector<ShareUnit> units;  ///< By lowest GPU.
  base::IndexSet other_cores;    ///< Near none of its GPUs, or all of them if it has no GPU.
  base::IndexSet numa;           ///< Of all of it: where its memory is put.
};

/// Errors: index lists that cannot be read or name what the machine has not.
base::Result<ShareView> share_of(const model::NodeTopology& node, uint32_t job, const wire::NodeShare& share);

/// A line for the whole and one for each unit.
std::string share_text(const model::NodeTopology& node, const ShareView& share);
nlohmann::json share_json(const model::NodeTopology& node, const ShareView& share);

}  // namespace gw::cmds
