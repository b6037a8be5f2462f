// What the exit code of a step is made of. Pure.
// Invariant: a stronger cause is never replaced by a weaker one: what this program failed in, then tasks that could not
// be started, then an MPI program that lost a node, then what the tasks themselves said.
#pragma once

#include "attach/step/task_table.h"
#include "base/state_machine.h"

namespace gw::attach {

class StepVerdict {
 public:
  struct OfTasks {};
  /// A node of an MPI program failed: the code at least.
  struct MpiFailed {
    int at_least = 1;
  };
  /// Some node could not start its tasks.
  struct NotStarted {};
  /// Output could not be written here.
  struct Own {
    int code = 1;
  };

  void mpi_failed(int at_least) { cause_.change_if<OfTasks>(MpiFailed{at_least}); }
  void not_started() { cause_.change_if<OfTasks>(NotStarted{}); }
  void own(int code) { cause_.change_if<OfTasks, MpiFailed, NotStarted, Own>(Own{code}); }
  /// The end of some tasks is not known, or some of their output is missing.
  void lose() { has_lost_ = true; }
  bool has_lost() const { return has_lost_; }
  /// The tasks of some node had ended before they could be joined or watched.
  void miss_ends() { misses_ends_ = true; }
  bool misses_ends() const { return misses_ends_; }
  /// It says more than how single tasks ended.
  bool outweighs_tasks() const { return cause_.is<NotStarted, Own>(); }

  int exit_code(const TaskTable& tasks) const;

 private:
  using Table = base::Transitions<base::From<OfTasks>::To<MpiFailed, NotStarted, Own>, base::From<MpiFailed>::To<Own>,
                                  base::From<NotStarted>::To<Own>, base::From<Own>::To<Own>>;
  base::StateMachine<Table, OfTasks, MpiFailed, NotStarted, Own> cause_;
  bool has_lost_ = false;
  bool misses_ends_ = false;
};

}  // namespace gw::attach
