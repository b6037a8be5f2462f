// Where a user's private cluster is found.
#include "client/conn/private_cluster.h"

#include <glob.h>
#include <pwd.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <vector>

#include "base/text.h"

namespace gw::client {
namespace {

/// Its controller is alive, and the folder is ours: nobody else can have us pointed at theirs.
bool runs_in(const std::string& runtime) {
  struct stat st {};
  if (::lstat(runtime.c_str(), &st) != 0 || !S_ISDIR(st.st_mode) || st.st_uid != ::geteuid()) return false;
  std::ifstream file(runtime + "/gctld.pid");
  pid_t pid = 0;
  return (file >> pid) && pid > 1 && (::kill(pid, 0) == 0 || errno == EPERM);
}

std::optional<std::string> link_target(const std::string& path) {
  char target[256];
  const ssize_t length = ::readlink(path.c_str(), target, sizeof target);
  if (length <= 0) return std::nullopt;
  return std::string(target, static_cast<size_t>(length));
}

/// Runtime folders of this user, wherever their clusters were told to keep the rest.
std::vector<std::string> runtime_folders() {
  std::vector<std::string> found;
  const std::string own = "gw-" + std::to_string(::geteuid()) + "-*";
  for (const std::string place : {"/dev/shm/", "/tmp/"}) {
    glob_t matches{};
    if (::glob((place + own).c_str(), GLOB_NOSORT, nullptr, &matches) == 0)
      found.insert(found.end(), matches.gl_pathv, matches.gl_pathv + matches.gl_pathc);
    ::globfree(&matches);
  }
  return found;
}

std::optional<std::string> hint_of_running() {
  if (const auto dir = default_dev_dir()) {
    const auto runtime = link_target(*dir + "/run");
    if (runtime && runs_in(*runtime)) return "your private cluster runs: eval \"$(gangway dev env)\"";
  }
  for (const std::string& runtime : runtime_folders())
    if (runs_in(runtime)) return "a private cluster of yours runs: export GANGWAY_CONF=" + runtime + "/gangway.yaml";
  return std::nullopt;
}

bool is_runtime_path(const std::string& path) {
  return path.starts_with("/dev/shm/gw-") || path.starts_with("/tmp/gw-");
}

}  // namespace

base::Result<std::string> default_dev_dir() {
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && state[0] == '/') return std::string(state) + "/gangway/dev";
  const char* home = std::getenv("HOME");
  if (home == nullptr || home[0] != '/') {
    const passwd* entry = ::getpwuid(::geteuid());
    home = entry != nullptr ? entry->pw_dir : nullptr;
  }
  if (home == nullptr || home[0] != '/') {
    return base::invalid("no home folder to keep a cluster in", "give a folder with --dir, or set HOME");
  }
  return std::string(home) + "/.local/state/gangway/dev";
}

base::Error explain_no_config(base::Error error, const std::string& path) {
  if (::access(path.c_str(), F_OK) == 0 || errno != ENOENT) return error;
  error.code = base::ErrorCode::kUnavailable;  // what is not found is what the controller does not know
  if (auto hint = hint_of_running())
    error.hint = *hint;
  else if (is_runtime_path(path))
    error.hint = "that private cluster is down: gangway dev up, then eval \"$(gangway dev env)\"";
  else
    error.hint = "set $GANGWAY_CONF to the file to use; for a cluster of your own on this machine: gangway dev up";
  return error;
}

}  // namespace gw::client
