// What arrays are beside the jobs that their tasks are: the tasks that are left, and what became of those that were
// made. Invariants: an array stands here as long as its own job or one of its tasks is in memory; what is counted is
// true of the jobs in memory, since JobTable alone tells of them; what was changed is written with the next commit.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "base/ids.h"
#include "model/array.h"
#include "model/job.h"
#include "store/rows.h"

namespace gw::ctld {

class ArrayTable {
 public:
  struct Array {
    model::ArrayTasks tasks;
    std::map<uint32_t, base::JobId> jobs;  ///< Of the tasks in memory, by their index.
    uint32_t live = 0;                     ///< Of these, those that have not ended.
    uint32_t waiting = 0;                  ///< Of these, those that wait.
    uint32_t starting = 0;                 ///< Of these, those that are placed and have not started.
    /// All its tasks have come to an end.
    bool is_over() const { return tasks.left.empty() && live == 0; }
  };

  const std::map<base::JobId, Array>& all() const { return arrays_; }
  const Array* find(base::JobId array) const;
  void add(base::JobId array, model::ArrayTasks tasks);
  /// As the store has it.
  void restore(base::JobId array, model::ArrayTasks tasks) { arrays_[array].tasks = std::move(tasks); }
  /// Takes the first of those that are left.
  uint32_t take_next(base::JobId array);
  /// Those that are left will never be made.
  void give_up(base::JobId array);

  /// A job that is a task of an array is in memory, or not any more. `is_known`: the array's own job is.
  void came(const model::Job& task);
  void went(const model::Job& job, bool is_known);
  /// It was in the state `before`.
  void moved(const model::Job& task, model::JobState before);

  /// More tasks may have to be made.
  void look_again(base::JobId array) { due_.insert(array); }
  std::optional<base::JobId> take_due();
  bool has_due() const { return !due_.empty(); }
  /// It is looked at again when a job of that user has ended.
  void wait_for_room(uint32_t uid, base::JobId array) { waits_for_room_[uid].insert(array); }
  /// Of those that wait for this one looks again.
  void room_for(uint32_t uid);

  /// Rows of what was changed since the last call.
  store::Batch take_rows();

 private:
  std::map<base::JobId, Array> arrays_;
  std::set<base::JobId> due_;
  std::map<uint32_t, std::set<base::JobId>> waits_for_room_;  // by uid
  std::set<base::JobId> changed_;

  void count(const model::Job& task, model::JobState state, int change);
};

}  // namespace gw::ctld
