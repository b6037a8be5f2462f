// Nodes that could be part of a gang, in the order of their positions, and runs of neighbours among them: which sizes a
// gang of neighbours may have, and where it goes. Invariant: each question costs time in proportion to the nodes, times
// the switches that a run may be behind where that is bounded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "sched/place/feasible_nodes.h"

namespace gw::sched {

/// One node of a gang.
struct Pick {
  const FeasibleGroup* group = nullptr;
  uint32_t position = 0;
};

/// What some nodes hold together.
struct Sums {
  uint64_t tasks = 0, gpus = 0, required = 0, weight = 0;
  void add(const Pick& p) {
    tasks += p.group->max_tasks;
    gpus += p.group->gpus;
    required += p.group->required;
    weight += p.group->account->facts.weight;
  }
  void take(const Pick& p) {
    tasks -= p.group->max_tasks;
    gpus -= p.group->gpus;
    required -= p.group->required;
    weight -= p.group->account->facts.weight;
  }
};

/// A stretch of positions.
struct Range {
  uint32_t first = 0;
  uint32_t last = UINT32_MAX;
};

class Neighbours {
 public:
  /// What all nodes of the gang together must hold.
  struct Needs {
    uint64_t tasks = 0, gpus = 0, required = 0;
    uint32_t leaves = 0;  ///< At most so many leaf switches; 0: any number.
  };
  /// The groups outlive it.
  Neighbours(const std::vector<FeasibleGroup>& groups, const NodeIndex& index, const Needs& needs);

  /// The most neighbours, from `least` to `most`, that are in one of the ranges and hold the gang; 0: none do.
  uint32_t most_nodes(const std::vector<Range>& ranges, uint32_t least, uint32_t most) const;
  /// The fewest.
  uint32_t fewest_nodes(const std::vector<Range>& ranges, uint32_t least, uint32_t most) const;
  /// Of all runs of so many neighbours in the range that hold the gang the lightest; of those the one in the shortest
  /// run of nodes that could be part of it, so that long runs last; of those the first.
  std::optional<std::vector<Pick>> pick(const Range& range, uint32_t nodes) const;
  /// Nodes in runs of fewer than `nodes`.
  uint32_t lonely(uint32_t nodes) const;

 private:
  struct Run {
    size_t from = 0, to = 0;  // of there_
  };
  std::vector<Pick> there_;       // by position
  std::vector<uint32_t> leaves_;  // how often another leaf begins up to each of them
  Needs needs_;

  bool holds(const Sums& sums) const;
  bool is_behind_few(size_t first, size_t last) const;
  void each_run(const Range& range, const std::function<void(Run)>& visit) const;
  /// Also ended where more leaves would be needed than there may be; such runs overlap.
  void each_allowed(const std::vector<Range>& ranges, const std::function<void(Run)>& visit) const;
  bool holds_somewhere(Run run, uint32_t nodes) const;
};

}  // namespace gw::sched
