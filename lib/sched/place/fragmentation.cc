// The fragmentation measure.
#include "sched/place/fragmentation.h"

#include <algorithm>
#include <map>

#include "sched/ledger/node_index.h"

namespace gw::sched {

TaskShape Workload::shape_of(const model::Request& r) {
  const uint32_t tasks = std::max(1U, r.tasks_per_node > 0               ? r.tasks_per_node
                                      : r.nodes_given && r.min_nodes > 0 ? r.tasks / r.min_nodes
                                                                         : 1U);
  TaskShape out;
  out.gpu_milli = r.gpu_milli;
  out.gpu_type = r.gpu_type;
  if (r.gpu_counting == model::GpuCounting::kPerNode) out.gpus = r.gpus;
  if (r.gpu_counting == model::GpuCounting::kPerTask) out.gpus = r.gpus * tasks;
  if (r.gpu_counting == model::GpuCounting::kPerJob) out.gpus = std::max(1U, r.gpus / std::max(1U, r.min_nodes));
  out.cpus = std::max({r.overcommit ? 1U : tasks * r.cpus_per_task, out.gpus * r.cpus_per_gpu, r.min_cpus});
  out.mem_mb = std::max(
      {r.mem_per_node_mb, r.mem_per_cpu_mb * out.cpus, r.mem_per_gpu_mb * out.gpus, r.mem_per_task_mb * tasks});
  return out;
}

void Workload::add(const TaskShape& shape, uint32_t count) {
  auto it = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.shape == shape; });
  if (it == entries_.end()) {
    if (entries_.size() == kShapes) {  // the rarest makes room; its count is inherited, so that newcomers can rise
      it = std::min_element(entries_.begin(), entries_.end(),
                            [](const Entry& a, const Entry& b) { return a.count < b.count; });
      it->shape = shape;
    } else {
      it = entries_.insert(entries_.end(), Entry{shape, 0});
    }
  }
  it->count += count;
  total_ += count;
  if (total_ <= kWindow) return;
  total_ = 0;
  for (Entry& e : entries_) total_ += e.count = (e.count + 1) / 2;
}

Workload Workload::exact(std::vector<Entry> entries) {
  Workload out;
  for (const Entry& e : entries) out.total_ += e.count;
  out.entries_ = std::move(entries);
  return out;
}

namespace {

/// Free GPU thousandths that no number of tasks of this shape could use.
uint64_t out_of_reach(const TaskShape& shape, const NodeAccount& node, const Leftover& left, uint64_t all) {
  if (!shape.gpu_type.empty() && !node.node_class->gpus_by_type.contains(shape.gpu_type)) return all;
  uint64_t tasks = UINT64_MAX;
  if (shape.cpus > 0) tasks = left.cpus / shape.cpus;
  if (shape.mem_mb > 0) tasks = std::min(tasks, left.mem_mb / shape.mem_mb);
  if (shape.gpu_milli == model::kWholeGpu)
    return all - std::min<uint64_t>(tasks, left.whole / shape.gpus) * shape.gpus * model::kWholeGpu;
  uint64_t slots = uint64_t{left.whole} * (model::kWholeGpu / shape.gpu_milli);
  for (size_t i = 0; i < left.shared_count; ++i) slots += left.shared[i].left / shape.gpu_milli;
  return all - std::min(tasks, slots) * shape.gpu_milli;
}

/// Free GPU thousandths that a task of this shape cannot use.
uint64_t unusable(const TaskShape& shape, const NodeAccount& node, const Leftover& left, uint64_t all) {
  if (shape.gpus == 0 || shape.cpus > left.cpus || shape.mem_mb > left.mem_mb) return all;
  if (!shape.gpu_type.empty() && !node.node_class->gpus_by_type.contains(shape.gpu_type)) return all;
  if (shape.gpu_milli == model::kWholeGpu) {
    if (shape.gpus > left.whole) return all;
    return all - uint64_t{left.whole} * model::kWholeGpu;
  }
  uint64_t lost = 0;
  for (size_t i = 0; i < left.shared_count; ++i)
    if (left.shared[i].left < shape.gpu_milli) lost += left.shared[i].left;
  return lost;
}

}  // namespace

