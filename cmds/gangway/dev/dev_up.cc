// Brings a private cluster up, one daemon after the other, and waits for each to be ready.
#include <fmt/format.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "auth/munge.h"
#include "base/text.h"
#include "cmds/gangway/dev/dev.h"
#include "cmds/gangway/dev/dev_daemons.h"
#include "cmds/gangway/dev/dev_programs.h"
#include "cmds/gangway/dev/dev_ready.h"
#include "config/config.h"

namespace gw::cmds {
namespace {

namespace fs = std::filesystem;
using base::ErrorCode;
using base::Status;
using SteadyClock = std::chrono::steady_clock;

constexpr auto kPollEvery = std::chrono::milliseconds(10);
constexpr auto kDaemonLimit = std::chrono::seconds(30);
constexpr auto kLimitPerNode = std::chrono::milliseconds(500);
constexpr auto kLimitOnceTold = std::chrono::seconds(5);
constexpr int kPatienceMs = 5'000;
constexpr const char* kMark = "# Made by `gangway dev`";

struct Running {
  std::string name;
  pid_t pid = 0;
};

// Asks `is_ready` until it says yes, one of the daemons ends, or the time is over. Told to wait no longer, it gives
// them a moment to be ready all the same: one that starts has no pid file yet, nor a socket by which to end what it
// starts itself.
Status wait_ready(const DevLayout& layout, const std::vector<Running>& daemons, SteadyClock::duration limit,
                  const KeepWaiting& keep_waiting, const std::function<Status()>& is_ready) {
  auto end = SteadyClock::now() + limit;
  Status told;
  for (;;) {
    const Status ready = is_ready();
    if (ready) return told;
    for (const Running& d : daemons) {
      if (!has_exited(d.pid)) continue;
      return told ? tl::unexpected(daemon_failure(layout, d.name, "ended while it started")) : told;
    }
    if (told) {
      told = keep_waiting();
      if (!told) end = std::min(end, SteadyClock::now() + kLimitOnceTold);
    }
    if (SteadyClock::now() > end) {
      if (!told) return told;
      return tl::unexpected(
          daemon_failure(layout, daemons.back().name, "was not ready in time: " + ready.error().what));
    }
    std::this_thread::sleep_for(kPollEvery);
  }
}

Status refuse_if_up(const DevLayout& layout) {
  if (!layout.foreign.empty()) return tl::unexpected(foreign_cluster(layout, "give another folder with --dir"));
  for (const std::string& daemon : dev_daemons(layout)) {
    if (find_by_pid_file(layout.pid_of(daemon))) {
      return base::fail(ErrorCode::kConflict, "a cluster is up in " + layout.dir + " (" + daemon + " runs)",
                        "end it with `gangway dev down --dir " + layout.dir + "`, or give another folder");
    }
  }
  return {};
}

// A configuration that we did not make is not overwritten.
Status refuse_foreign_config(const DevLayout& layout) {
  std::ifstream in(layout.config());
  std::string first;
  if (!std::getline(in, first) || first.starts_with(kMark)) return {};
  return base::fail(ErrorCode::kConflict, layout.config() + " was not made by `gangway dev`: it is left as it is",
                    "give another folder with --dir");
}

// The real file lies in the runtime folder, where other users can read it too.
Status write_config(const DevLayout& layout, const DevOptions& options) {
  GW_TRY(port, free_port());
  GW_TRY(text, dev_config_text(layout, options, port));
  const std::string real = layout.shared_config();
  std::ofstream out(real, std::ios::trunc);
  out << kMark << "; `gangway dev up` makes it anew.\n" << text;
  out.close();
  if (!out || chmod(real.c_str(), 0644) != 0) return base::fail_errno("cannot write " + real, errno);
  unlink(layout.config().c_str());
  if (symlink(real.c_str(), layout.config().c_str()) != 0) {
    return base::fail_errno("cannot make the link " + layout.config(), errno);
  }
  GW_TRY(checked, config::load(layout.config()));
  static_cast<void>(checked);
  return {};
}

Status munge_answers(const DevLayout& layout) {
  auth::MungeAuthenticator munge(layout.munge_socket());
  GW_TRY(credential, munge.encode("ready?", geteuid()));
  GW_TRY(decoded, munge.decode(credential));
  static_cast<void>(decoded);
  return {};
}

Status start_munged(const DevLayout& layout, const KeepWaiting& keep_waiting, std::vector<Running>& daemons) {
  GW_TRY_STATUS(make_munge_key(layout));
  GW_TRY(program, munged_program(layout));
  GW_TRY(pid, start_daemon(layout, program));
  daemons.push_back({program.name, pid});
  const auto ready = [&]() -> Status {
    struct stat st = {};
    if (stat(layout.munge_socket().c_str(), &st) != 0) return base::fail(ErrorCode::kUnavailable, "no socket yet");
    return munge_answers(layout);
  };
  return wait_ready(layout, daemons, kDaemonLimit, keep_waiting, ready);
}

/// One that has its pid file when it serves.
Status start_head(const DevLayout& layout, const std::string& name, const KeepWaiting& keep_waiting,
                  std::vector<Running>& daemons) {
  GW_TRY(program, head_program(layout, name));
  GW_TRY(pid, start_daemon(layout, program));
  daemons.push_back({program.name, pid});
  return wait_ready(layout, daemons, kDaemonLimit, keep_waiting, [&]() -> Status {
    if (find_by_pid_file(program.pid_file)) return {};
    return base::fail(ErrorCode::kUnavailable, "no pid file yet");
  });
}

Status start_controller(const DevLayout& layout, const KeepWaiting& keep_waiting, std::vector<Running>& daemons) {
  GW_TRY(program, head_program(layout, "gctld"));
  GW_TRY(pid, start_daemon(layout, program));
  daemons.push_back({program.name, pid});
  return wait_ready(layout, daemons, kDaemonLimit, keep_waiting,
                    [&] { return controller_answers(layout.shared_config()); });
}

Status start_nodes(const DevLayout& layout, const DevOptions& options, const KeepWaiting& keep_waiting,
                   std::vector<Running>& daemons) {
  for (uint32_t i = 0; i < options.nodes; ++i) {
    GW_TRY(program, gnoded_program(layout, i, options.topologies[i % options.topologies.size()]));
    GW_TRY(pid, start_daemon(layout, program));
    daemons.push_back({program.name, pid});
  }
  return wait_ready(layout, daemons, kDaemonLimit + kLimitPerNode * options.nodes, keep_waiting,
                    [&] { return nodes_are_connected(layout.shared_config(), options.nodes); });
}

/// Where the configuration says that there is a web page.
Status start_web(const DevLayout& layout, const KeepWaiting& keep_waiting, std::vector<Running>& daemons) {
  GW_TRY(config, config::load(layout.config()));
  if (config.web_listen.empty()) return {};
  return start_head(layout, "gwebd", keep_waiting, daemons);
}

Status start_all(const DevOptions& options, DevLayout& layout, const KeepWaiting& keep_waiting,
                 std::vector<Running>& daemons) {
  GW_TRY_STATUS(make_dev_folders(layout));
  GW_TRY_STATUS(open_programs(layout));
  GW_TRY_STATUS(write_config(layout, options));
  GW_TRY_STATUS(start_munged(layout, keep_waiting, daemons));
  GW_TRY_STATUS(start_head(layout, "gscriptd", keep_waiting, daemons));
  GW_TRY_STATUS(start_controller(layout, keep_waiting, daemons));
  GW_TRY_STATUS(start_nodes(layout, options, keep_waiting, daemons));
  return start_web(layout, keep_waiting, daemons);
}

}  // namespace

Status dev_bring_up(const DevOptions& options, DevLayout& layout, const KeepWaiting& keep_waiting) {
  GW_TRY_STATUS(refuse_if_up(layout));
  GW_TRY_STATUS(refuse_foreign_config(layout));
  dev_take_down(layout);  // What an earlier cluster left behind when its daemons died.
  std::vector<Running> daemons;
  const Status started = start_all(options, layout, keep_waiting, daemons);
  if (started) return started;
  // Those that never got so far as to write a pid file; munged goes last, with what is left.
  for (auto it = daemons.rbegin(); it != daemons.rend(); ++it)
    if (!find_by_pid_file(layout.pid_of(it->name))) stop_child(it->pid, kPatienceMs);
  dev_take_down(layout);
  return started;
}

std::string in_front(const std::vector<std::string>& folders, const std::string& path) {
  std::vector<std::string> all = folders;
  for (const std::string& folder : base::split(path, ':'))
    if (std::find(folders.begin(), folders.end(), folder) == folders.end()) all.push_back(folder);
  return base::join(all, ":");
}

std::vector<std::pair<std::string, std::string>> dev_environment(const DevLayout& layout) {
  const std::string bin = commands_folder(layout);
  const std::string slurm = bin.substr(0, bin.rfind('/')) + "/libexec/gangway/slurm";
  const char* path = getenv("PATH");
  const std::string rest = path != nullptr && path[0] != '\0' ? path : "/usr/local/bin:/usr/bin:/bin";
  return {{"GANGWAY_CONF", layout.shared_config()}, {"PATH", in_front({bin, slurm}, rest)}};
}

}  // namespace gw::cmds
