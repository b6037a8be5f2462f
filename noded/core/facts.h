// What the agent knows about its node and about users: plain data, filled by the shell.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "wire/cluster.pb.h"

namespace gw::noded {

/// One run of a job on this node.
struct RunKey {
  uint32_t job = 0;
  uint32_t attempt = 0;
  auto operator<=>(const RunKey&) const = default;
  /// "7.1": the name of its record, its step folder and its containment group.
  std::string text() const { return std::to_string(job) + "." + std::to_string(attempt); }
};

/// In the step folder, by the shepherd: what a job that makes way for another is told.
constexpr char kPreemptFile[] = "preempted";
/// Likewise, by the node daemon: the nodes that an elastic gang has, one a line.
constexpr char kHostsFile[] = "nodes";

/// A user as the node's own user database knows it.
struct UserInfo {
  std::string name;
  uint32_t uid = 0;
  uint32_t gid = 0;
  std::vector<uint32_t> groups;
  std::string home;
  std::string shell;
};

/// The node as it is now; constant while the daemon runs.
struct NodeFacts {
  std::string name;
  std::string cluster;
  wire::NodeTopology topology;
  bool is_emulated = false;        ///< Its tree is not that of the machine: cpuset and devices are only recorded.
  bool own_host_name = false;      ///< Steps see the node's name and `hosts` (emulated nodes as root).
  std::vector<std::string> hosts;  ///< Lines for /etc/hosts.
  std::string containment;         ///< Plug-in name: "cgroup_v2", ..., "none".
  bool constrain_devices = false;  ///< The containment hides other GPUs.
  uint32_t max_processes = 0;      ///< Per run; 0: no limit.
  std::string steps_dir;           ///< Parent of the step folders.
  std::string config_path;         ///< For GANGWAY_CONF where the submission environment has none.
  std::string commands_dir;        ///< Put on PATH where the submission environment has none; may be empty.
};

}  // namespace gw::noded
