// The link to the controller: dialing, heartbeats, silence, and all that is sent over it.
// Invariant: nothing but Register is sent before Registered came.
#pragma once

#include <string>

#include "base/time.h"
#include "noded/core/core.h"

namespace gw::noded {

/// Nothing, unless the controller has registered us: what is not sent is told again when it has.
void send(Core& core, wire::NodeToController message);

/// The first time that the link is dialed, once nothing of an earlier boot is left.
void connect_once_clean(Core& core);
void on_link_down(Core& core, const std::string& why);
/// Gives the link up, and dials again after `at_least`.
void hang_up(Core& core, const std::string& why, base::Duration at_least = {});
/// What is due on it.
void tend_link(Core& core);

}  // namespace gw::noded
