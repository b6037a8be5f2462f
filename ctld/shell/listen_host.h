// Where the controller listens if the configuration does not say: at controller.host, and at every address where that
// would keep others out.
#pragma once

#include <string>
#include <vector>

namespace gw::ctld {

/// `host`: controller.host; `here`: of the addresses that it stands for, those that this machine has. Returns an
/// address, a name, or "*". A name that means this machine alone to itself, as Debian's /etc/hosts does with the host's
/// own name, means more to others: "*"; so does one of several addresses, or of none that is here.
std::string choose_listen_host(const std::string& host, const std::vector<std::string>& here);

/// The same, asking the name service and the system.
std::string listen_host(const std::string& host);

}  // namespace gw::ctld
