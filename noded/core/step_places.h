// Where the tasks of running steps may run: a step that nobody gave CPUs for its tasks may use what no other step of
// its job has claimed, and is told when that changes. Invariants: pure; a step is told only what differs from what it
// knows; the steps of a job are told at most once in kPause, so that many short steps beside each other cost little.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/bitset.h"
#include "base/time.h"
#include "noded/core/run.h"

namespace gw::noded {

/// What of the node's cores the tasks of a step may use beside those that it has claimed. Nothing where a step of the
/// job that runs has no claim on record.
base::IndexSet unclaimed_by_others(const NodeFacts& node, const std::map<RunKey, Run>& runs, RunKey step);

class StepPlaces {
 public:
  static constexpr base::Duration kPause = base::seconds(1);

  /// A step of the job has come or gone, or can be told again.
  void changed(base::Time now, RunKey job);
  /// The step knows these from its start.
  void knows(RunKey step, const wire::StepAccess& access);
  /// What the step knows is not known any more.
  void doubt(RunKey step) { known_.erase(step); }
  void forget(RunKey run);
  /// What is to be told now; those out of touch are left for when they can be.
  std::vector<std::pair<RunKey, wire::StepPlaces>> take_due(base::Time now, const NodeFacts& node,
                                                            const std::map<RunKey, Run>& runs);
  /// When take_due() is to be asked next.
  base::Time next_due() const;

 private:
  struct Pace {
    base::Time due = base::Time::never();
    base::Time last;
  };
  std::map<RunKey, Pace> paces_;                      // by job
  std::map<RunKey, std::vector<std::string>> known_;  // by step
};

}  // namespace gw::noded
