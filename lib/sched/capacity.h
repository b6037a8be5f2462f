// The ledger of what every node has and what is given away: the one place where resources are counted. The scheduler
// plans on its own copy, the controller checks each decision against its own; both are fed by the same deltas.
// Invariants: a core or GPU is held by at most one job (holders are disjoint and equal total minus free); memory held
// never exceeds the total; a share is released once, by job and node.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "model/cluster.h"
#include "model/request.h"

namespace gw::sched {

using base::JobId;
using base::NodeId;

/// What the scheduler knows of a node. `topology` is null until the node has registered once.
struct NodeFacts {
  NodeId id;
  std::string name;
  std::shared_ptr<const model::NodeTopology> topology;
  std::vector<std::string> features;
  uint32_t weight = 1;
  base::IndexSet cores;      ///< Given to jobs at all (without reserved ones).
  base::IndexSet gpus;       ///< Without those that are offline.
  uint64_t mem_mb = 0;       ///< Without what is reserved.
  bool usable = false;       ///< Connected, up, not draining.
  std::string unusable_why;  ///< "drained: disk", "not responding", "down"; empty if usable.
};

struct PartitionFacts {
  std::string name;
  std::vector<std::string> nodes;
  bool is_up = true;  ///< Starts jobs.
  int32_t tier = 1;
  uint32_t max_nodes = 0;
  base::Duration max_time = base::kUnlimited;
  bool exclusive = false;
  uint64_t default_mem_per_cpu_mb = 0;
  uint64_t default_mem_per_gpu_mb = 0;
  uint32_t default_cpus_per_gpu = 0;
};

/// A node with its account.
struct NodeAccount {
  NodeFacts facts;
  base::IndexSet free_cores;
  base::IndexSet free_gpus;
  uint64_t held_mem_mb = 0;  ///< May exceed the total after the node shrank.
  uint32_t jobs = 0;

  uint32_t threads() const { return facts.topology ? facts.topology->threads_per_core() : 1; }
  uint64_t free_mem_mb() const { return facts.mem_mb > held_mem_mb ? facts.mem_mb - held_mem_mb : 0; }
  bool is_idle() const { return jobs == 0; }
};

/// What a running job holds, as far as the ledger cares.
struct Holding {
  std::string partition;
  model::Allocation allocation;  ///< Shares not yet released.
  base::Time started;
  base::Time expected_end;  ///< Time::never() without a limit.
};

class Capacity {
 public:
  void set_node(const NodeFacts& facts);
  void remove_node(NodeId id);
  void set_partition(const PartitionFacts& facts);
  void remove_partition(const std::string& name);
  /// Errors: unknown node, a resource that is not free; then nothing was changed. `forced` also takes what the node
  /// does not offer any more (offline GPU, drained node) but is not held by anybody: for recovery.
  base::Status allocate(JobId job, const std::string& partition, const model::Allocation& allocation,
                        base::Time started, base::Time expected_end, bool forced = false);
  /// Gives one node's share back. Unknown job or node: nothing happens.
  void release(JobId job, NodeId node);
  /// Gives all shares back that are left.
  void release_all(JobId job);

  const NodeAccount* node(NodeId id) const;
  const NodeAccount* node(const std::string& name) const;
  NodeId id_of(const std::string& name) const;
  const std::map<NodeId, NodeAccount>& nodes() const { return nodes_; }
  const PartitionFacts* partition(const std::string& name) const;
  /// Accounts of the partition's nodes that exist, in the order configured.
  const std::vector<NodeId>& partition_nodes(const std::string& name) const;
  const std::map<std::string, PartitionFacts>& partitions() const { return partitions_; }
  const std::unordered_map<JobId, Holding>& holdings() const { return holdings_; }
  /// Verifies the invariants of this file; the error names the first fault. For tests and snapshots.
  base::Status audit() const;

 private:
  std::map<NodeId, NodeAccount> nodes_;
  std::unordered_map<std::string, NodeId> ids_;
  std::map<std::string, PartitionFacts> partitions_;
  std::map<std::string, std::vector<NodeId>> members_;
  std::unordered_map<JobId, Holding> holdings_;

  void rebuild_members(const std::string& partition);
  void recount(NodeAccount& account);
};

}  // namespace gw::sched
