// Requests: what follows from the options given, and which of them contradict each other.
// Invariant: normalise() derives only from what was given, so that doing it twice changes nothing.
#include "model/request.h"

#include <algorithm>
#include <set>
#include <unordered_set>

#include "base/text.h"
#include "model/sentences.h"

namespace gw::model {
namespace {

using base::invalid;

constexpr uint64_t kMaxNodes = 1'000'000;
constexpr uint64_t kMaxTasks = 100'000'000;
constexpr uint64_t kMaxCpusPerTask = 65'536;
constexpr uint64_t kMaxGpus = 10'000'000;
constexpr uint64_t kMaxMemMb = uint64_t{1} << 40;

std::string n(uint64_t value) { return std::to_string(value); }

base::Status in_range(uint64_t value, uint64_t low, uint64_t high, const char* option) {
  if (value >= low && value <= high) return {};
  const auto refused =
      invalid(std::string(option) + ": " + n(value) + " is out of range", "from " + n(low) + " to " + n(high));
  const std::string_view name = option;
  if (name.starts_with("-N/")) return base::with_sentence(refused, kNodeCountSentence);
  const bool is_of_cpus = name.find("cpu") != std::string_view::npos || name.starts_with("-n/");
  return is_of_cpus && !name.starts_with("--mem") ? base::with_sentence(refused, kCpuCountSentence) : refused;
}

void drop_names_twice(Request& r) {
  base::drop_duplicates(r.nodelist);
  base::drop_duplicates(r.exclude);
  std::set<FeatureSet> seen;
  for (FeatureSet& set : r.features) base::drop_duplicates(set);
  std::erase_if(r.features, [&seen](const FeatureSet& set) { return !seen.insert(set).second; });
}

base::Status check_memory(const Request& r) {
  GW_TRY_STATUS(in_range(r.mem_per_node_mb, 0, kMaxMemMb, "--mem"));
  GW_TRY_STATUS(in_range(r.mem_per_cpu_mb, 0, kMaxMemMb, "--mem-per-cpu"));
  GW_TRY_STATUS(in_range(r.mem_per_gpu_mb, 0, kMaxMemMb, "--mem-per-gpu"));
  const bool per_node = r.mem_per_node_mb != 0 || r.mem_all;
  if (per_node + (r.mem_per_cpu_mb != 0) + (r.mem_per_gpu_mb != 0) > 1)
    return invalid("--mem, --mem-per-cpu and --mem-per-gpu are mutually exclusive");
  return {};
}

/// What parse_locality() ensures: requests come from elsewhere too.
base::Status check_locality(const Request& r) {
  for (size_t i = 0; i < r.locality.size(); ++i) {
    const LocalityStep& step = r.locality[i];
    if (i > 0 && step.level <= r.locality[i - 1].level)
      return invalid("--locality: level " + std::string(name(step.level)) + " is not wider than the one before it");
    if (step.wait.us < 0 || (step.wait == base::kUnlimited && i + 1 < r.locality.size()))
      return invalid("--locality: the wait for level " + std::string(name(step.level)) + " is no length of time");
  }
  if (r.switches_wait.us < 0) return invalid("--switches: the wait is no length of time");
  return {};
}

base::Status check_ranges(const Request& r) {
  if (r.nodes_given) {
    GW_TRY_STATUS(in_range(r.min_nodes, 1, kMaxNodes, "-N/--nodes"));
    GW_TRY_STATUS(in_range(r.max_nodes, 1, kMaxNodes, "-N/--nodes"));
    if (r.max_nodes < r.min_nodes)
      return invalid("-N/--nodes: the most nodes (" + n(r.max_nodes) + ") are fewer than the least (" + n(r.min_nodes) +
                     ")");
  }
  if (r.tasks_given) GW_TRY_STATUS(in_range(r.tasks, 1, kMaxTasks, "-n/--ntasks"));
  GW_TRY_STATUS(in_range(r.tasks_per_node, 0, kMaxTasks, "--ntasks-per-node"));
  GW_TRY_STATUS(in_range(r.cpus_per_task, 0, kMaxCpusPerTask, "-c/--cpus-per-task"));
  GW_TRY_STATUS(in_range(r.cpus_per_gpu, 0, kMaxCpusPerTask, "--cpus-per-gpu"));
  GW_TRY_STATUS(in_range(r.min_cpus, 0, kMaxCpusPerTask, "--mincpus"));
  GW_TRY_STATUS(in_range(r.max_switches, 0, kMaxNodes, "--switches"));
  GW_TRY_STATUS(in_range(r.segment, 0, kMaxNodes, "--segment"));
  GW_TRY_STATUS(check_memory(r));
  return check_locality(r);
}

base::Status check_gpus(Request& r) {
  GW_TRY_STATUS(in_range(r.gpu_milli, 1, kWholeGpu, "thousandths of a GPU (shards)"));
  if (r.gpu_counting == GpuCounting::kNone) {
    if (r.gpus != 0 || !r.gpu_type.empty()) return invalid("GPUs are asked for without a way of counting them");
    if (r.cpus_per_gpu != 0) return invalid("--cpus-per-gpu is given, but no GPUs are asked for");
    if (r.mem_per_gpu_mb != 0) return invalid("--mem-per-gpu is given, but no GPUs are asked for");
    if (r.gpu_milli != kWholeGpu) return invalid("a part of a GPU is asked for, but no GPU");
    r.cpus_by_gpus = false;
    return {};
  }
  if (r.gpus == 0) {  // --gpus=0 asks for none
    r.gpu_counting = GpuCounting::kNone;
    r.gpu_type.clear();
    r.gpu_milli = kWholeGpu;
    r.cpus_per_gpu = 0;
    r.cpus_by_gpus = false;
    r.mem_per_gpu_mb = 0;
    return {};
  }
  r.cpus_by_gpus = r.cpus_by_gpus && r.cpus_per_gpu == 0 && r.cpus_per_task <= 1;
  if (r.cpus_per_gpu != 0 && r.cpus_per_task > 1)
    return invalid("-c/--cpus-per-task and --cpus-per-gpu are mutually exclusive");
  return in_range(r.gpus, 1, kMaxGpus, "number of GPUs");
}

/// A part of a GPU is of one GPU on one node: the tasks, however many, all share it.
base::Status check_shared_gpu(Request& r) {
  if (r.gpu_milli == kWholeGpu) return {};
  const std::string part = n(r.gpu_milli) + " thousandths of a GPU";
  if (r.gpus != 1 || (r.gpu_counting == GpuCounting::kPerTask && r.tasks != 1))
    return invalid(part + " are asked for of more than one GPU", "a job has a part of one GPU, or whole GPUs");
  if (r.min_nodes != 1 || (r.nodes_given && r.max_nodes != 1))
    return invalid(part + " are asked for on more than one node", "a job that shares a GPU runs on one node");
  if (r.exclusive)
    return invalid("--exclusive contradicts a part of a GPU", "an exclusive job has its GPUs to itself: ask for one");
  r.max_nodes = 1;
  return {};
}

/// Narrows the number of nodes to multiples of --segment.
base::Status apply_segment(Request& r) {
  if (r.segment == 0) return {};
  const uint64_t least = (uint64_t{r.min_nodes} + r.segment - 1) / r.segment * r.segment;
  const uint64_t most = r.max_nodes / r.segment * r.segment;
  if (least > most)
    return invalid("--segment=" + n(r.segment) + " does not divide the number of nodes (" + n(r.min_nodes) +
                   (r.min_nodes == r.max_nodes ? "" : "-" + n(r.max_nodes)) + ")");
  r.min_nodes = static_cast<uint32_t>(least);
  r.max_nodes = static_cast<uint32_t>(most);
  return {};
}

/// Nodes that -w names but -x forbids, or more than the gang may have.
base::Status check_node_lists(const Request& r) {
  const std::unordered_set<std::string_view> excluded(r.exclude.begin(), r.exclude.end());
  for (const std::string& node : r.nodelist)
    if (excluded.contains(node))
      return invalid("node " + base::printable(node) + " is both in -w/--nodelist and in -x/--exclude");
  if (r.nodes_given && r.nodelist.size() > r.max_nodes)
    return invalid("-w/--nodelist names " + n(r.nodelist.size()) + " nodes, but -N/--nodes allows " + n(r.max_nodes));
  return {};
}

base::Status derive_with_nodes(Request& r) {
  const uint64_t per_node = r.tasks_per_node;
  if (!r.tasks_given) {
    const uint64_t tasks = uint64_t{r.min_nodes} * std::max<uint64_t>(per_node, 1);
    GW_TRY_STATUS(in_range(tasks, 1, kMaxTasks, "-N/--nodes x --ntasks-per-node"));
    r.tasks = static_cast<uint32_t>(tasks);
    return {};
  }
  if (r.tasks < r.min_nodes)
    return invalid("-n/--ntasks=" + n(r.tasks) + " is fewer than one task for each of " + n(r.min_nodes) + " nodes");
  if (per_node != 0 && uint64_t{r.max_nodes} * per_node < r.tasks)
    return invalid("-n/--ntasks=" + n(r.tasks) + " does not fit " + n(r.max_nodes) +
                   " nodes with --ntasks-per-node=" + n(per_node));
  if (per_node != 0) r.min_nodes = std::max(r.min_nodes, static_cast<uint32_t>((r.tasks + per_node - 1) / per_node));
  return {};
}

base::Status derive_without_nodes(Request& r) {
  const uint64_t per_node = r.tasks_per_node;
  const uint64_t named = std::max<uint64_t>(r.nodelist.size(), 1);
  if (!r.tasks_given) {
    const uint64_t tasks = named * std::max<uint64_t>(per_node, 1);
    GW_TRY_STATUS(in_range(tasks, 1, kMaxTasks, "-w/--nodelist x --ntasks-per-node"));
    r.tasks = static_cast<uint32_t>(tasks);
    r.min_nodes = r.max_nodes = static_cast<uint32_t>(named);
    return {};
  }
  if (r.tasks < named)
    return invalid("-n/--ntasks=" + n(r.tasks) + " is fewer than one task for each of the " + n(named) +
                   " nodes of -w/--nodelist");
  const uint64_t least = per_node == 0 ? 1 : (r.tasks + per_node - 1) / per_node;
  const uint64_t most = std::min<uint64_t>(r.tasks, kMaxNodes);
  if (least > kMaxNodes) return invalid("-n/--ntasks=" + n(r.tasks) + " needs " + n(least) + " nodes");
  r.min_nodes = static_cast<uint32_t>(std::max(least, named));
  r.max_nodes = static_cast<uint32_t>(std::max<uint64_t>(most, r.min_nodes));
  return {};
}

/// What the whole job would have.
base::Status check_totals(const Request& r) {
  if (r.gpu_counting == GpuCounting::kPerJob && r.nodes_given && r.gpus < r.min_nodes)
    return invalid("--gpus=" + n(r.gpus) + " is fewer than one GPU for each of " + n(r.min_nodes) + " nodes",
                   "ask for fewer nodes, or use --gpus-per-node");
  if (uint64_t{r.tasks} * r.cpus_per_task > UINT32_MAX)
    return base::with_sentence(invalid("-n/--ntasks=" + n(r.tasks) + " with -c/--cpus-per-task=" + n(r.cpus_per_task) +
                                       " asks for too many CPUs"),
                               kCpuCountSentence);
  const uint64_t units = r.gpu_counting == GpuCounting::kPerTask   ? r.tasks
                         : r.gpu_counting == GpuCounting::kPerNode ? r.max_nodes
                                                                   : 1;
  const uint64_t gpus = uint64_t{r.gpus} * units;
  GW_TRY_STATUS(in_range(gpus, 0, kMaxGpus, "number of GPUs of the whole job"));
  if (gpus * r.cpus_per_gpu > UINT32_MAX)
    return invalid("--cpus-per-gpu=" + n(r.cpus_per_gpu) + " with " + n(gpus) + " GPUs asks for too many CPUs");
  return {};
}

base::Status check_elastic(Request& r) {
  if (r.min_tasks > 0) r.elastic = true;
  if (!r.elastic) return {};
  if (r.tasks_given && r.nodes_given)
    return invalid("--elastic takes -N/--nodes=MIN-MAX, or -n/--ntasks and --min-tasks, not both");
  if (r.nodes_given && r.min_tasks > 0) return invalid("--min-tasks needs -n/--ntasks, the most tasks");
  if (r.nodes_given && r.min_nodes == r.max_nodes)
    return invalid("--elastic: -N/--nodes=" + n(r.min_nodes) + " is one size only", "give a range: -N 2-8");
  if (!r.nodes_given && (!r.tasks_given || r.min_tasks == 0))
    return invalid("--elastic: between which sizes?", "give -N MIN-MAX, or -n MOST and --min-tasks=LEAST");
  if (!r.nodes_given && r.min_tasks >= r.tasks)
    return invalid("--min-tasks=" + n(r.min_tasks) + " is not below -n/--ntasks=" + n(r.tasks));
  if (r.gpu_counting == GpuCounting::kPerJob)
    return invalid("--gpus counts those of the whole job, which an elastic gang has no fixed number of",
                   "use --gpus-per-task or --gpus-per-node");
  if (r.gpu_milli != kWholeGpu) return invalid("a job that shares a GPU cannot be elastic");
  if (r.segment > 0 || r.max_switches > 0 || r.contiguous)
    return invalid(
        "--elastic does not go with --segment, --switches and --contiguous: the gang grows wherever there "
        "is room");
  for (const LocalityStep& step : r.locality)
    if (step.level == Locality::kLeaf || step.level == Locality::kBlock)
      return invalid("--elastic does not go with --locality=" + std::string(name(step.level)) +
                     ": the gang grows wherever there is room");
  return in_range(uint64_t{r.max_nodes} * std::max(r.tasks_per_node, 1U), 1, kMaxTasks,
                  "-N/--nodes x --ntasks-per-node");
}

}  // namespace

base::Status normalise(Request& r) {
  drop_names_twice(r);
  if (r.overcommit) r.tasks_per_socket = 0;  // tasks have no cores of their own
  GW_TRY_STATUS(check_ranges(r));
  GW_TRY_STATUS(check_gpus(r));
  if (r.nodes_given) GW_TRY_STATUS(apply_segment(r));  // before the tasks are derived from the nodes
  GW_TRY_STATUS(check_node_lists(r));
  GW_TRY_STATUS(r.nodes_given ? derive_with_nodes(r) : derive_without_nodes(r));
  GW_TRY_STATUS(apply_segment(r));  // again: fewer nodes may not hold the tasks
  GW_TRY_STATUS(check_shared_gpu(r));
  GW_TRY_STATUS(check_elastic(r));
  if (r.contiguous && r.segment > 1) return invalid("--contiguous does not go with --segment: groups may be apart");
  return check_totals(r);
}

uint32_t total_gpus(const Request& r, uint32_t nodes) {
  switch (r.gpu_counting) {
    case GpuCounting::kNone:
      return 0;
    case GpuCounting::kPerJob:
      return r.gpus;
    case GpuCounting::kPerNode:
      return r.gpus * nodes;
    case GpuCounting::kPerTask:
      return r.gpus * r.tasks;
  }
  return 0;
}

uint32_t Allocation::total_cpus() const {
  uint32_t sum = 0;
  for (const NodeShare& s : shares) sum += s.cpus;
  return sum;
}

uint32_t Allocation::total_gpus() const {
  uint32_t sum = 0;
  for (const NodeShare& s : shares) sum += s.gpus.size();
  return sum;
}

uint32_t Allocation::total_tasks() const {
  uint32_t sum = 0;
  for (const NodeShare& s : shares) sum += s.tasks;
  return sum;
}

uint64_t Allocation::total_gpu_milli() const {
  uint64_t sum = 0;
  for (const NodeShare& s : shares) sum += uint64_t{s.gpus.size()} * s.gpu_milli;
  return sum;
}

std::vector<std::string> Allocation::node_names() const {
  std::vector<std::string> names;
  names.reserve(shares.size());
  for (const NodeShare& s : shares) names.push_back(s.name);
  return names;
}

}  // namespace gw::model
