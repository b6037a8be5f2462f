// What arrays are beside the jobs that their tasks are: the tasks that are left, and what became of those that were
// made. Tasks that are left stand under a job, their part; an array begins as one part, its own job, and is cut where
// somebody asks for some of its tasks only. Invariants: an array stands here as long as its own job, a part or a task
// is in memory; no task is in two parts, or both in one that waits and a job; what is counted is true of the jobs in
// memory, since JobTable alone tells of them; what was changed is written with the next commit.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/ids.h"
#include "model/array.h"
#include "model/job.h"
#include "store/rows.h"

namespace gw::ctld {

class ArrayTable {
 public:
  struct Array {
    uint32_t throttle = 0, completed = 0, failed = 0;  ///< As in model::ArrayTasks.
    std::map<base::JobId, model::TaskSet> parts;       ///< Of one that has ended, the tasks that will never be.
    std::set<base::JobId> ready;                       ///< Parts of which tasks may be made.
    uint32_t waiting_parts = 0;
    std::map<uint32_t, base::JobId> jobs;  ///< Of the tasks in memory, by their index.
    uint32_t live = 0;                     ///< Of these, those that have not ended.
    uint32_t waiting = 0;                  ///< Of these, those that wait.
    uint32_t starting = 0;                 ///< Of these, those that are placed and have not started.
    std::map<uint32_t, bool> aside;        ///< Of those that wait, those that are not before the scheduler: held?
    uint32_t held = 0;                     ///< Of these, those that are held, or wait for ever.
    std::set<uint32_t> above;              ///< Of these, those that wait for the throttle alone.
    uint32_t told_of = 0;                  ///< What its user was mailed about (model::MailEvent).
    /// All its tasks have come to an end.
    bool is_over() const { return waiting_parts == 0 && live == 0; }
    /// So many run or may start: the throttle bounds them.
    uint32_t going() const { return live - static_cast<uint32_t>(aside.size()); }
    bool has_room() const { return throttle == 0 || going() < throttle; }
    /// As it is told of its part `id`.
    model::ArrayTasks told(base::JobId id) const;
  };

  const std::map<base::JobId, Array>& all() const { return arrays_; }
  const Array* find(base::JobId array) const;
  /// The tasks that this part stands for; null: it is none.
  const model::TaskSet* tasks_of(const model::Job& part) const;
  /// The job that is this task, or the part that stands for it; nullopt: nobody has it.
  std::optional<base::JobId> job_of(base::JobId array, uint32_t task) const;
  void add(base::JobId array, model::ArrayTasks tasks);
  /// Cuts `taken` off from a part: they stand under the number `to` from now on.
  void cut(const model::Job& part, base::JobId to, model::TaskSet taken, model::TaskSet rest);
  /// One task of a part stands under another one of the array from now on. False: that part would have more than
  /// `most_ranges`, and nothing has changed.
  bool move(const model::Job& part, const model::Job& to, uint32_t task, size_t most_ranges);
  void set_throttle(base::JobId array, uint32_t throttle);
  /// As the store has it. False: nothing is known of the array that it is a part of.
  bool restore(base::JobId id, model::ArrayTasks tasks);
  /// After all jobs were restored: what stands for jobs that are not in memory any more goes. Tasks of parts that are
  /// held aside count as failed: nobody is told that all went well.
  void forget_lost(const std::map<base::JobId, model::Job>& jobs, const std::map<base::JobId, std::string>& held_aside);
  /// Takes the first of those that are left of a part.
  uint32_t take_next(const model::Job& part);

  /// A part, or a job that is a task, is in memory, or not any more. `is_known`: the array's own job is.
  void came(const model::Job& job);
  void went(const model::Job& job, bool is_known);
  /// It was in the state `before`.
  void moved(const model::Job& job, model::JobState before);
  /// The part has no tasks left: its job is its last one from now on.
  void part_became_task(const model::Job& part);

  /// May tasks be made of this part?
  void set_ready(const model::Job& part, bool is_ready);
  /// Would more tasks be before the scheduler than the throttle allows, with this one, which waits?
  bool is_above(const model::Job& task) const;
  /// The task waits for `reason`; for nothing: it is before the scheduler.
  void set_wait(const model::Job& task, model::WaitReason reason);
  /// Takes it, which is not held, from the scheduler, which is told by whoever looks at the job next.
  void put_aside(const model::Job& task);

  /// Its user is about to be mailed about this. False: he was before.
  bool tell_once(base::JobId array, uint32_t event);

  /// More tasks may have to be made.
  void look_again(base::JobId array) { due_.try_emplace(array); }
  struct Due {
    base::JobId array;
    std::optional<uint32_t> room_of;  ///< Room of this user was given to it.
  };
  std::optional<Due> take_due();
  bool has_due() const { return !due_.empty(); }
  /// It is looked at again when a job of that user has ended.
  void wait_for_room(uint32_t uid, base::JobId array) { waits_for_room_[uid].insert(array); }
  /// Of those that wait for this one looks again.
  void room_for(uint32_t uid);
  /// There may be room for every user.
  void room_for_all();

  /// Rows of what was changed since the last call.
  store::Batch take_rows();

 private:
  struct Change {
    base::JobId array;
    bool are_ranges_new = false;
  };
  std::map<base::JobId, Array> arrays_;
  std::map<base::JobId, std::optional<uint32_t>> due_;        // with whose room was given to it
  std::map<uint32_t, std::set<base::JobId>> waits_for_room_;  // by uid
  std::map<base::JobId, Change> changed_;                     // by part, or by the array itself

  Array* of(const model::Job& job);
  void changed(base::JobId id, base::JobId array, bool are_ranges_new = false);
  void count(const model::Job& task, model::JobState state, int change);
  void part_ended(const model::Job& part);
  static void drop_aside(Array& array, uint32_t task);
};

}  // namespace gw::ctld
