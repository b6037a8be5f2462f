// Arrays of tasks: they wait as one job, and their tasks are made as jobs of their own when they may soon start.
// Invariants: no more tasks of an array wait before the scheduler than kMostWaitingTasks, and no more have not ended
// than its throttle says; tasks are made in the order of their indices; what is made at once is bounded.
#pragma once

#include <optional>
#include <vector>

#include "ctld/core/core.h"
#include "model/blocker.h"

namespace gw::ctld {

/// So many tasks of an array wait before the scheduler, at most. It starts fewer jobs than that in one pass.
constexpr uint32_t kMostWaitingTasks = 256;

/// Why no further task of the array is made now; nullopt: one may be.
std::optional<model::Blocker> why_no_task(const Core& core, const model::Job& array);

/// Makes tasks of those arrays that are to be looked at, up to a bound; a timer looks after the rest. At the end of
/// each transaction.
void make_due_tasks(Core& core);

/// The jobs of all its tasks in memory, by index.
std::vector<model::Job*> tasks_of(Core& core, base::JobId array);

}  // namespace gw::ctld
