// The steps of jobs that run, and where they are.
// Invariants: a step is here from when it is begun until nothing of it is left; the index by node has those whose part
// there is not gone; a step's counts of ready and gone nodes are those of its nodes.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "ctld/core/tables/row_marks.h"
#include "model/job.h"
#include "model/step.h"

namespace gw::ctld {

/// A step, and its part on one node; null: there is none.
struct StepAt {
  model::Step* step = nullptr;
  model::StepNode* node = nullptr;
};

class StepTable {
 public:
  using Map = RowMarks::Steps;

  const Map& all() const { return steps_; }
  model::Step* find(StepKey key);
  /// Of the job's present attempt.
  model::Step* find(const model::Job& job, uint32_t number);
  /// In the order of their numbers.
  std::vector<model::Step*> of(base::JobId job);
  size_t count_of(base::JobId job) const;
  /// As a node names it; `step_plus_one` as in its messages.
  StepAt at(base::NodeId node, uint32_t job, uint32_t attempt, uint32_t step_plus_one);
  /// Those that are on a node, of one job or of all.
  std::vector<StepKey> on(base::NodeId node, base::JobId of = {}) const;

  /// A new one, or one that the store had: nothing of it is ready.
  model::Step& keep(model::Step step);
  /// Nothing of the step is left on the node.
  void left(model::Step& step, model::StepNode& node);
  void drop(StepKey key);

 private:
  Map steps_;
  std::map<base::NodeId, std::set<StepKey>> on_;
};

}  // namespace gw::ctld
