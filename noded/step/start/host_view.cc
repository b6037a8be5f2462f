// The host name and /etc/hosts that a task of an emulated node sees.
#include "noded/step/start/host_view.h"

#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace gw::noded::step {
namespace {

std::string note(const std::string& what) { return what + ": " + std::generic_category().message(errno); }

}  // namespace

std::string enter_host_view(const std::string& node, const std::string& hosts) {
  if (::unshare(CLONE_NEWUTS) != 0) return note("own host name namespace");
  if (::sethostname(node.data(), node.size()) != 0) return note("host name " + node);
  if (hosts.empty()) return {};
  if (::unshare(CLONE_NEWNS) != 0) return note("own mount namespace");
  // Slave: mounts that the administrator makes later still appear, ours go nowhere.
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) return note("own mount namespace");
  if (::mount(hosts.c_str(), "/etc/hosts", nullptr, MS_BIND, nullptr) != 0) return note("binding /etc/hosts");
  return {};
}

}  // namespace gw::noded::step
