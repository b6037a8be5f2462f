// What the scheduler would do with one job as things are: asked between two passes, by running a pass over a view in
// which nobody waits but that job, as it is or as it would be, and those who keep something from others
// (sched/view/what_if.h). So the answer is the planner's own. Invariants: the view is as it was when look_ahead()
// returns; what is said of a start now holds until something changes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/outlook.h"
#include "sched/cycle/plan.h"

namespace gw::sched {

using model::AheadBy;
using model::When;

struct Ahead {
  JobId job;
  AheadBy rule = AheadBy::kUnknown;
  Time start;  ///< That is planned for it; zero: none.
  std::string partition;
};

struct Outlook {
  bool is_cut = false;  ///< The steps were used up before its turn: nothing is known.
  When when = When::kUnknown;
  Time start;    ///< If all that runs uses its whole limit; zero: not foreseen.
  Time room_at;  ///< When the limits that hold it back will have room for it, likewise; where it runs then is not
                 ///< planned.
  std::string partition;
  std::vector<std::string> nodes;
  std::vector<Start> starts;     ///< If it starts now: of each component.
  std::vector<JobId> victims;    ///< Who would be preempted, or moved, for it.
  std::vector<JobId> waits_for;  ///< Running jobs that hold what it is to have then; those that end last come first.
  model::WaitReason reason = model::WaitReason::kNone;
  model::Blockers blockers;  ///< While it does not start now.
  std::vector<Ahead> ahead;  ///< Waiting jobs that it may not delay, in the order of their starts.
};

/// Steps of one question: a job with a thousand partitions does not hold up the passes.
constexpr uint64_t kStepsOfQuestion = 2'000;

/// `job` need not wait before the scheduler, and need not ask for what it asks for now.
Outlook look_ahead(ClusterView& view, const PendingJob& job, Time now);

}  // namespace gw::sched
