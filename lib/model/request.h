// What a job asks for (Request) and what it was given (Allocation): the scheduler's currency.
// Invariant: a Request that passed normalise() has min_nodes >= 1, min_nodes <= max_nodes, tasks >= 1 and exactly one
// way of counting GPUs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bitset.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "model/named_counts.h"
#include "model/version.h"

namespace gw::model {

/// How the number of GPUs in a request is meant.
enum class GpuCounting { kNone, kPerJob, kPerNode, kPerTask };

/// One alternative of a feature expression: all of these features.
using FeatureSet = std::vector<std::string>;

/// How close together a job's resources are, tightest first (design section 5). kGpu to kNode hold for each node's part
/// of a gang: one GPU, all pairs linked, one PCIe switch, one NUMA node, one node; the wider ones for the whole gang.
enum class Locality : uint8_t { kGpu, kNvlink, kPcie, kNuma, kNode, kLeaf, kBlock, kAny };
constexpr int kLocalityCount = 8;
/// "nvlink"
std::string_view name(Locality level);
/// Errors: not a level, with "did you mean".
base::Result<Locality> parse_locality_level(std::string_view text);

/// Hold out for `level` until `wait` has passed since the job could first start; then the next step counts.
struct LocalityStep {
  Locality level = Locality::kAny;
  base::Duration wait = base::kUnlimited;
  bool operator==(const LocalityStep&) const = default;
};
/// Reads `LEVEL[@WAIT][,LEVEL[@WAIT]...]`; each level must be wider than the one before. Without WAIT a level that is
/// not the last is only a wish (zero), the last one holds for ever. A WAIT on the last level means that after it
/// anything goes. Errors: syntax, unknown level, order, levels after an endless wait.
base::Result<std::vector<LocalityStep>> parse_locality(std::string_view text);
std::string format_locality(const std::vector<LocalityStep>& steps);

/// Which of the nodes that would do is taken: the fullest, the emptiest, or one after the other all round.
enum class Fit : uint8_t { kDefault, kBest, kWorst, kSpread };
std::string_view name(Fit fit);
base::Result<Fit> parse_fit(std::string_view text);

/// Thousandths: what a whole GPU counts.
constexpr uint32_t kWholeGpu = 1000;

/// One node's share of an allocation.
struct NodeShare {
  base::NodeId node;
  std::string name;
  uint32_t tasks = 0;
  uint32_t cpus = 0;  ///< Hardware threads in `cores`.
  base::IndexSet cores;
  base::IndexSet gpus;
  uint32_t gpu_milli = kWholeGpu;  ///< Of each GPU in `gpus`; less than kWholeGpu: shared with other jobs.
  uint64_t mem_mb = 0;
  Gres gres = {};
  bool operator==(const NodeShare&) const = default;
};

/// The resources of one job. Zero in an optional number means "not given".
struct Request {
  uint32_t min_nodes = 1;
  uint32_t max_nodes = 1;
  uint32_t tasks = 1;
  uint32_t tasks_per_node = 0;   ///< At most (with -n) or exactly (without -n) so many tasks on a node.
  uint32_t cpus_per_task = 1;    ///< Hardware threads; whole cores are given.
  uint64_t mem_per_node_mb = 0;  ///< --mem; 0 with mem_all means all memory of the node.
  uint64_t mem_per_cpu_mb = 0;
  bool mem_all = false;          ///< --mem=0
  uint32_t sockets = 0;          ///< -B: nodes with as many sockets at least; 0: not given, here and below.
  uint32_t socket_cores = 0;     ///< Cores of each.
  uint32_t core_threads = 0;     ///< Threads of each core.
  uint64_t tmp_mb = 0;           ///< --tmp: of the disk for temporary files, which is not given out; 0: not given.
  bool mem_none = false;         ///< Takes no memory at all; from scenario files and traces only.
  uint64_t mem_per_task_mb = 0;  ///< Likewise.
  GpuCounting gpu_counting = GpuCounting::kNone;
  uint32_t gpus = 0;                   ///< Counted as gpu_counting says.
  std::string gpu_type;                ///< Empty: any type.
  Gres gres = {};                      ///< Of each node.
  std::vector<FeatureSet> features;    ///< Any of these sets; empty: no constraint.
  std::vector<std::string> nodelist;   ///< Must include these nodes (-w).
  std::vector<std::string> exclude;    ///< Must not use these nodes (-x).
  uint32_t gpu_milli = kWholeGpu;      ///< Thousandths of each GPU; less than a whole one only for one GPU on one node.
  uint32_t cpus_per_gpu = 0;           ///< --cpus-per-gpu; 0: not given.
  uint32_t min_cpus = 0;               ///< --mincpus: on each node at least; 0: not given.
  bool whole_cores = false;            ///< --hint=nomultithread: each CPU asked for is a core, whatever its threads.
  bool overcommit = false;             ///< A core on each node is enough, however many tasks.
  bool cpus_by_gpus = false;           ///< Neither -c nor --cpus-per-gpu: with GPUs at least their part of the cores.
  uint64_t mem_per_gpu_mb = 0;         ///< --mem-per-gpu; 0: not given.
  std::vector<LocalityStep> locality;  ///< Empty: the tightest that is available, without waiting.
  uint32_t max_switches = 0;           ///< --switches=N: at most so many leaf switches; 0: not given.
  base::Duration switches_wait = base::kUnlimited;  ///< --switches=N@T: give up the wish after T.
  uint32_t segment = 0;     ///< --segment=N: nodes in groups of N, each group within one block; 0: not given.
  bool contiguous = false;  ///< Its nodes are neighbours in the partition's order, which is that of the network.
  Fit fit = Fit::kDefault;  ///< kDefault: the partition's.
  bool exclusive = false;
  bool nodes_given = false;  ///< -N was given: the gang is exactly that many nodes, not as few as hold the tasks.
  bool tasks_given = false;  ///< -n was given.
  /// Of an elastic gang: it runs with any number of tasks from this to `tasks`. 0: with -N MIN-MAX from MIN to MAX
  /// nodes if `elastic`, else the gang is whole or does not run.
  uint32_t min_tasks = 0;
  bool elastic = false;  ///< --elastic: grows and shrinks while it runs.
  /// Of the node daemon, so that it understands all that the job says of itself. Worked out, never asked for.
  Version least_version = 0;
  /// Of a suspended job: what it needs to resume, there and nowhere else. Empty: wherever the rest is met.
  std::vector<NodeShare> exactly;
  /// Of a part of a GPU: of one that nobody else has a part of. Worked out, never asked for (Progress::needs_own_gpu).
  bool own_gpu = false;
  /// --ntasks-per-socket: on a node at most so many tasks have cores of one socket, each whole cores and all of its own
  /// there; 0: not given.
  uint32_t tasks_per_socket = 0;
  bool operator==(const Request&) const = default;
};

/// Reads `ib&nvlink|pcie` (& binds tighter than |, parentheses as in `(a|b)&c` too) into alternatives. Errors: syntax.
base::Result<std::vector<FeatureSet>> parse_features(const std::string& text);
std::string format_features(const std::vector<FeatureSet>& features);
/// Derives what follows from what was given (tasks from nodes x tasks_per_node, nodes from tasks / tasks_per_node, ...)
/// and refuses contradictions, naming the options. Names that stand twice go.
base::Status normalise(Request& r);
/// GPUs that the whole job gets when it runs on `nodes` nodes.
uint32_t total_gpus(const Request& r, uint32_t nodes);

/// Tasks of an elastic gang at its largest; of another gang: its tasks.
uint32_t most_tasks(const Request& r);
/// The request of an elastic gang at its smallest: what has to be free for it to start. Another one: itself.
Request least_of(const Request& r);
/// What an elastic gang asks for in order to grow by a node's worth: `tasks` tasks on one node. Where -n was not given
/// the tasks are those of each node, whatever is asked.
Request growth_of(const Request& r, uint32_t tasks);

/// What a gang holds. The first share is where the batch script runs.
struct Allocation {
  std::vector<NodeShare> shares;
  bool operator==(const Allocation&) const = default;
  uint32_t total_cpus() const;
  uint32_t total_gpus() const;
  uint32_t total_tasks() const;
  uint64_t total_gpu_milli() const;  ///< Thousandths of GPUs, parts of shared ones included.
  std::vector<std::string> node_names() const;
};

/// What is kept for a component of a heterogeneous job.
struct KeptPlace {
  std::string partition;
  Allocation allocation;
  bool operator==(const KeptPlace&) const = default;
};

}  // namespace gw::model
