// Who has the GPUs of a node, as it is drawn.
#pragma once

#include <vector>

#include "topo/render.h"
#include "wire/api.pb.h"

namespace gw::cmds {

/// Of GPUs that a job has, and of those that are offline.
inline std::vector<topo::GpuUse> gpu_uses(const wire::Node& node) {
  std::vector<topo::GpuUse> out;
  for (const auto& [gpu, job] : node.gpu_jobs()) out.push_back({gpu, base::JobId(job), "", false});
  for (const auto& [gpu, reason] : node.offline_gpus()) out.push_back({gpu, {}, reason, true});
  return out;
}

}  // namespace gw::cmds
