// By which address other hosts reach this one. The controller asks for it only where it cannot tell itself: where node
// and controller are one host, and talk over loopback.
#pragma once

#include <string>
#include <vector>

namespace gw::noded {

/// What is known of a host. All are numeric addresses.
struct HostAddresses {
  std::vector<std::string> interfaces;  ///< Of those that are up, in the system's order.
  std::vector<std::string> named;       ///< What the host's name stands for.
  std::vector<std::string> way_out;     ///< Where packets to far hosts would come from.
};

/// The first of these that it finds: what an interface has and the name stands for, what has the way out, what an
/// interface has. Never one that means nothing elsewhere; empty if there is none.
std::string choose_address(const HostAddresses& host);

/// The same of this host, whose name is `name`. Asks the name service.
std::string own_address(const std::string& name);

}  // namespace gw::noded
