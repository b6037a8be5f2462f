// The ledger of what every node has and what is given away: the one place where resources are counted. The scheduler
// plans on its own copy, the controller checks each decision against its own; both are fed by the same deltas.
// Invariants: a core or a whole GPU is held by at most one job, the parts of a shared GPU add up to at most a whole
// one; memory held never exceeds the total; a share is released once, by job and node; the index of each partition
// shows the accounts as they are.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "model/cluster.h"
#include "model/network.h"
#include "model/request.h"
#include "sched/ledger/free_resources.h"
#include "sched/ledger/gains.h"
#include "sched/policy/filter_policy.h"

namespace gw::sched {

using base::JobId;
using base::NodeId;

class NodeIndex;
class UnitTable;

/// What the scheduler knows of a node. `topology` is null until the node has registered once.
struct NodeFacts {
  NodeId id;
  std::string name;
  std::shared_ptr<const model::NodeTopology> topology;
  std::vector<std::string> features;
  uint32_t weight = 1;
  base::IndexSet cores;        ///< Given to jobs at all (without reserved ones).
  base::IndexSet gpus;         ///< Without those that are offline.
  uint64_t mem_mb = 0;         ///< Without what is reserved.
  model::Version version = 0;  ///< Of its node daemon; 0: not known, and nothing is ruled out by it.
  bool usable = false;         ///< Connected, up, not draining.
  std::string unusable_why;    ///< "drained: disk", "not responding", "down"; empty if usable.
  model::Gres gres = {};
  uint64_t tmp_mb = 0;  ///< Of the disk for temporary files.
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
  uint32_t cores_per_gpu_kept = 0;  ///< Cores kept back for each free GPU, at most cores / GPUs - 1.
  bool allow_shared_gpus = false;
  uint32_t min_shared_rate = 0;           ///< Hundredths of its own rate that a job keeps beside others on a GPU.
  bool share_suspended_gpus = false;      ///< Others may use the GPUs of a job that is suspended.
  model::Fit fit = model::Fit::kDefault;  ///< kDefault: the policy's.
  /// Jobs are moved so that one that is blocked can start; kDefault: they are not.
  model::Consolidate consolidate = model::Consolidate::kDefault;
  std::optional<base::Duration> grace;  ///< Of jobs that are preempted, unless their QOS says; nullopt: the policy's.
  /// So long a job runs at least before it yields to another by turns; nullopt: the policy's.
  std::optional<base::Duration> quantum = {};
  ChosenFilter filter = {};  ///< Which of its nodes a job may go on, beyond what it asks for.
};

/// What the scheduler knows of a partition, but for its filter. A draining one still starts what it has; an inactive or
/// down one does not.
PartitionFacts facts_of(const model::Partition& p);

/// What the cluster has, for relating a job's size to it.
struct ClusterSize {
  uint64_t cpus = 0, gpus = 0, nodes = 0;
};

/// All nodes that are alike in everything that does not change with use.
struct NodeClass {
  uint32_t id = 0;
  std::shared_ptr<UnitTable> units;  ///< Null until the node has registered.
  uint32_t threads = 1;
  uint32_t cores = 0;                                  ///< Given to jobs.
  uint32_t gpus = 0;                                   ///< Online.
  uint32_t all_gpus = 0;                               ///< With those offline.
  std::map<std::string, base::IndexSet> gpus_by_type;  ///< Online or not.
};

/// One job's share of a node, and until when.
struct Occupant {
  JobId job;
  base::Time end;  ///< Time::never() without a limit.
  base::IndexSet cores;
  base::IndexSet gpus;
  uint32_t gpu_milli = model::kWholeGpu;
  uint64_t mem_mb = 0;
  model::Gres gres = {};
  bool own_gpu = false;  ///< What it leaves of a GPU nobody else gets.
};

/// A node with its account.
struct NodeAccount {
  NodeFacts facts;
  std::shared_ptr<const NodeClass> node_class;
  FreeResources free;        ///< What nobody holds, of what the node offers now.
  uint64_t held_mem_mb = 0;  ///< May exceed the total after the node shrank.
  std::vector<Occupant> occupants;

  uint32_t threads() const { return node_class->threads; }
  uint64_t free_mem_mb() const { return free.mem_mb; }
  bool is_idle() const { return occupants.empty(); }
  uint32_t jobs() const { return static_cast<uint32_t>(occupants.size()); }
};

/// What a running job holds, as far as the ledger cares.
struct Holding {
  std::string partition;
  std::vector<NodeId> nodes;  ///< Those whose share is not yet released.
  base::Time started;
  base::Time expected_end;  ///< Time::never() without a limit.
  bool own_gpu = false;     ///< As Occupant's.
};

class Capacity {
 public:
  Capacity();
  ~Capacity();
  Capacity(Capacity&&) noexcept;
  Capacity& operator=(Capacity&&) noexcept;

