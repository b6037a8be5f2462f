// What the scheduler is told of a node, and what keeps jobs from it.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// It was taken out of the configuration.
void withdraw_node(Core& core, const model::Node& node, wire::ApiReply& told);
/// Nodes that the configuration has and that are not known yet are added.
void configure_nodes(Core& core);
/// Ledger and scheduler have the node as it is now.
void publish_node(Core& core, const model::Node& node);

}  // namespace gw::ctld
