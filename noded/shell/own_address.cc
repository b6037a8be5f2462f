// Asking the system for the host's addresses.
#include "noded/shell/own_address.h"

#include <ifaddrs.h>
#include <net/if.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/reach.h"
#include "io/address.h"

namespace gw::noded {
namespace {

// Of the blocks kept for documentation: nothing is ever sent there.
constexpr const char* kFarHosts[] = {"192.0.2.1", "2001:db8::1"};
constexpr uint16_t kAnyPort = 9;

std::vector<std::string> interface_addresses() {
  std::vector<std::string> found;
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return found;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(first, ::freeifaddrs);
  for (const ifaddrs* at = first; at != nullptr; at = at->ifa_next) {
    if (at->ifa_addr == nullptr || (at->ifa_flags & IFF_UP) == 0) continue;
    io::SockAddr address;
    const bool is_v6 = at->ifa_addr->sa_family == AF_INET6;
    if (!is_v6 && at->ifa_addr->sa_family != AF_INET) continue;
    address.size = is_v6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
    std::memcpy(&address.storage, at->ifa_addr, address.size);
    found.push_back(address.host());
  }
  return found;
}

std::vector<std::string> named_addresses(const std::string& name) {
  std::vector<std::string> found;
  const auto resolved = io::resolve({name, kAnyPort, {}});
  if (!resolved) return found;
  for (const io::SockAddr& address : *resolved) found.push_back(address.host());
  return found;
}

/// A datagram socket that is connected has chosen its own address, and has sent nothing.
std::vector<std::string> way_out() {
  std::vector<std::string> found;
  for (const char* far : kFarHosts) {
    const auto to = io::resolve({far, kAnyPort, {}});
    if (!to || to->empty()) continue;
    const io::SockAddr& address = to->front();
    const io::Fd fd(::socket(address.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (fd && ::connect(fd.get(), address.get(), address.size) == 0)
      found.push_back(io::local_address(fd.get()).host());
  }
  return found;
}

}  // namespace

std::string choose_address(const HostAddresses& host) {
  const auto& own = host.interfaces;
  const auto is_good = [&](const std::string& address) {
    return !base::is_local_host(address) && std::find(own.begin(), own.end(), address) != own.end();
  };
  for (const auto* kind : {&host.named, &host.way_out, &own})
    if (const auto found = std::find_if(kind->begin(), kind->end(), is_good); found != kind->end()) return *found;
  return "";
}

std::string own_address(const std::string& name) {
  return choose_address({interface_addresses(), named_addresses(name), way_out()});
}

}  // namespace gw::noded
