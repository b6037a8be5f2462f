// Messages to nodes. Invariant: a node that is not connected is told nothing; it hears all of it when it registers.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// `script_of`: the shell adds this job's script. `at_once`: it need not wait for what is being written.
void send_to_node(Core& core, NodeId node, wire::ControllerToNode message, const model::Job* script_of = nullptr,
                  bool at_once = false);

}  // namespace gw::ctld
