// Requests: what follows from the options given, and which of them contradict each other.
// Invariant: normalise() derives only from what was given, so that doing it twice changes nothing.
#include "model/request.h"

#include <algorithm>

#include "base/text.h"

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
  return invalid(std::string(option) + ": " + n(value) + " is out of range", "from " + n(low) + " to " + n(high));
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
  GW_TRY_STATUS(in_range(r.cpus_per_task, 1, kMaxCpusPerTask, "-c/--cpus-per-task"));
  GW_TRY_STATUS(in_range(r.mem_per_node_mb, 0, kMaxMemMb, "--mem"));
  GW_TRY_STATUS(in_range(r.mem_per_cpu_mb, 0, kMaxMemMb, "--mem-per-cpu"));
  if (r.mem_per_cpu_mb != 0 && (r.mem_per_node_mb != 0 || r.mem_all))
    return invalid("--mem and --mem-per-cpu are mutually exclusive");
  return {};
}

base::Status check_gpus(Request& r) {
  if (r.gpu_counting == GpuCounting::kNone) {
    if (r.gpus != 0 || !r.gpu_type.empty()) return invalid("GPUs are asked for without a way of counting them");
    return {};
  }
  if (r.gpus == 0) {  // --gpus=0 asks for none
    r.gpu_counting = GpuCounting::kNone;
    r.gpu_type.clear();
    return {};
  }
  GW_TRY_STATUS(in_range(r.gpus, 1, kMaxGpus, "number of GPUs"));
  return {};
}

/// Nodes that -w names but -x forbids, or more than the gang may have.
base::Status check_node_lists(const Request& r) {
  for (const std::string& node : r.nodelist)
    if (std::find(r.exclude.begin(), r.exclude.end(), node) != r.exclude.end())
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

}  // namespace

base::Status normalise(Request& r) {
  GW_TRY_STATUS(check_ranges(r));
  GW_TRY_STATUS(check_gpus(r));
  GW_TRY_STATUS(check_node_lists(r));
  GW_TRY_STATUS(r.nodes_given ? derive_with_nodes(r) : derive_without_nodes(r));
  if (r.gpu_counting == GpuCounting::kPerJob && r.nodes_given && r.gpus < r.min_nodes)
    return invalid("--gpus=" + n(r.gpus) + " is fewer than one GPU for each of " + n(r.min_nodes) + " nodes",
                   "ask for fewer nodes, or use --gpus-per-node");
  if (uint64_t{r.tasks} * r.cpus_per_task > UINT32_MAX)
    return invalid("-n/--ntasks=" + n(r.tasks) + " with -c/--cpus-per-task=" + n(r.cpus_per_task) +
                   " asks for too many CPUs");
  const uint64_t units = r.gpu_counting == GpuCounting::kPerTask   ? r.tasks
                         : r.gpu_counting == GpuCounting::kPerNode ? r.max_nodes
                                                                   : 1;
  return in_range(uint64_t{r.gpus} * units, 0, kMaxGpus, "number of GPUs of the whole job");
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

std::vector<std::string> Allocation::node_names() const {
  std::vector<std::string> names;
  names.reserve(shares.size());
  for (const NodeShare& s : shares) names.push_back(s.name);
  return names;
}

}  // namespace gw::model
