// Takes a private cluster down: controller first, so that nothing new starts; then the node daemons; then what they
// left, asked over its own sockets to end its jobs; MUNGE last. Invariant: only what pid files, sockets and containment
// groups of this cluster's runtime folder name is ended.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>

#include "cmds/gangway/dev/dev.h"
#include "cmds/gangway/dev/dev_daemons.h"
#include "cmds/gangway/dev/dev_groups.h"
#include "wire/frame.h"
#include "wire/step.pb.h"

namespace gw::cmds {
namespace {

namespace fs = std::filesystem;
using SteadyClock = std::chrono::steady_clock;

constexpr int kPatienceMs = 10'000;
constexpr auto kCleanLimit = std::chrono::seconds(15);
constexpr const char* kShepherdSocket = "sock";

// A connection to a launcher or a shepherd; closes itself.
class UnixPeer {
 public:
  explicit UnixPeer(const std::string& path) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) return;
    memcpy(address.sun_path, path.c_str(), path.size() + 1);
    fd_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const timeval limit{1, 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return;
    close(fd_);
    fd_ = -1;
  }
  ~UnixPeer() {
    if (fd_ >= 0) close(fd_);
  }
  UnixPeer(const UnixPeer&) = delete;
  UnixPeer& operator=(const UnixPeer&) = delete;

  bool is_open() const { return fd_ >= 0; }
  bool say(const google::protobuf::MessageLite& message) {
    std::string frame;
    wire::append_frame(frame, message.SerializeAsString());
    return send(fd_, frame.data(), frame.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(frame.size());
  }
  /// Nothing if the other side is silent for a second; an error once it is gone.
  base::Result<std::optional<std::string>> hear() {
    char chunk[4096];
    for (;;) {
      GW_TRY(frame, decoder_.next());
      if (frame) return std::move(frame);
      const ssize_t n = recv(fd_, chunk, sizeof chunk, 0);
      if (n < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
      if (n <= 0) return base::fail(base::ErrorCode::kUnavailable, "gone");
      decoder_.feed({chunk, static_cast<size_t>(n)});
    }
  }

 private:
  int fd_ = -1;
  wire::FrameDecoder decoder_{wire::kMaxFrame};
};

// Ends the step of one shepherd and lets it go. Returns what went wrong, or "".
std::string end_step(const std::string& path) {
  UnixPeer shepherd(path);
  if (!shepherd.is_open()) return {};
  wire::ToShepherd stop;
  stop.mutable_stop()->set_kill_now(true);
  shepherd.say(stop);
  const auto end = SteadyClock::now() + kCleanLimit;
  while (SteadyClock::now() < end) {
    const auto payload = shepherd.hear();
    if (!payload) return {};
    wire::FromShepherd message;
    if (!*payload || !message.ParseFromString(**payload) || !message.has_clean()) continue;
    wire::ToShepherd forget;
    forget.mutable_forget();
    shepherd.say(forget);
    while (shepherd.hear()) {
      if (SteadyClock::now() > end) break;
    }
    return message.clean().problem();
  }
  return "the shepherd at " + path + " does not end its step";
}

void dismiss_launcher(const std::string& path) {
  UnixPeer launcher(path);
  if (!launcher.is_open()) return;
  wire::ToLauncher leave;
  leave.mutable_leave();
  launcher.say(leave);
  const auto end = SteadyClock::now() + kCleanLimit;
  while (launcher.hear() && SteadyClock::now() < end) {
  }
}

std::vector<std::string> sockets_below(const std::string& folder) {
  std::vector<std::string> found;
  std::error_code failed;
  const auto options = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator it(folder, options, failed), end; !failed && it != end; it.increment(failed)) {
    if (it->is_socket(failed)) found.push_back(it->path().string());
  }
  return found;
}

std::vector<std::string> end_steps(const DevLayout& layout) {
  std::vector<std::string> problems;
  std::vector<std::string> launchers;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(layout.runtime, failed)) {
    if (!entry.is_directory(failed)) continue;
    for (const std::string& path : sockets_below(entry.path().string())) {
      if (fs::path(path).filename() != kShepherdSocket) {
        launchers.push_back(path);
        continue;
      }
      const std::string problem = end_step(path);
      if (!problem.empty()) problems.push_back(problem);
    }
  }
  for (const std::string& path : launchers) dismiss_launcher(path);
  return problems;
}

void stop_all(const DevLayout& layout, const std::vector<std::string>& daemons, std::vector<std::string>& problems) {
  for (const std::string& daemon : daemons) {
    if (!stop_by_pid_file(layout.pid_of(daemon), kPatienceMs)) problems.push_back(daemon + " does not end");
  }
}

// The configuration stays readable in D when the runtime folder goes.
void keep_config(const DevLayout& layout) {
  std::error_code failed;
  if (!fs::is_symlink(layout.config(), failed)) return;
  const std::string copy = layout.config() + ".new";
  if (fs::copy_file(layout.shared_config(), copy, fs::copy_options::overwrite_existing, failed)) {
    fs::rename(copy, layout.config(), failed);
  } else {
    fs::remove(layout.config(), failed);
  }
}

}  // namespace

std::vector<std::string> dev_take_down(DevLayout& layout) {
  std::vector<std::string> problems;
  if (layout.runtime.empty()) return problems;
  std::vector<std::string> nodes;
  for (const std::string& daemon : dev_daemons(layout)) {
    if (daemon.starts_with("gnoded.")) nodes.push_back(daemon);
  }
  stop_all(layout, {"gwebd", "gctld", "gscriptd"}, problems);
  stop_all(layout, nodes, problems);
  for (const std::string& problem : end_steps(layout)) problems.push_back(problem);
  for (const std::string& problem : clear_groups(layout.cluster())) problems.push_back(problem);
  // A socket is closed a moment before its process has ended.
  if (!wait_for_last_of("gstepd", layout.runtime, kPatienceMs))
    problems.push_back("a gstepd of the cluster does not end");
  stop_all(layout, {"munged"}, problems);
  keep_config(layout);
  remove_dev_runtime(layout);
  return problems;
}

}  // namespace gw::cmds
