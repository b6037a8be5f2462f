// Nodes and partitions as the controller knows them.
// Invariant: a Node's `topology` is what the node itself reported; the configuration only constrains it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/bitset.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "model/qos.h"
#include "model/request.h"
#include "model/topology.h"

namespace gw::model {

/// What the administrator wants of a node.
enum class NodeAdmin : uint8_t { kUp, kDrain, kDown };

/// A node's part of the configuration.
struct NodeConfig {
  std::string name;
  std::string address;  ///< Where its connections come from; empty: any address.
  std::vector<std::string> features;
  uint32_t weight = 1;           ///< Lower is chosen first.
  uint32_t expected_gpus = 0;    ///< Fewer found: usable, with a warning. 0: whatever is found.
  uint64_t reserved_mem_mb = 0;  ///< Kept back for the system.
  uint32_t reserved_cores = 0;
  Gres gres = {};
  uint64_t tmp_mb = 0;   ///< The disk for temporary files; 0: nobody said.
  std::string topology;  ///< Emulated node: generated name or XML file; empty: the live machine.
  bool operator==(const NodeConfig&) const = default;
};

/// The machine that a node daemon runs on, and since when; all empty: the daemon is of an earlier version.
struct NodeHost {
  std::string os;    ///< "Linux 6.1.0-18-amd64 #1 SMP ..."
  std::string arch;  ///< "x86_64"
  base::Time booted;
  base::Time started;  ///< The daemon.
};

struct Node {
  base::NodeId id;
  NodeConfig config;
  std::shared_ptr<const NodeTopology> topology;  ///< Null until it registered for the first time.
  NodeAdmin admin = NodeAdmin::kUp;
  std::string reason;  ///< Of drain or down.
  uint32_t reason_uid = 0;
  std::string reason_user;
  base::Time reason_time;
  bool connected = false;
  base::Time last_seen;
  base::Time since;  ///< Of the present connection state.
  std::string boot_id;
  std::string version;
  std::string peer_address;
  std::string containment;  ///< "cgroup v2", "cgroup v1", "mixed", "none"
  bool is_emulated = false;
  std::map<uint32_t, std::string> offline_gpus;  ///< Index -> reason.
  std::string warning;                           ///< "7 of 8 GPUs found: ..."
  NodeHost host = {};
};

enum class PartitionState : uint8_t { kUp, kDown, kDrain, kInactive };
std::string_view name(PartitionState s);

/// Are running jobs moved so that one that is blocked can start? As they stand on disk: never renumbered.
enum class Consolidate : uint8_t { kDefault, kOn, kOff, kDryRun };
std::string_view name(Consolidate c);
/// default, on, off, dry_run; true and false are on and off.
base::Result<Consolidate> parse_consolidate(std::string_view text);

/// A pool of nodes with its rules.
struct Partition {
  std::string name;
  std::vector<std::string> nodes;  ///< Node names, expanded.
  PartitionState state = PartitionState::kUp;
  bool is_default = false;
  bool default_for_compute = false;  ///< Takes jobs that ask for GPUs and name no partition.
  bool default_for_aux = false;      ///< Takes the others.
  int32_t tier = 1;                  ///< Higher is served first.
  base::Duration default_time = base::kUnlimited;
  base::Duration max_time = base::kUnlimited;
  bool unlimited = false;  ///< Jobs may run without a time limit.
  uint32_t max_nodes = 0;  ///< Per job; 0: no limit.
  uint64_t default_mem_per_cpu_mb = 0;
  uint64_t default_mem_per_gpu_mb = 0;
  uint32_t default_cpus_per_gpu = 0;
  Fit fit = Fit::kDefault;          ///< kDefault: the scheduler's.
  uint32_t cores_per_gpu_kept = 1;  ///< Cores that jobs without GPUs leave to each free GPU; at most cores / GPUs - 1.
  bool allow_shared_gpus = false;   ///< Jobs may ask for parts of a GPU.
  /// Hundredths of its own rate that a job keeps at least beside others on a GPU, or they are parted; 0: they never
  /// are.
  uint32_t min_shared_rate = 0;
  bool share_suspended_gpus = false;                ///< Others may use the GPUs of a job that is suspended.
  Consolidate consolidate = Consolidate::kDefault;  ///< kDefault: the cluster's.
  std::string default_qos;                          ///< Of jobs that name none, of users who have none of their own.
  std::vector<std::string> allow_users, allow_groups, allow_qos, deny_users;  ///< Empty allow: everybody.
  bool exclusive = false;                                                     ///< Whole nodes only.
  base::Duration lease = {};            ///< Zero: none. A node cut off for so long ends its jobs itself.
  std::optional<base::Duration> grace;  ///< Of those that are preempted, unless their QOS says; nullopt: the cluster's.
  std::string order = {};  ///< Which of its jobs is next: name of an order plug-in; empty: the cluster's order.
  std::map<std::string, double> order_weights = {};  ///< Of that order; empty: its own, or the cluster's.
  std::optional<base::Duration> quantum = {};        ///< Of jobs that take turns; nullopt: the cluster's.
  std::string filter = {};  ///< Which nodes a job may go on: name of a filter plug-in; empty: all.
  std::map<std::string, double> filter_weights = {};  ///< Of that filter; empty: its own.
  bool operator==(const Partition&) const = default;
};

}  // namespace gw::model
