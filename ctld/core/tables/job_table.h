// The jobs that the controller knows: all that have not ended, and those that ended a while ago.
// Invariants: what is counted here is true of the jobs, since their state and their QOS change through this table
// alone; a number is given once, whatever becomes of its job; equal limits of processes take memory once.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "ctld/core/tables/array_table.h"
#include "ctld/core/tables/dependents.h"
#include "model/job.h"
#include "store/rows.h"

namespace gw::ctld {

class JobTable {
 public:
  using Map = std::map<base::JobId, model::Job>;
  using Counts = std::array<uint64_t, model::kJobStateCount>;

  JobTable();

  const Map& all() const { return jobs_; }
  bool contains(base::JobId id) const { return jobs_.contains(id); }
  /// Null: nobody knows it any more, or ever did.
  const model::Job* find(base::JobId id) const;
  model::Job* find(base::JobId id);
  const model::Job& at(base::JobId id) const { return jobs_.at(id); }
  model::Job& at(base::JobId id) { return jobs_.at(id); }
  /// Calls `fn` with each job, in the order of their numbers. It neither adds nor removes one.
  template <typename Fn>
  void each(const Fn& fn) {
    for (auto& [id, job] : jobs_) fn(job);
  }

  /// A job that waits, under the next number.
  model::Job& enter(base::Time now, model::JobSpec spec);
  /// An array of these tasks, under the next number, which its place in the array gets, too.
  model::Job& enter_array(base::Time now, model::JobSpec spec, model::ArrayTasks tasks);
  /// The next task of the array or of a part, as a job that waits: a new one, or the part itself if none is left after
  /// it.
  model::Job& make_next_task(model::Job& array);
  /// A part of its own, which waits, of tasks that were some of this part's; `rest` are the others, and neither is
  /// empty.
  model::Job& cut_array(model::Job& part, model::TaskSet taken, model::TaskSet rest);
  /// One that the store had.
  model::Job& restore(model::Job job);
  /// One that has ended leaves memory.
  void erase(base::JobId id);

  /// Moves the job on. False: the event does not fit its state, and nothing was changed.
  bool advance(model::Job& job, model::JobEvent event);
  /// Something else did not fit the state of its job.
  void count_unexpected_event() { ++unexpected_events_; }
  /// Events that did not fit; zero in a healthy controller.
  uint64_t unexpected_events() const { return unexpected_events_; }
  void change_spec(model::Job& job, model::JobSpec spec);
  void change_qos(model::Job& job, const std::string& qos);

  /// Jobs that have not ended.
  size_t live() const { return live_; }
  const Counts& counts() const { return counts_; }
  /// Jobs of a QOS itself that have not ended, tasks that are left of arrays among them: all, and those of one user.
  size_t submitted_to(const std::string& qos) const;
  size_t submitted_to(const std::string& qos, uint32_t uid) const;

  /// The first job of that user and name that has not ended; none: there is no such job.
  base::JobId first_named(uint32_t uid, const std::string& name) const;
  ArrayTable& arrays() { return arrays_; }
  const ArrayTable& arrays() const { return arrays_; }
  /// Who waits for whom.
  Dependents& dependents() { return dependents_; }
  const Dependents& dependents() const { return dependents_; }

  /// The number that the next job gets.
  base::JobId next() const { return next_; }
  /// Are there numbers for so many more?
  bool has_numbers_for(size_t more) const;
  /// Numbers below are not given any more.
  void skip_to(base::JobId next);
  /// An id of its own for what a job holds beside its first share: a node that an elastic gang got later, or what a
  /// suspended job keeps.
  base::JobId take_holding_id();
  void skip_holding_ids_to(base::JobId next);
  /// As the store has them.
  void restore_next(base::JobId next) { next_ = next; }
  void restore_next_holding_id(base::JobId next) { next_holding_id_ = next; }
  /// Rows of the numbers that were given since the last call.
  store::Batch take_rows();

 private:
  Map jobs_;
  base::JobId next_{1};
  base::JobId next_holding_id_;
  bool is_next_new_ = false, is_next_holding_id_new_ = false;  // not in the store yet
  size_t live_ = 0;
  uint64_t unexpected_events_ = 0;
  Counts counts_{};
  std::map<std::string, std::map<uint32_t, uint32_t>> submitted_;           // QOS -> uid -> jobs without an end
  std::map<uint32_t, std::map<std::string, std::set<base::JobId>>> named_;  // uid -> name -> jobs without an end
  Dependents dependents_;
  ArrayTable arrays_;
  std::vector<model::Limits> limit_sets_;  // those of present submissions, to be shared

  uint64_t& count(model::JobState state) { return counts_[static_cast<size_t>(state)]; }
  void list_name(const model::Job& job, bool is_live);
  void count_submitted(const model::Job& job, int change);
  void share_limits(model::JobSpec& spec);
};

}  // namespace gw::ctld
