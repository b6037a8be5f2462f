// Choosing by what a name stands for on this machine.
#include "ctld/shell/listen_host.h"

#include <algorithm>

#include "base/reach.h"
#include "io/address.h"

namespace gw::ctld {
namespace {

bool is_here(io::SockAddr address) {
  const io::Fd fd(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return fd && ::bind(fd.get(), address.get(), address.size) == 0;
}

}  // namespace

std::string choose_listen_host(const std::string& host, const std::vector<std::string>& here) {
  const bool is_exact = host == "localhost" || !io::needs_lookup({host, 0, {}});
  if (is_exact && !here.empty()) return host;
  std::vector<std::string> open;
  std::copy_if(here.begin(), here.end(), std::back_inserter(open),
               [](const auto& a) { return !base::is_local_host(a); });
  return open.size() == 1 ? open.front() : "*";
}

std::string listen_host(const std::string& host) {
  std::vector<std::string> here;
  const auto resolved = io::resolve({host, 0, {}});
  if (!resolved) return host;  // listening says why it cannot be found
  for (const io::SockAddr& address : *resolved)
    if (is_here(address)) here.push_back(address.host());
  return choose_listen_host(host, here);
}

}  // namespace gw::ctld