double fragmented_milli(const Workload& workload, const NodeAccount& node, const Leftover& left) {
  if (workload.total() == 0) return 0;
  uint64_t all = uint64_t{left.whole} * model::kWholeGpu;
  for (size_t i = 0; i < left.shared_count; ++i) all += left.shared[i].left;
  if (all == 0) return 0;
  uint64_t sum = 0;
  for (const Workload::Entry& e : workload.entries()) sum += e.count * unusable(e.shape, node, left, all);
  return static_cast<double>(sum) / workload.total();
}

double stranded_milli(const Workload& workload, const NodeAccount& node, const Leftover& left) {
  uint64_t all = uint64_t{left.whole} * model::kWholeGpu, sum = 0, total = 0;
  for (size_t i = 0; i < left.shared_count; ++i) all += left.shared[i].left;
  if (all == 0) return 0;
  for (const Workload::Entry& e : workload.entries()) {
    if (e.shape.gpus == 0) continue;
    sum += e.count * out_of_reach(e.shape, node, left, all);
    total += e.count;
  }
  return total == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(total);
}

Leftover leftover_of(const NodeAccount& node, const FreeResources& room) {
  return {room.gpus.size(), room.shared.data(), room.shared.size(), room.cores.size() * node.node_class->threads,
          room.mem_mb};
}

double fragmented_milli(const Workload& workload, const NodeAccount& node, const FreeResources& room) {
  return fragmented_milli(workload, node, leftover_of(node, room));
}

namespace {

void add(Fragmentation& sum, const NodeGroup& group, bool is_up, const Workload& workload) {
  const NodeAccount& a = *group.sample;
  const uint32_t nodes = group.nodes.count();
  double free = a.free.gpus.size();
  for (const SharedGpu& s : a.free.shared) free += static_cast<double>(s.left) / model::kWholeGpu;
  sum.gpus += uint64_t{a.node_class->gpus} * nodes;
  sum.free_gpus += nodes * free;
  sum.fragmented_gpus += nodes * fragmented_milli(workload, a, a.free) / model::kWholeGpu;
  const bool is_whole = a.free.gpus.size() == a.node_class->gpus && a.free.cores.size() >= a.node_class->gpus;
  if (is_up && is_whole) sum.largest_gang += a.node_class->gpus * nodes;
}

std::string types_of(const NodeClass& node_class) {
  std::string out;
  for (const auto& [type, gpus] : node_class.gpus_by_type) out += (out.empty() ? "" : "+") + type;
  return out;
}

}  // namespace

Fragmentation fragmentation(const Capacity& capacity, const std::string& partition, const Workload& workload) {
  Fragmentation out;
  const NodeIndex* index = capacity.index(partition);
  const PartitionFacts* facts = capacity.partition(partition);
  if (index == nullptr || facts == nullptr) return out;
  for (const auto& [state, group] : index->groups()) add(out, group, facts->is_up, workload);
  return out;
}

std::vector<PartitionFragmentation> fragmentation(const Capacity& capacity, const Workload& workload) {
  std::vector<PartitionFragmentation> out;
  for (const auto& [name, facts] : capacity.partitions()) {
    out.push_back({name, "", fragmentation(capacity, name, workload), workload.total()});
    const NodeIndex* index = capacity.index(name);
    if (index == nullptr) continue;
    std::map<std::string, Fragmentation> by_type;
    for (const auto& [state, group] : index->groups())
      if (group.sample->node_class->gpus > 0)
        add(by_type[types_of(*group.sample->node_class)], group, facts.is_up, workload);
    if (by_type.size() < 2) continue;
    for (const auto& [type, figures] : by_type) out.push_back({name, type, figures, workload.total()});
  }
  return out;
}

}  // namespace gw::sched
