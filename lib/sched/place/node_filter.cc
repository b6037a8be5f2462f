// Arithmetic of one request on one node.
#include "sched/place/node_filter.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "sched/units/unit_table.h"

namespace gw::sched {

using model::GpuCounting;
using model::Locality;

uint32_t NodeFilter::least_tasks() const {
  return request_.tasks_per_node > 0 && !request_.tasks_given ? request_.tasks_per_node : 1;
}

bool NodeFilter::is_one_node() const {
  if (request_.nodes_given) return request_.max_nodes == 1;
  return may_be_one_node() && all_tasks(1) == 1 && request_.gpu_counting != GpuCounting::kPerJob;
}

bool NodeFilter::may_be_one_node() const {
  if (request_.nodes_given) return request_.max_nodes == 1;
  return request_.nodelist.size() <= 1 && request_.min_nodes <= 1 && most_tasks() >= all_tasks(1);
}

uint32_t NodeFilter::most_tasks() const {
  const uint32_t cap = request_.tasks_per_node > 0 ? request_.tasks_per_node : request_.tasks;
  return std::max(cap, least_tasks());
}

uint32_t NodeFilter::gpus_for(uint32_t tasks, uint32_t there) const {
  switch (request_.gpu_counting) {
    case GpuCounting::kNone:
      return 0;
    case GpuCounting::kPerNode:
      return request_.gpus;
    case GpuCounting::kPerTask:
      return tasks * request_.gpus;
    case GpuCounting::kPerJob:
      return std::min({1U, there, request_.gpus});
  }
  return 0;
}

uint32_t NodeFilter::cpus_for(const NodeClass& node_class, uint32_t tasks, uint32_t gpus) const {
  const uint64_t per_gpu = request_.cpus_per_gpu > 0 ? request_.cpus_per_gpu : partition_.default_cpus_per_gpu;
  const uint64_t threads = node_class.threads;
  const uint64_t of_tasks = request_.overcommit ? 1 : uint64_t{tasks} * request_.cpus_per_task;
  uint64_t asked = std::max<uint64_t>(of_tasks, uint64_t{gpus} * per_gpu);
  if (request_.whole_cores) asked *= threads;
  if (const auto layout = sockets_of(node_class)) asked = std::max(asked, uint64_t{tasks} * layout->each * threads);
  asked = std::max<uint64_t>(asked, request_.min_cpus);
  if (request_.cpus_by_gpus && per_gpu == 0)
    asked = std::max(asked, part_of_gpus(node_class, node_class.cores, gpus) * threads);
  return static_cast<uint32_t>(std::min<uint64_t>((asked + threads - 1) / threads * threads, UINT32_MAX));
}

std::optional<model::SocketLayout> NodeFilter::sockets_of(const NodeClass& node_class) const {
  if (request_.tasks_per_socket == 0 || node_class.units == nullptr) return std::nullopt;
  const uint32_t threads = request_.whole_cores ? 1 : node_class.threads;
  return model::SocketLayout{request_.tasks_per_socket, model::cores_of_task(request_.cpus_per_task, threads)};
}

// A tenth stays for jobs without GPUs, so that a node full of GPU jobs does not starve them.
uint64_t NodeFilter::part_of_gpus(const NodeClass& node_class, uint64_t amount, uint32_t gpus) const {
  if (node_class.all_gpus == 0) return 0;
  const uint64_t part = is_shared() ? request_.gpu_milli : model::kWholeGpu;
  return amount * gpus * part / model::kWholeGpu / node_class.all_gpus * 9 / 10;
}

uint64_t NodeFilter::mem_for(const NodeFacts& facts, const NodeClass& node_class, uint32_t tasks, uint32_t cpus,
                             uint32_t gpus) const {
  if (request_.mem_all) return facts.mem_mb;
  if (request_.mem_per_node_mb > 0) return request_.mem_per_node_mb;
  if (request_.mem_per_cpu_mb > 0)
    return request_.mem_per_cpu_mb * (request_.whole_cores ? cpus / node_class.threads : cpus);
  if (request_.mem_per_gpu_mb > 0) return request_.mem_per_gpu_mb * gpus;
  if (request_.mem_per_task_mb > 0) return request_.mem_per_task_mb * tasks;
  if (request_.mem_none) return 0;
  const uint64_t by_partition =
      std::max(partition_.default_mem_per_cpu_mb * cpus, partition_.default_mem_per_gpu_mb * gpus);
  if (by_partition > 0) return by_partition;
  // Nobody said: the cores' share of the node's memory, with GPUs nine tenths of theirs if that is more, so that no job
  // can take memory out of proportion unasked.
  const uint64_t cores = std::max<uint32_t>(node_class.cores, 1);
  const uint64_t by_cores = facts.mem_mb * (cpus / node_class.threads) / cores;
  return std::max(by_cores, part_of_gpus(node_class, facts.mem_mb, gpus));
}

base::IndexSet NodeFilter::usable_gpus(const NodeClass& node_class, const base::IndexSet& free) const {
  if (request_.gpu_type.empty()) return free;
  const auto it = node_class.gpus_by_type.find(request_.gpu_type);
  if (it == node_class.gpus_by_type.end()) return {};
  base::IndexSet out = free;
  out &= it->second;
  return out;
}

uint32_t NodeFilter::count_gpus(const NodeClass& node_class, const FreeResources& room) const {
  if (request_.gpus == 0) return 0;
  uint32_t n = request_.gpu_type.empty() ? room.gpus.size() : usable_gpus(node_class, room.gpus).size();
  if (!is_shared() || request_.own_gpu) return n;
  for (const SharedGpu& s : room.shared) n += s.left >= request_.gpu_milli;
  return n;
}

/// Most nodes have the features of others: each set of them is held against the request once.
bool NodeFilter::has_features(const NodeFacts& facts) const {
  const auto known = features_.find(facts.features);
  if (known != features_.end()) return known->second;
  const std::set<std::string_view> there(facts.features.begin(), facts.features.end());
  const bool has = std::any_of(request_.features.begin(), request_.features.end(), [&](const model::FeatureSet& all) {
    return std::all_of(all.begin(), all.end(), [&](const std::string& f) { return there.contains(f); });
  });
  features_.emplace(facts.features, has);
  return has;
}

namespace {

/// Sockets that differ count as if their cores were dealt out evenly.
bool has_layout(const model::Request& r, const model::NodeTopology& node, uint32_t threads) {
  const uint32_t sockets = std::max(node.sockets, 1U);
  return r.sockets <= sockets && r.socket_cores <= node.cores.size() / sockets && r.core_threads <= threads;
}

}  // namespace

FilterJob NodeFilter::job_of_filter() const {
  // Each of its other nodes has a task, too.
  const uint32_t elsewhere = request_.nodes_given && request_.tasks_given ? std::max(request_.min_nodes, 1U) - 1 : 0;
  const uint32_t tasks = std::max(most_tasks() - std::min(most_tasks(), elsewhere), least_tasks());
  const uint64_t gpus =
      request_.gpu_counting == GpuCounting::kPerJob ? request_.gpus : uint64_t{gpus_for(tasks, UINT32_MAX)};
  FilterJob out;
  out.is_whole_node = is_exclusive();
  out.gpu_milli = gpus * (is_shared() ? request_.gpu_milli : model::kWholeGpu);
  out.gpu_type = request_.gpu_type;
  out.cpus = std::max<uint64_t>(uint64_t{tasks} * request_.cpus_per_task, gpus * request_.cpus_per_gpu);
  out.cpus = std::max<uint64_t>(out.cpus, request_.min_cpus);
  out.min_nodes = std::max(request_.min_nodes, 1U);
  return out;
}

std::optional<BlockerKind> NodeFilter::failed_static_filter(const NodeFacts& facts, const NodeClass& node_class) const {
  if (!request_.features.empty() && !has_features(facts)) return BlockerKind::kFeatures;
  if (!facts.topology) return BlockerKind::kUnregisteredNode;
  if (facts.version != 0 && facts.version < request_.least_version) return BlockerKind::kOldNodeDaemon;
  if (request_.gpus > 0 && !request_.gpu_type.empty() && !node_class.gpus_by_type.contains(request_.gpu_type))
    return BlockerKind::kGpuType;
  if (is_shared() && !partition_.allow_shared_gpus) return BlockerKind::kGpuSharing;
  if (!has_layout(request_, *facts.topology, node_class.threads)) return BlockerKind::kLayout;
  if (request_.tmp_mb > facts.tmp_mb && facts.tmp_mb > 0) return BlockerKind::kTmpDisk;
  if (const auto& filter = partition_.filter.policy;
      filter && !filter->lets_on(job_of_filter(), {node_class.all_gpus, node_class.cores * node_class.threads,
                                                   facts.mem_mb, facts.features}))
    return BlockerKind::kFilter;
  return std::nullopt;
}

uint32_t NodeFilter::cores_to_give(const NodeClass& node_class, const FreeResources& room, uint32_t gpus) const {
  const uint32_t free = room.cores.size();
  if (is_exclusive() || node_class.gpus == 0 || partition_.cores_per_gpu_kept == 0) return free;
  const uint32_t each = node_class.cores / node_class.gpus;
  const uint32_t kept = std::min(partition_.cores_per_gpu_kept, each == 0 ? 0 : each - 1);
  const uint32_t whole = room.gpus.size();
  const uint32_t stay = is_shared() || whole <= gpus ? 0 : (whole - gpus) * kept;
  return free > stay ? free - stay : 0;
}

Locality NodeFilter::level_of(const NodeClass& node_class, const FreeResources& room, uint32_t gpus) const {
  if (gpus <= 1 || is_shared()) return Locality::kGpu;
  const auto level = node_class.units->level(usable_gpus(node_class, room.gpus), gpus);
  return level ? *level : Locality::kNode;
}

std::optional<BlockerKind> NodeFilter::failed_filter(const NodeAccount& account, const FreeResources& room,
                                                     uint32_t tasks, uint32_t gpus) const {
  const NodeClass& node_class = *account.node_class;
  if (is_exclusive() && !room.idle) return BlockerKind::kNotEmpty;
  const uint32_t there = count_gpus(node_class, room);
  if (gpus == UINT32_MAX) gpus = gpus_for(tasks, there);
  if (request_.gpus > 0 && (there < gpus || there == 0)) return BlockerKind::kGpus;
  if (level_ < Locality::kNode && gpus > 0 && level_of(node_class, room, gpus) > level_) return BlockerKind::kLocality;
  const uint32_t cpus = cpus_for(node_class, tasks, gpus);
  if (cpus / node_class.threads > cores_to_give(node_class, room, gpus)) return BlockerKind::kCores;
  if (const auto layout = sockets_of(node_class);
      layout && tasks > model::tasks_on_sockets(node_class.units->sockets(), room.cores, *layout))
    return BlockerKind::kCores;
  if (mem_for(account.facts, node_class, tasks, cpus, gpus) > room.mem_mb) return BlockerKind::kMemory;
  if (!room.gres.covers(request_.gres)) return BlockerKind::kGres;
  return std::nullopt;
}

uint32_t NodeFilter::most_gpus_in(const NodeAccount& account, const FreeResources& room) const {
  const uint32_t there = count_gpus(*account.node_class, room);
  uint32_t high = std::min(there, request_.gpus), low = 1;
  if (request_.gpu_counting != GpuCounting::kPerJob || high <= low) return there;
  if (!failed_filter(account, room, least_tasks(), high)) return there;
  while (low < high) {  // the largest number that fits
    const uint32_t middle = low + (high - low + 1) / 2;
    if (failed_filter(account, room, least_tasks(), middle))
      high = middle - 1;
    else
      low = middle;
  }
  return low;
}

uint32_t NodeFilter::most_tasks_in(const NodeAccount& account, const FreeResources& room) const {
  uint32_t low = least_tasks(), high = most_tasks();
  if (failed_filter(account, room, low)) return 0;
  while (low < high) {  // the largest number of tasks that fits; fitting is monotone
    const uint32_t middle = low + (high - low + 1) / 2;
    if (failed_filter(account, room, middle))
      high = middle - 1;
    else
      low = middle;
  }
  return low;
}

}  // namespace gw::sched
