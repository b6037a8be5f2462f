// Where a private cluster keeps its things: folder D with gangway.yaml, log/, state/ and run, a link to a short runtime
// folder that holds sockets, pid files and what the jobs' users must reach.
// Invariants: the runtime folder is ours, of mode 0711, below /tmp, and has a path of at most 40 bytes, whatever D
// looks like: unix socket paths end at 108 bytes, and munged refuses a socket below a folder that others may not pass.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace gw::cmds {

struct DevLayout {
  std::string dir;      ///< D, absolute.
  std::string runtime;  ///< Where D/run leads; empty while there is none.
  std::string foreign;  ///< The same where it belongs to another user; then runtime is empty.
  uint32_t owner = 0;   ///< Whose `foreign` is.

  std::string config() const { return dir + "/gangway.yaml"; }
  /// Where config() leads while the cluster is up: other users may not pass D.
  std::string shared_config() const { return runtime + "/gangway.yaml"; }
  std::string log_dir() const { return dir + "/log"; }
  std::string state_dir() const { return dir + "/state"; }
  std::string run_link() const { return dir + "/run"; }
  std::string log_of(const std::string& daemon) const { return log_dir() + "/" + daemon + ".log"; }
  /// What a daemon says before it has opened its log.
  std::string output_of(const std::string& daemon) const { return log_dir() + "/" + daemon + ".out"; }
  std::string pid_of(const std::string& daemon) const { return runtime + "/" + daemon + ".pid"; }
  std::string command_of(const std::string& daemon) const { return runtime + "/" + daemon + ".cmd"; }
  /// Name of the cluster: of this runtime folder alone, since control groups carry it.
  std::string cluster() const { return "dev-" + runtime.substr(runtime.rfind('-') + 1); }
  std::string munge_socket() const { return runtime + "/munge.socket"; }
  std::string munge_key() const { return runtime + "/munge.key"; }
  /// Leads to a copy of the commands, where the jobs' users may not reach those that made the cluster.
  std::string programs_link() const { return runtime + "/programs"; }
  /// State folder of a node: below the runtime folder, since shepherds have sockets in it and jobs read scripts there.
  std::string node_dir(const std::string& node) const { return runtime + "/" + node; }
};

/// "munged", "gscriptd", "gctld", "gwebd", then "gnoded.NODE" of every node started so far: in the order of their
/// start, as their command files tell.
std::vector<std::string> dev_daemons(const DevLayout& layout);

/// The layout of `dir` (empty: the default folder); runtime is filled in if D/run leads to a folder of the user `self`,
/// foreign and owner if it leads to somebody else's. Errors: kDenied: we may not look into D.
base::Result<DevLayout> dev_layout(const std::string& dir, uint32_t self);
/// The same for the user that runs this program.
base::Result<DevLayout> dev_layout(const std::string& dir);

/// Says whose cluster `foreign` is; `hint` says what can be done.
base::Error foreign_cluster(const DevLayout& layout, std::string hint);

/// Makes D and what belongs into it, and a fresh runtime folder where there is none.
base::Status make_dev_folders(DevLayout& layout);

/// Removes the runtime folder and the link to it.
void remove_dev_runtime(DevLayout& layout);

/// Name of the i-th emulated node, and its address: 127.0.x.y, another one for each of 60,000 nodes.
std::string dev_node_name(uint32_t index);
std::string dev_node_address(uint32_t index);

}  // namespace gw::cmds
