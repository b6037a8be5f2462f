// The scheduler's one entry: plan() looks at a view and says what should happen. Pure and deterministic: same view,
// same policy, same budget, same plan. Invariants: decisions of one group hold together or fall together; a plan never
// gives one resource twice; the view is unchanged when plan() returns, but for the memory of what was told to waiting
// classes and the cursor.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "model/job_state.h"
#include "sched/view.h"

namespace gw::sched {

/// How many steps a pass may take; never milliseconds, so that a replay is exact.
struct Budget {
  uint64_t placements = 100'000;  ///< Requests held against the nodes.
  uint64_t starts = 1'000;        ///< Start decisions; the next pass goes on.
};

/// Settings that the order of service depends on; plug-ins hook in here.
struct Policy {
  std::string order = "priority";
};

/// Start this gang there.
struct Start {
  JobId job;
  std::string partition;
  model::Allocation allocation;
};
/// All jobs of this class wait. Told when it changes.
struct Wait {
  ClassKey job_class = 0;
  model::WaitReason reason = model::WaitReason::kNone;
  std::string detail;  ///< For people: everything that is in the way.
};
using Decision = std::variant<Start, Wait>;
/// Decisions that hold together or fall together.
struct Group {
  std::vector<Decision> decisions;
};

struct Plan {
  uint64_t epoch = 0;                               ///< Of the view it was made from.
  std::vector<Group> groups;                        ///< In the order in which they were decided.
  bool exhausted = false;                           ///< The budget ran out: plan again at once.
  base::Time next_change_at = base::Time::never();  ///< First moment at which time alone could change an answer.
};

Plan plan(ClusterView& view, const Policy& policy, const Budget& budget);

/// Does a start still hold? Asked by the controller before it commits a decision: partition up, nodes usable, resources
/// free in its own ledger, request met. The error says what no longer holds.
base::Status check(const Capacity& capacity, const PendingJob& job, const Start& start);

}  // namespace gw::sched
