// The launcher of a node: a small process that forks one shepherd a step and reaps what nobody else reaps.
// Invariants: one thread, little memory (a fork costs what the process holds); it outlives the node daemon and serves
// the latest connection; of a shepherd that died it ends all processes before it says so; once its socket's folder is
// removed no daemon can reach it, and it leaves with the last shepherd.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "noded/step/containment.h"
#include "noded/step/proc/owned_fd.h"
#include "noded/step/state/channel.h"
#include "noded/step/tasks/mpi.h"
#include "wire/step.pb.h"

namespace gw::noded::step {

struct LauncherOptions {
  std::string socket;      ///< Unix socket to listen on, mode 0600.
  std::string plugin_dir;  ///< Where contain_*.so lie.
};

/// Serves until Leave (or SIGTERM) and the end of the last shepherd. Errors: the socket is in use or cannot be made.
base::Status run_launcher(const LauncherOptions& options);

/// The same as an object, for tests of its parts.
class Launcher {
 public:
  explicit Launcher(LauncherOptions options) : options_(std::move(options)) {}
  base::Status open();
  void serve();

 private:
  // What is kept of a step while its shepherd lives.
  struct Sheep {
    uint32_t job = 0;
    uint32_t attempt = 0;
    std::string step;
    std::string kind;
    std::string group;
  };
  // A step whose shepherd died: its processes are being ended.
  struct Remnant {
    wire::ShepherdGone gone;
    std::unique_ptr<Containment> contain;  // may be none
    int64_t give_up_at = 0;
  };

  LauncherOptions options_;
  MpiProbe mpi_;
  proc::OwnedFd lock_;
  proc::OwnedFd listener_;
  proc::OwnedFd signals_;
  std::optional<Channel> daemon_;
  std::map<pid_t, Sheep> sheep_;
  std::vector<Remnant> remnants_;
  std::map<std::string, std::string> parents_;  // kind + parent group -> a group below it, to clean up at the end
  std::deque<std::string> unsent_;              // reports made while no daemon was connected
  bool leaving_ = false;
  bool is_lost_ = false;  // the folder of the socket was removed

  void poll_once();
  void look_for_folder();
  void on_connection();
  void on_signals();
  void on_frame(const std::string& payload);
  void on_launch(wire::LaunchStep launch);
  base::Result<pid_t> fork_shepherd(wire::StepSpec& spec);
  void reap();
  void on_gone(const Sheep& sheep, int status);
  void sweep();
  bool finish(Remnant& remnant, bool has_orphans);
  void report(const wire::FromLauncher& message);
  void clean_up();
};

}  // namespace gw::noded::step