  /// The same ledger once more, for a trial that must not touch this one. In proportion to nodes and jobs.
  Capacity copy() const;

  void set_node(const NodeFacts& facts);
  void remove_node(NodeId id);
  void set_partition(const PartitionFacts& facts);
  void remove_partition(const std::string& name);
  void set_network(const model::Network& network);
  /// Errors: unknown node, a resource that is not free; then nothing was changed. `forced` takes what is held
  /// already, whatever the node offers now (offline GPU, drained node); that nobody else holds it the caller knows.
  base::Status allocate(JobId job, const std::string& partition, const model::Allocation& allocation,
                        base::Time started, base::Time expected_end, bool forced = false);
  /// Gives one node's share back. Unknown job or node: nothing happens.
  void release(JobId job, NodeId node);
  /// Gives all shares back that are left.
  void release_all(JobId job);
  /// The job will end at `when`. Unknown job: nothing happens.
  void set_expected_end(JobId job, base::Time when);

  /// From now on nobody gets what the job leaves of a GPU; who has a part of it already keeps that. Unknown job:
  /// nothing happens.
  void set_own_gpu(JobId job);

  /// Is all of it free? The error says what is not.
  base::Status check_free(const model::NodeShare& share) const;
  /// Would it be, once those who leave are gone? `wholly`: with nobody else on the node.
  base::Status check_free_without(const model::NodeShare& share, const std::function<bool(JobId)>& leaves,
                                  bool wholly) const;
  /// What would be free on a node once those have left it. Costs a step for each job there.
  static FreeResources free_without(const NodeAccount& account, const std::function<bool(JobId)>& leaves);
  const NodeAccount* node(NodeId id) const;
  const NodeAccount* node(const std::string& name) const;
  NodeId id_of(const std::string& name) const;
  const PartitionFacts* partition(const std::string& name) const;
  /// Accounts of the partition's nodes that exist, in the order configured.
  const std::vector<NodeId>& partition_nodes(const std::string& name) const;
  const std::map<std::string, PartitionFacts>& partitions() const { return partitions_; }
  /// The partition's nodes grouped by what is free on them. Null: unknown partition.
  const NodeIndex* index(const std::string& partition) const;
  const std::unordered_map<JobId, Holding>& holdings() const { return holdings_; }
  /// What a job still holds of a node; without the tasks on it.
  std::optional<model::NodeShare> share_of(JobId job, NodeId node) const;
  /// What a job still holds; without the tasks on it.
  model::Allocation allocation_of(JobId job) const;
  /// What there is in all, usable or not.
  const ClusterSize& size() const { return size_; }
  /// Jobs whose end can be foreseen.
  size_t jobs_with_end() const { return jobs_with_end_; }
  /// Where something became free.
  const Gains& gains() const { return gains_; }
  /// After a trial: what it gave back had never been taken.
  void restore_gains(Gains gains) { gains_ = std::move(gains); }
  const model::Network& network() const { return network_; }
  /// Changes with every change of a node's account; by node id, up to the highest that there ever was.
  const std::vector<uint64_t>& versions() const { return versions_; }
  /// Verifies the invariants of this file; the error names the first fault. For tests and snapshots.
  base::Status audit() const;

 private:
  std::vector<std::unique_ptr<NodeAccount>> nodes_;  // by id; null: none
  std::unordered_map<std::string, NodeId> ids_;
  std::map<std::string, PartitionFacts> partitions_;
  std::map<std::string, std::vector<NodeId>> members_;
  std::map<std::string, std::unique_ptr<NodeIndex>> indexes_;
  std::vector<std::vector<NodeIndex*>> indexes_of_;  // by node id
  std::unordered_map<std::string, std::shared_ptr<const NodeClass>> classes_;
  std::unordered_map<JobId, Holding> holdings_;
  model::Network network_;
  ClusterSize size_;
  size_t jobs_with_end_ = 0;
  std::vector<uint64_t> versions_;  // by node id
  uint64_t version_ = 0;
  Gains gains_;
  uint32_t next_class_ = 0;

  NodeAccount* find(NodeId id);
  void count_size(const NodeAccount& account, int64_t sign);
  std::shared_ptr<const NodeClass> class_of(const NodeFacts& facts);
  void rebuild_members(const std::string& partition);
  /// Works out what is free from facts and occupants, and tells the indexes.
  void recount(NodeAccount& account);
};

}  // namespace gw::sched
