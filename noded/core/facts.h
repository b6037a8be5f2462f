// What the agent knows about its node and about users: plain data, filled by the shell.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "wire/cluster.pb.h"

namespace gw::noded {

/// One run on this node: of a job, or of one of its steps, which lies within the job's.
struct RunKey {
  uint32_t job = 0;
  uint32_t attempt = 0;
  uint32_t step = 0;  ///< 0: the job's own run; else the number of the step + 1, as in the messages.
  auto operator<=>(const RunKey&) const = default;
  bool is_step() const { return step != 0; }
  RunKey own() const { return {job, attempt, 0}; }
  bool is_step_of(RunKey other) const { return is_step() && !other.is_step() && own() == other; }
  /// "7.1", of a step "7.1.s0": the name of its record and its step folder.
  std::string text() const {
    const std::string run = std::to_string(job) + "." + std::to_string(attempt);
    return is_step() ? run + ".s" + step_name() : run;
  }
  /// Of a step, as launcher and shepherd call it: its number.
  std::string step_name() const { return is_step() ? std::to_string(step - 1) : "batch"; }
  /// From a message or record about a run.
  template <typename Message>
  static RunKey of(const Message& m) {
    return {m.job(), m.attempt(), m.step()};
  }
};

/// In the step folder, by the shepherd: what a preempted job is told.
constexpr char kPreemptFile[] = "preempted";
/// Likewise, by the node daemon: the nodes that an elastic gang has, one a line.
constexpr char kHostsFile[] = "nodes";

/// What an administrator has run on the node for each job.
enum class NodeProgram : uint8_t { kProlog, kEpilog };
constexpr const char* name(NodeProgram which) { return which == NodeProgram::kProlog ? "prolog" : "epilog"; }

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
  std::string listen_host = "*";   ///< Where shepherds of steps listen; "*": at all addresses of the machine.
  std::string step_ports;          ///< "FIRST-LAST", of those; empty: any.
  std::string own_address;         ///< By which other hosts reach this one; empty: the one that its link comes from.
  std::string commands_dir;        ///< Where gbatch and the others are: on every job's PATH; may be empty.
  std::string slurm_commands_dir;  ///< The same for sbatch: on PATH of jobs submitted by that name; may be empty.
  std::vector<std::string> slurm_commands;          ///< What is there, by name.
  std::string prolog, epilog;                       ///< Paths; empty: none.
  std::string task_prolog, task_epilog;             ///< Run as the user around each task. Paths; empty: none.
  base::Duration program_limit = base::minutes(5);  ///< How long each of these may run.
  bool has_login_file = false;                      ///< /etc/profile.d/gangway_jobs.sh is installed.
};

}  // namespace gw::noded
