// The control groups of a private cluster: what is left in them when shepherds and daemons are gone.
#pragma once

#include <string>
#include <vector>

namespace gw::cmds {

/// Ends every process in the groups gangway/CLUSTER of all mounted hierarchies and removes the groups. Returns what
/// could not be removed.
std::vector<std::string> clear_groups(const std::string& cluster);

}  // namespace gw::cmds
