// Arrays of tasks: they wait as one job, and their tasks are made as jobs of their own when they may soon start.
// Invariants: no more tasks of an array wait before the scheduler than kMostWaitingTasks, and no more are before it or
// run than its throttle says, unless that was lowered while they ran; tasks of a part are made in the order of their
// indices; what is made at once is bounded.
#pragma once

#include <optional>
#include <vector>

#include "ctld/core/core.h"
#include "model/blocker.h"

namespace gw::ctld {

/// So many tasks of an array wait before the scheduler, at most. It starts fewer jobs than that in one pass.
constexpr uint32_t kMostWaitingTasks = 256;
/// So many parts an array may be cut into.
constexpr size_t kMostParts = 100;
/// So many ranges what is left of a part may have.
constexpr size_t kMostRanges = 10'000;

/// Why no further task of this part of an array is made now; nullopt: one may be.
std::optional<model::Blocker> why_no_task(const Core& core, const model::Job& part);
/// As many tasks of this one's array as may run do so, or are about to.
model::Blocker throttle_of(const Core& core, const model::Job& task);

/// Makes tasks of those arrays that are to be looked at, up to a bound; a timer looks after the rest. At the end of
/// each transaction.
void make_due_tasks(Core& core);

/// The jobs of all its tasks in memory, by index, and then its parts.
std::vector<JobId> jobs_of_array(const Core& core, JobId array);

/// Of the array of `job`, which is over, the task in memory that ended worst.
const model::Job& worst_task(const Core& core, const model::Job& job);

/// A job that somebody named by tasks of an array: a task, or a part and those of its tasks that were meant.
struct NamedTasks {
  JobId job;
  model::TaskSet some;  ///< Of a part, if not all; empty: all of the job.
};
/// Who has these tasks; there may be some that nobody has.
std::vector<NamedTasks> find_tasks(const Core& core, JobId array, const model::TaskSet& asked);
/// Of an array that is asked about by its own number the task that is next in line, else the job itself.
const model::Job& next_of(const Core& core, const model::Job& job);
/// Tasks that a change of the job is one of, too: of an array by its own number all that wait and ask for the same,
/// else its own.
model::TaskSet tasks_like(const Core& core, const model::Job& job, const model::Job& next);

/// What becomes of a part that is cut off.
enum class CutTo : uint8_t {
  kEnd,
  kWait,
  kNever,  ///< It waits for ever: whoever's doing that is, the bounds of parts and of users' jobs do not hold it up.
};

/// A part that stands for the named tasks alone, cut off if need be. Errors: kConflict: what is left could not be said
/// in kMostRanges, or the array has so many parts that wait as it may; kNotFound: none of them is left; kUnavailable:
/// no number is left, or the user has as many jobs as he may.
base::Result<model::Job*> cut_off(Core& core, const NamedTasks& named, CutTo what_for);

/// So many tasks run at once from now on, at most; 0: any number. Tasks above it that have not started wait again.
void set_throttle(Core& core, JobId array, uint32_t throttle);

}  // namespace gw::ctld
