// What a request needs of one node, and whether a room on it suffices. Shared by placement now, placement in the
// timeline and the check of whether a job could ever run.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/blocker.h"
#include "model/sockets.h"
#include "sched/ledger/capacity.h"

namespace gw::sched {

/// Why a node cannot serve a request: those from kNodeList to kNotEmpty, in the order in which they are asked.
using model::BlockerKind;

/// A request held against the nodes of one partition.
class NodeFilter {
 public:
  /// `level`: how close each node's GPUs must be; kNode or wider: no matter.
  NodeFilter(const model::Request& request, const PartitionFacts& partition,
             model::Locality level = model::Locality::kAny)
      : request_(request), partition_(partition), level_(level) {}

  const model::Request& request() const { return request_; }
  /// The whole gang goes on one node, or does not run.
  bool is_one_node() const;
  /// It may go on one node, though perhaps on several too.
  bool may_be_one_node() const;
  /// Tasks of a gang of so many nodes.
  uint32_t all_tasks(uint32_t nodes) const {
    return request_.tasks_given ? request_.tasks : std::max(nodes, request_.tasks);
  }
  /// GPUs of a gang of one, for failed_filter().
  uint32_t all_gpus() const {
    return request_.gpu_counting == model::GpuCounting::kPerJob ? request_.gpus : UINT32_MAX;
  }
  bool is_exclusive() const { return request_.exclusive || partition_.exclusive; }
  bool is_shared() const { return request_.gpus > 0 && request_.gpu_milli < model::kWholeGpu; }
  /// Fewest tasks that a node of the gang must take, and most that it may take.
  uint32_t least_tasks() const;
  uint32_t most_tasks() const;
  /// GPUs of a node that takes so many tasks; `there`: how many of them are free (for GPUs counted per job).
  uint32_t gpus_for(uint32_t tasks, uint32_t there) const;
  /// GPUs without which no node can be part of the gang.
  uint32_t least_gpus() const { return gpus_for(least_tasks(), 1); }
  /// Hardware threads, in whole cores. Where nobody said how many: with GPUs nine tenths of their part of the cores, if
  /// that is more than a CPU for each task.
  uint32_t cpus_for(const NodeClass& node_class, uint32_t tasks, uint32_t gpus) const;
  uint64_t mem_for(const NodeFacts& facts, const NodeClass& node_class, uint32_t tasks, uint32_t cpus,
                   uint32_t gpus) const;
  /// GPUs of the right type among those free.
  base::IndexSet usable_gpus(const NodeClass& node_class, const base::IndexSet& free) const;
  uint32_t count_gpus(const NodeClass& node_class, const FreeResources& room) const;
  /// Of those, with the fewest tasks: of a job that asks for GPUs in all no more than cores and memory are left for, if
  /// that is less than it asks for.
  uint32_t most_gpus_in(const NodeAccount& account, const FreeResources& room) const;
  /// What does not change with use: features, type, sharing.
  std::optional<BlockerKind> failed_static_filter(const NodeFacts& facts, const NodeClass& node_class) const;
  /// The first requirement that keeps `tasks` tasks, with `gpus` GPUs (UINT32_MAX: as gpus_for() says), out of a room.
  std::optional<BlockerKind> failed_filter(const NodeAccount& account, const FreeResources& room, uint32_t tasks,
                                           uint32_t gpus = UINT32_MAX) const;
  /// Most tasks that fit; 0: not even least_tasks().
  uint32_t most_tasks_in(const NodeAccount& account, const FreeResources& room) const;
  /// Cores that the request may take of a room when it takes `gpus` GPUs: some are kept back for those left free.
  uint32_t cores_to_give(const NodeClass& node_class, const FreeResources& room, uint32_t gpus) const;
  /// How its tasks are dealt to the sockets of such a node; nullopt: it does not say.
  std::optional<model::SocketLayout> sockets_of(const NodeClass& node_class) const;
  /// How close `gpus` GPUs can be had.
  model::Locality level_of(const NodeClass& node_class, const FreeResources& room, uint32_t gpus) const;

 private:
  /// Whole GPUs' worth of `amount`, which is that of all GPUs, without the tenth that stays for jobs without GPUs.
  uint64_t part_of_gpus(const NodeClass& node_class, uint64_t amount, uint32_t gpus) const;

  const model::Request& request_;
  const PartitionFacts& partition_;
  model::Locality level_;
  mutable std::map<std::vector<std::string>, bool> features_;  // of nodes: do they meet the request?

  bool has_features(const NodeFacts& facts) const;
  /// As the partition's filter is shown it.
  FilterJob job_of_filter() const;
};

}  // namespace gw::sched
