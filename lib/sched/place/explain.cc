// Explanations: the diagnosis of a failed placement as blockers, and why a request can never run.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>
#include <string_view>
#include <unordered_set>

#include "base/hostlist.h"
#include "base/text.h"
#include "model/sentences.h"
#include "sched/place/node_filter.h"
#include "sched/place/place.h"

namespace gw::sched {
namespace {

using model::GpuCounting;
using model::Request;

/// The requirements of a request that look at one node, from the one that users mean first to the finest.
struct NodeClause {
  BlockerKind requirement;
  std::string asked;
};

uint32_t gpus_on_one_node(const Request& r) {
  const uint32_t least_tasks = r.tasks_per_node > 0 && !r.tasks_given ? r.tasks_per_node : 1;
  switch (r.gpu_counting) {
    case GpuCounting::kPerNode:
      return r.gpus;
    case GpuCounting::kPerTask:
      return r.gpus * least_tasks;
    case GpuCounting::kPerJob:
      return r.nodes_given && r.max_nodes == 1 ? r.gpus : 1;
    case GpuCounting::kNone:
      return 0;
  }
  return 0;
}

/// The least that a node must take.
uint32_t tasks_on_one_node(const Request& r) { return r.tasks_per_node > 0 && !r.tasks_given ? r.tasks_per_node : 1; }

uint64_t cpus_on_one_node(const Request& r) {
  return std::max({uint64_t{tasks_on_one_node(r)} * r.cpus_per_task, uint64_t{gpus_on_one_node(r)} * r.cpus_per_gpu,
                   uint64_t{r.min_cpus}});
}

/// How much memory is asked of a node, and how that comes about where it is counted by something:
/// "4T memory (8 CPUs of 500G)".
std::string memory_words(const Request& r) {
  const auto times = [](uint64_t count, uint64_t mem_mb, std::string_view each) {
    const std::string all = base::format_memory_mb(count * mem_mb) + " memory";
    return count <= 1 ? all : fmt::format("{} ({} {}s of {})", all, count, each, base::format_memory_mb(mem_mb));
  };
  if (r.mem_per_node_mb > 0) return times(1, r.mem_per_node_mb, "node");
  if (r.mem_per_gpu_mb > 0) return times(gpus_on_one_node(r), r.mem_per_gpu_mb, "GPU");
  if (r.mem_per_task_mb > 0) return times(tasks_on_one_node(r), r.mem_per_task_mb, "task");
  return times(cpus_on_one_node(r), r.mem_per_cpu_mb, "CPU");
}

std::string gpu_words(const Request& r, uint32_t n) {
  return fmt::format("{} {}GPU{}", n, r.gpu_type.empty() ? "" : r.gpu_type + " ", n == 1 ? "" : "s");
}

struct Largest {
  uint32_t gpus = 0, cores = 0, cpus = 0;
  uint64_t mem_mb = 0;
};

/// GPUs of a node that are of the type asked for.
uint32_t matching_gpus(const NodeAccount& a, const Request& r) {
  const auto& gpus = a.facts.topology->gpus;  // those offline too: they may come back
  return static_cast<uint32_t>(std::count_if(
      gpus.begin(), gpus.end(), [&](const model::Gpu& g) { return r.gpu_type.empty() || g.type == r.gpu_type; }));
}

/// The most GPUs of the type asked for that `nodes` nodes of the partition have together.
uint64_t most_gpus(const Capacity& capacity, const PartitionFacts& partition, const Request& r, size_t nodes) {
  std::vector<uint32_t> counts;
  for (NodeId id : capacity.partition_nodes(partition.name)) {
    const NodeAccount& a = *capacity.node(id);
    if (a.facts.topology) counts.push_back(matching_gpus(a, r));
  }
  std::sort(counts.begin(), counts.end(), std::greater<>());
  counts.resize(std::min(nodes, counts.size()));
  return std::accumulate(counts.begin(), counts.end(), uint64_t{0});
}

Largest largest(const Capacity& capacity, const PartitionFacts& partition, const Request& r) {
  Largest out;
  for (NodeId id : capacity.partition_nodes(partition.name)) {
    const NodeAccount& a = *capacity.node(id);
    if (!a.facts.topology) continue;
    out.gpus = std::max(out.gpus, matching_gpus(a, r));
    out.cores = std::max(out.cores, a.facts.cores.size());
    out.cpus = std::max(out.cpus, a.facts.cores.size() * a.threads());
    out.mem_mb = std::max(out.mem_mb, a.facts.mem_mb);
  }
  return out;
}

std::string counted(uint64_t n, std::string_view what) { return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s"); }

std::vector<std::string> known_types(const Capacity& capacity, const PartitionFacts& partition) {
  std::vector<std::string> types;
  for (NodeId id : capacity.partition_nodes(partition.name)) {
    const NodeAccount& a = *capacity.node(id);
    if (!a.facts.topology) continue;
    for (const model::Gpu& g : a.facts.topology->gpus)
      if (std::find(types.begin(), types.end(), g.type) == types.end()) types.push_back(g.type);
  }
  std::sort(types.begin(), types.end());
  return types;
}

base::Status unknown_type(const Capacity& capacity, const PartitionFacts& partition, const Request& r) {
  const std::vector<std::string> types = known_types(capacity, partition);
  return base::invalid(fmt::format("GPU type {} asked; partition {} has {}", r.gpu_type, partition.name,
                                   types.empty() ? "no GPUs" : base::join(types, ", ")),
                       base::did_you_mean(base::to_lower(r.gpu_type), types));
}

/// A number out of range is near to many names: the list of those that there are says more than one of them.
base::Status unknown_node(const PartitionFacts& partition, std::string_view option, const std::string& name) {
  const std::string meant = base::did_you_mean(name, partition.nodes);
  const std::string has = fmt::format("partition {} has {}", partition.name, base::compress_hostlist(partition.nodes));
  return base::with_sentence(base::invalid(fmt::format("{} names the unknown node {}", option, base::printable(name)),
                                           meant.empty() ? has : meant + " " + has),
                             model::kNodeNameSentence);
}

/// What may be meant by features that no node has, else the features that there are.
std::string feature_hint(const Capacity& capacity, const PartitionFacts& partition, const Request& r) {
  std::set<std::string> there;
  for (NodeId id : capacity.partition_nodes(partition.name)) {
    const std::vector<std::string>& features = capacity.node(id)->facts.features;
    there.insert(features.begin(), features.end());
  }
  const std::vector<std::string> known(there.begin(), there.end());
  int looked_at = 0;
  constexpr int kMost = 20;
  for (const model::FeatureSet& set : r.features)
    for (const std::string& asked : set) {
      if (there.contains(asked)) continue;
      if (++looked_at > kMost) break;
      if (std::string hint = base::did_you_mean(asked, known); !hint.empty()) return hint;
    }
  return known.empty() ? "its nodes have none" : "its nodes have " + base::join(known, ", ");
}

/// "3 sockets and 9 cores of a socket"
std::string layout_words(const Request& r) {
  std::vector<std::string> words;
  if (r.sockets > 0) words.push_back(counted(r.sockets, "socket"));
  if (r.socket_cores > 0) words.push_back(counted(r.socket_cores, "core") + " of a socket");
  if (r.core_threads > 0) words.push_back(counted(r.core_threads, "thread") + " of a core");
  return base::join(words, " and ");
}

base::Status without_gres(const Capacity& capacity, const PartitionFacts& partition, const Request& r) {
  std::set<std::string> there;
  for (NodeId id : capacity.partition_nodes(partition.name))
    for (const auto& [name, count] : capacity.node(id)->facts.gres) there.insert(name);
  const std::vector<std::string> known(there.begin(), there.end());
  for (const auto& [name, count] : r.gres)
    if (!there.contains(name))
      return base::with_sentence(
          base::invalid(fmt::format("--gres: no node of partition {} has {}", partition.name, name),
                        known.empty() ? "no node has generic resources but GPUs (--gres=gpu:COUNT)"
                                      : "there are " + base::join(known, ", ")),
          model::kGresSentence);
  return base::invalid(fmt::format("--gres={} asked of one node; no node of partition {} has so many",
                                   model::format_gres(r.gres), partition.name),
                       "ask for fewer, or for more nodes with fewer on each");
}

base::Status without_cores(const PartitionFacts& partition, const Request& r, const Largest& most) {
  const uint32_t least = tasks_on_one_node(r);
  const uint64_t cpus = cpus_on_one_node(r);
  if (r.tasks_per_socket > 0 && cpus <= (r.whole_cores ? most.cores : most.cpus))
    return base::invalid(
        fmt::format("{} of {} on one node asked, at most {} of them on a socket, each with cores of its "
                    "own; no node of partition {} has the sockets for it",
                    counted(least, "task"), counted(r.cpus_per_task, "CPU"), r.tasks_per_socket, partition.name),
        "raise --ntasks-per-socket, or lower --cpus-per-task or --ntasks-per-node");
  return base::invalid(
      fmt::format("{} {} on one node asked; the largest node in partition {} offers {}", cpus,
                  r.whole_cores ? "whole cores" : "CPUs", partition.name, r.whole_cores ? most.cores : most.cpus),
      r.cpus_per_gpu > 0 ? "lower --cpus-per-gpu, or ask for fewer GPUs per node"
                         : "lower --cpus-per-task, --ntasks-per-node or --mincpus");
}

/// The refusal for the requirement that ruled out the most nodes.
base::Status refuse(const Capacity& capacity, const PartitionFacts& partition, const Request& r,
                    BlockerKind requirement) {
  const Largest most = largest(capacity, partition, r);
  const std::string& p = partition.name;
  switch (requirement) {
    case BlockerKind::kGpus:
      return base::invalid(fmt::format("{} on one node asked; the largest node in partition {} has {}",
                                       gpu_words(r, gpus_on_one_node(r)), p, most.gpus),
                           "ask for fewer GPUs per node and more nodes");
    case BlockerKind::kCores:
      return without_cores(partition, r, most);
    case BlockerKind::kMemory:
      return base::with_sentence(
          base::invalid(fmt::format("{} on one node asked; the largest node in partition {} offers {}", memory_words(r),
                                    p, base::format_memory_mb(most.mem_mb)),
                        r.mem_per_gpu_mb > 0    ? "lower --mem-per-gpu, or ask for fewer GPUs per node"
                        : r.mem_per_task_mb > 0 ? "lower the memory of each task"
                                                : "lower --mem or --mem-per-cpu"),
          model::kMemorySentence);
    case BlockerKind::kGres:
      return without_gres(capacity, partition, r);
    case BlockerKind::kLayout:
      return base::invalid(fmt::format("{} asked; no node of partition {} has so many", layout_words(r), p),
                           "ask for fewer; gcontrol show node tells what each node has");
    case BlockerKind::kApart:
      return base::invalid(
          fmt::format("--contiguous: nowhere in partition {} are {}neighbours that could hold this job", p,
                      r.nodes_given ? fmt::format("{} ", r.min_nodes) : ""),
          "ask for fewer nodes, or leave --contiguous away");
    case BlockerKind::kTmpDisk:
      return base::invalid(
          fmt::format("--tmp={} asked; no node of partition {} has so large a disk for temporary files",
                      base::format_memory_mb(r.tmp_mb), p),
          "ask for less");
    case BlockerKind::kGpuSharing:
      return base::invalid(fmt::format("part of a GPU asked; partition {} does not share GPUs", p),
                           "ask for whole GPUs, or an administrator may set allow_shared_gpus");
    case BlockerKind::kLocality:
      return base::invalid(fmt::format("--locality={} asked; no node of partition {} has {} so close together",
                                       model::format_locality(r.locality), p, gpu_words(r, gpus_on_one_node(r))),
                           "ask for a wider locality or fewer GPUs");
    case BlockerKind::kGpuType:
      return unknown_type(capacity, partition, r);
    case BlockerKind::kFeatures:
      return base::with_sentence(base::invalid(fmt::format("no node of partition {} has the features {}", p,
                                                           base::printable(model::format_features(r.features))),
                                               feature_hint(capacity, partition, r)),
                                 model::kFeatureSentence);
    case BlockerKind::kFilter:
      return base::invalid(fmt::format("the filter {} of partition {} keeps its nodes for {}", partition.filter.name, p,
                                       base::printable(partition.filter.policy->kept_for())),
                           "name another --partition, or ask for that");
    case BlockerKind::kExcludedNode:
      return base::invalid(fmt::format("--exclude leaves no node of partition {}", p));
    case BlockerKind::kNodeList:
      return base::invalid(fmt::format("a node of --nodelist is not in partition {}", p));
    default:
      return base::invalid(fmt::format("partition {} cannot hold this job", p));
  }
}

bool has_links(const NodeAccount& a) {
  const auto& links = a.facts.topology->gpu_links;
  return std::any_of(links.begin(), links.end(), [](const auto& row) {
    return std::any_of(row.begin(), row.end(), [](uint64_t mbps) { return mbps > 0; });
  });
}

/// --locality=nvlink to the end, where nothing is linked: that and nothing else is in the way.
base::Status check_links(const Capacity& capacity, const PartitionFacts& partition, const Request& r) {
  if (r.locality.empty() || r.locality.back().wait != base::kUnlimited ||
      r.locality.back().level != model::Locality::kNvlink)
    return {};
  bool has_gpus = false;  // of the type asked for
  for (NodeId id : capacity.partition_nodes(partition.name)) {
    const NodeAccount& a = *capacity.node(id);
    if (!a.facts.topology) return {};
    if (matching_gpus(a, r) == 0) continue;
    if (has_links(a)) return {};
    has_gpus = true;
  }
  if (!has_gpus) return {};
  return base::invalid(
      fmt::format("--locality={} asked; no node of partition {} has links between its {}GPUs",
                  model::format_locality(r.locality), partition.name, r.gpu_type.empty() ? "" : r.gpu_type + " "),
      "pcie, numa and node ask for GPUs close together without NVLink or xGMI");
}

/// What a node lacks, where no single requirement keeps all of them out.
std::string lack_words(const Request& r, BlockerKind requirement, uint32_t nodes) {
  const std::string_view have = nodes == 1 ? "has" : "have";
  switch (requirement) {
    case BlockerKind::kFeatures:
      return fmt::format("{} the features {}", nodes == 1 ? "lacks" : "lack",
                         base::printable(model::format_features(r.features)));
    case BlockerKind::kGpuType:
      return fmt::format("{} no {} GPUs", have, r.gpu_type);
    case BlockerKind::kGpus:
      return fmt::format("{} fewer than {}", have, gpu_words(r, gpus_on_one_node(r)));
    case BlockerKind::kCores:
      return fmt::format("{} fewer than {} CPUs", have, cpus_on_one_node(r));
    case BlockerKind::kMemory:
      return fmt::format("{} less than {}", have, memory_words(r));
    case BlockerKind::kLocality:
      return fmt::format("{} them not so close together (--locality)", have);
    case BlockerKind::kGres:
      return fmt::format("{} {} (--gres)", nodes == 1 ? "lacks" : "lack", model::format_gres(r.gres));
    case BlockerKind::kFilter:
      return fmt::format("{} kept for other jobs by the partition's filter", nodes == 1 ? "is" : "are");
    case BlockerKind::kExcludedNode:
      return nodes == 1 ? "is excluded" : "are excluded";
    case BlockerKind::kNodeList:
      return nodes == 1 ? "is not in --nodelist" : "are not in --nodelist";
    default:
      return fmt::format("{} not what is asked ({})", have, model::name(requirement));
  }
}

/// No node can hold a part, and not all for the same reason.
base::Status refuse_each(const PartitionFacts& partition, const Request& r, const Diagnosis& diagnosis) {
  std::vector<std::string> lacks;
  for (const auto& [requirement, nodes] : diagnosis.ruled_out)
    lacks.push_back(fmt::format("{} {}", nodes, lack_words(r, requirement, nodes)));
  return base::with_sentence(base::invalid(fmt::format("no node of partition {} can hold a part of this job: of {}, {}",
                                                       partition.name, diagnosis.nodes, base::join(lacks, ", ")),
                                           "ask for what one of them has: gcontrol show node"),
                             diagnosis.ruled_out.contains(BlockerKind::kFeatures) ? model::kFeatureSentence : "");
}

/// Nodes of --nodelist that can hold no part of it.
base::Status check_named(const Capacity& capacity, const PartitionFacts& partition, const Request& r) {
  const NodeFilter filter(r, partition);
  for (const std::string& name : r.nodelist) {
    const NodeAccount& account = *capacity.node(capacity.id_of(name));
    if (!account.facts.topology) continue;
    const auto lacks = filter.failed_static_filter(account.facts, *account.node_class);
    if (lacks)
      return base::invalid(fmt::format("node {} of --nodelist {}", name, lack_words(r, *lacks, 1)),
                           "name another node, or none");
  }
  return {};
}

base::Status check_names(const Capacity& capacity, const PartitionFacts& partition, const Request& r) {
  if (r.nodelist.empty() && r.exclude.empty()) return {};
  const std::unordered_set<std::string_view> there(partition.nodes.begin(), partition.nodes.end());
  const std::unordered_set<std::string_view> excluded(r.exclude.begin(), r.exclude.end());
  for (const std::string& name : r.nodelist) {
    if (!capacity.id_of(name)) return unknown_node(partition, "-w/--nodelist", name);
    if (!there.contains(name))
      return base::invalid(fmt::format("node {} of --nodelist is not in partition {}", name, partition.name));
    if (excluded.contains(name)) return base::invalid("node " + name + " stands in --nodelist and in --exclude");
  }
  GW_TRY_STATUS(check_named(capacity, partition, r));
  for (const std::string& name : r.exclude)
    if (!capacity.id_of(name)) return unknown_node(partition, "-x/--exclude", name);
  if (r.nodes_given && r.nodelist.size() > r.max_nodes)
    return base::invalid(fmt::format("--nodelist names {} nodes, --nodes allows {}", r.nodelist.size(), r.max_nodes));
  return {};
}

}  // namespace

model::Blockers blockers_of(const Diagnosis& diagnosis, const std::string& partition) {
  using model::Blocker, model::BlockerScope;
  model::Blockers out;
  out.push_back(Blocker{.kind = BlockerKind::kNodes,
                        .scope = BlockerScope::kPartition,
                        .where = partition,
                        .resource = "node",
                        .asked = diagnosis.needed_nodes,
                        .bound = diagnosis.nodes,
                        .held = diagnosis.nodes - std::min(diagnosis.fitting, diagnosis.nodes)});
  const auto add = [&](BlockerKind kind, uint32_t nodes, const std::string& held_by) {
    out.push_back(Blocker{
        .kind = kind, .scope = BlockerScope::kPartition, .where = partition, .nodes = nodes, .held_by = held_by});
  };
  for (const auto& [kind, n] : diagnosis.ruled_out)
    if (kind != BlockerKind::kUnavailableNode) add(kind, n, {});
  for (const auto& [why, n] : diagnosis.unusable_why) add(BlockerKind::kUnavailableNode, n, why);
  return out;
}

std::string explain(const Diagnosis& diagnosis, const std::string& partition) {
  return model::words(blockers_of(diagnosis, partition));
}

namespace {

Placement ever(const Capacity& capacity, const PartitionFacts& partition, const Request& request) {
  PlacementOptions options;
  options.against = Against::kEmpty;
  // What the last step of --locality leaves open is all that must ever be met.
  if (!request.locality.empty() && request.locality.back().wait == base::kUnlimited)
    options.level = request.locality.back().level;
  if (request.switches_wait == base::kUnlimited) options.switches = request.max_switches;
  return place(capacity, partition, request, options);
}

/// It could run if its nodes did not have to be under so few switches, or in one block.
base::Status check_apart(const Capacity& capacity, const PartitionFacts& partition, const Request& request) {
  Request anywhere = request;
  const bool is_near = !request.locality.empty() && request.locality.back().wait == base::kUnlimited &&
                       request.locality.back().level >= model::Locality::kLeaf &&
                       request.locality.back().level != model::Locality::kAny;
  const bool is_switched = request.max_switches > 0 && request.switches_wait == base::kUnlimited;
  if (is_near) anywhere.locality.clear();
  if (is_switched) anywhere.max_switches = 0;
  if ((!is_near && !is_switched) || !ever(capacity, partition, anywhere).allocation) return {};
  const std::string wish = is_near ? "--locality=" + model::format_locality(request.locality)
                                   : fmt::format("--switches={}", request.max_switches);
  return base::invalid(fmt::format("{} asked; partition {} has nowhere {} so close together that can hold this job",
                                   wish, partition.name, counted(std::max(request.min_nodes, 1U), "node")),
                       "ask for fewer nodes, a wider --locality, or more --switches");
}

}  // namespace

base::Status could_ever_run(const Capacity& capacity, const PartitionFacts& partition, const Request& request) {
  GW_TRY_STATUS(check_names(capacity, partition, request));
  if (partition.max_nodes > 0 && request.min_nodes > partition.max_nodes)
    return base::with_sentence(base::invalid(fmt::format("{} nodes asked; partition {} allows {} a job",
                                                         request.min_nodes, partition.name, partition.max_nodes)),
                               model::kNodeCountSentence);
  const Placement placement = ever(capacity, partition, request);
  if (placement.allocation) return {};
  const Diagnosis& diagnosis = placement.diagnosis;
  const auto it = diagnosis.ruled_out.find(BlockerKind::kUnregisteredNode);
  if (it != diagnosis.ruled_out.end()) return {};  // a node that was never seen may turn out to hold it
  if (diagnosis.nodes == 0) return base::invalid(fmt::format("partition {} has no nodes", partition.name));
  GW_TRY_STATUS(check_links(capacity, partition, request));
  if (diagnosis.fitting == 0) {
    const auto worst = std::max_element(diagnosis.ruled_out.begin(), diagnosis.ruled_out.end(),
                                        [](const auto& a, const auto& b) { return a.second < b.second; });
    if (diagnosis.ruled_out.contains(BlockerKind::kApart))
      return refuse(capacity, partition, request, BlockerKind::kApart);
    const bool is_alone = worst->second == diagnosis.nodes;
    return is_alone ? refuse(capacity, partition, request, worst->first) : refuse_each(partition, request, diagnosis);
  }
  if (request.min_nodes > diagnosis.fitting)
    return base::with_sentence(
        base::invalid(fmt::format("{} nodes asked; partition {} has {} that can hold a part of this job",
                                  request.min_nodes, partition.name, diagnosis.fitting),
                      "ask for fewer nodes"),
        request.min_nodes > diagnosis.nodes ? model::kNodeCountSentence : "");
  GW_TRY_STATUS(check_apart(capacity, partition, request));
  if (request.contiguous) {
    model::Request apart = request;
    apart.contiguous = false;
    if (ever(capacity, partition, apart).allocation) return refuse(capacity, partition, request, BlockerKind::kApart);
  }
  if (request.gpu_counting == GpuCounting::kPerJob) {
    const size_t nodes = request.nodes_given ? request.max_nodes : diagnosis.nodes;
    return base::invalid(
        fmt::format(
            "{} asked on {}; partition {} has {} there at most", gpu_words(request, request.gpus),
            request.nodes_given ? "at most " + counted(request.max_nodes, "node") : std::string("any number of nodes"),
            partition.name, most_gpus(capacity, partition, request, nodes)),
        "ask for fewer GPUs, or for fewer CPUs or less memory with each");
  }
  const size_t most_nodes = request.nodes_given ? request.max_nodes : diagnosis.fitting;
  const std::string of_socket =
      request.tasks_per_socket == 0 ? "" : fmt::format(", at most {} of them on a socket", request.tasks_per_socket);
  return base::with_sentence(base::invalid(fmt::format("{} asked on at most {}{}; partition {} cannot hold {}",
                                                       counted(request.tasks, "task"), counted(most_nodes, "node"),
                                                       of_socket, partition.name, request.tasks == 1 ? "it" : "them"),
                                           "ask for fewer tasks, or more nodes"),
                             model::kTooManyCpusSentence);
}

}  // namespace gw::sched
