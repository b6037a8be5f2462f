// The host name and /etc/hosts that a task of an emulated node sees, in namespaces of its own.
#pragma once

#include <string>

namespace gw::noded::step {

/// Gives the calling process its own UTS and mount namespace: host name `node`, and the file `hosts` (if not empty) in
/// the place of /etc/hosts. Needs root. Returns a note if something failed, else "": the task runs all the same.
std::string enter_host_view(const std::string& node, const std::string& hosts);

}  // namespace gw::noded::step
