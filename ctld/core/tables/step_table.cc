// See step_table.h.
#include "ctld/core/tables/step_table.h"

#include <algorithm>

#include "model/find_on.h"

namespace gw::ctld {

using base::JobId;
using base::NodeId;
using model::Step;
using model::StepNode;

Step* StepTable::find(StepKey key) {
  const auto it = steps_.find(key);
  return it == steps_.end() ? nullptr : &it->second;
}

Step* StepTable::find(const model::Job& job, uint32_t number) {
  Step* step = find({job.id, number});
  return step == nullptr || step->attempt != job.attempt ? nullptr : step;
}

std::vector<Step*> StepTable::of(JobId job) {
  std::vector<Step*> found;
  for (auto it = steps_.lower_bound({job, 0}); it != steps_.end() && it->first.first == job; ++it)
    found.push_back(&it->second);
  return found;
}

size_t StepTable::count_of(JobId job) const {
  return static_cast<size_t>(
      std::distance(steps_.lower_bound({job, 0}), steps_.lower_bound({JobId(job.value + 1), 0})));
}

StepAt StepTable::at(NodeId node, uint32_t job, uint32_t attempt, uint32_t step_plus_one) {
  Step* step = find(StepKey{JobId(job), step_plus_one - 1});
  if (step == nullptr || step->attempt != attempt) return {};
  const auto part = model::find_on(step->nodes, node, [](const StepNode& n) { return n.share.node; });
  return part == step->nodes.end() ? StepAt{} : StepAt{step, &*part};
}

std::vector<StepKey> StepTable::on(NodeId node, JobId of) const {
  const auto on = on_.find(node);
  if (on == on_.end()) return {};
  const auto begin = of ? on->second.lower_bound({of, 0}) : on->second.begin();
  const auto end = of ? on->second.lower_bound({JobId(of.value + 1), 0}) : on->second.end();
  return {begin, end};
}

Step& StepTable::keep(Step step) {
  const StepKey key{step.job, step.number};
  step.ready_nodes = step.gone_nodes = 0;
  for (const StepNode& node : step.nodes) {
    if (node.is_gone)
      ++step.gone_nodes;
    else
      on_[node.share.node].insert(key);
  }
  return steps_[key] = std::move(step);
}

void StepTable::left(Step& step, StepNode& node) {
  node.is_gone = true;
  ++step.gone_nodes;
  if (!node.address.empty()) --step.ready_nodes;
  on_[node.share.node].erase({step.job, step.number});
}

void StepTable::drop(StepKey key) {
  const auto it = steps_.find(key);
  if (it == steps_.end()) return;
  for (const StepNode& node : it->second.nodes)
    if (!node.is_gone) on_[node.share.node].erase(key);
  steps_.erase(it);
}

}  // namespace gw::ctld
