// Whether the daemons of a private cluster are ready: asked of the controller.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace gw::cmds {

/// One ping. Errors: why there was no answer.
base::Status controller_answers(const std::string& config_path);

/// Whether there are `count` nodes and all of them are connected: jobs that waited when the cluster was ended may run
/// on them already, and who drained one wants it so. Errors: which is not, and its state.
base::Status nodes_are_connected(const std::string& config_path, uint32_t count);

}  // namespace gw::cmds
