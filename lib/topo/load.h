// One way to name a topology, for configs and command lines.
#pragma once

#include <string>

#include "base/result.h"
#include "model/topology.h"

namespace gw::topo {

/// "live" (this machine, with what NVML and ROCm SMI add), a generated name ("dgx-h100"), or the path of an hwloc XML
/// file. A generated name wins over a file of the same name in the current folder: write "./NAME" for the file.
/// Errors: those of the reader; kNotFound for an unknown name, with "did you mean".
base::Result<model::NodeTopology> load(const std::string& name_or_path);

}  // namespace gw::topo
