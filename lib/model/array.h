// Array jobs: many tasks of one script that were submitted at once. The array is a job itself, under the number that
// its user was told: it waits like any other, is never before the scheduler while it has tasks left, and becomes its
// own last task. A task is made, as a job of its own, when it may soon start. Pure. Invariant: a task that is left is
// no job, and none that is a job is left.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "model/task_set.h"

namespace gw::model {

/// What a job that is no task shows for the number of one (Slurm's NO_VAL).
constexpr uint32_t kNoArrayTask = 4'294'967'294;

/// Which array a job belongs to, and as what.
struct ArrayPlace {
  base::JobId job;               ///< The array's own number.
  uint32_t task = kNoArrayTask;  ///< Index of the task; kNoArrayTask: it is the array, with tasks left.
  // Of the array as it was submitted:
  uint32_t count = 0;  ///< Tasks.
  uint32_t least = 0;  ///< Smallest index.
  uint32_t most = 0;   ///< Largest index.
  uint32_t step = 1;   ///< Between the indices of one range; 1 if there are several.
  bool is_task() const { return task != kNoArrayTask; }
  bool operator==(const ArrayPlace&) const = default;
};

/// What an array is beside the jobs that its tasks are.
struct ArrayTasks {
  TaskSet left;            ///< Not made yet.
  uint32_t throttle = 0;   ///< So many run at once, at most; 0: any number.
  uint32_t completed = 0;  ///< Of those that were made, in the end.
  uint32_t failed = 0;     ///< Those that came to another end, before they were made or after.
  base::JobId part_of;     ///< It is a part of this array, which alone counts; none: it is an array.
  bool operator==(const ArrayTasks&) const = default;
};

}  // namespace gw::model
