// Each message of a node, to whom it concerns.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// From a link that has not registered only a registration is taken.
void on_node_message(Core& core, LinkId link, const NodePeer& peer, const wire::NodeToController& message);

}  // namespace gw::ctld
