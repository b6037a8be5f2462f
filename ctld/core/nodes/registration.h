// A node registers: is it who it says, what does it bring, and what of its runs is as the state has it. What is missing
// there is sent again, what is lost is ended.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// Tells whoever is at the other end why, and closes the link.
void refuse_link(Core& core, LinkId link, const base::Error& error);
/// A daemon says which node it is and what runs there; refused unless it may be that node.
void register_node(Core& core, LinkId link, const NodePeer& peer, const wire::Register& m);

}  // namespace gw::ctld
