// MPI for the tasks of a step on this node, if its launch asks for it: what the helper and the tasks say of the end.
// Invariant: a task that asks for the end of all is first given the time to go by itself, with the code that it wants
// to be known for.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "noded/step/start/step_task.h"
#include "noded/step/tasks/mpi.h"
#include "noded/step/tasks/task_set.h"

namespace gw::noded::step {

class StepMpi {
 public:
  struct Events {
    std::function<bool()> is_ending;                  ///< The step is to end already.
    std::function<void(const std::string& why)> end;  ///< It cannot continue.
    std::function<void()> answered;                   ///< is_judging() is over.
  };
  /// All references outlive it. `hosts`: as of StepTasks.
  StepMpi(io::Loop& loop, const wire::StepSpec& spec, Containment& contain, const MpiSupport& support,
          const std::string& hosts, const TaskSet& tasks, Events events);

  /// If the launch asks for it, and the node has it or it must be: what all tasks have in their environment is added.
  /// Errors: as Mpi::open.
  base::Status open(StepPlan& plan);
  /// Where helpers of other nodes reach this one's; empty if there are none.
  std::string address() const { return mpi_ ? mpi_->address() : ""; }
  /// Tasks are about to run. Errors: as Mpi::go.
  base::Status go(const wire::GoTasks& order) { return mpi_ ? mpi_->go(order) : base::Status{}; }
  /// Whether it is the helper that has ended.
  bool on_child(pid_t pid, int status) { return mpi_ && mpi_->on_child(pid, status); }
  /// One that ran has ended badly.
  void on_task_failed(uint32_t rank);
  /// The helper still says whether others would wait for a task that has failed.
  bool is_judging() const { return mpi_ && mpi_->is_asked(); }
  /// The last task has ended.
  void close();

 private:
  struct Abort {
    uint32_t rank = 0;
    std::string why;
    io::Timer patience;
  };

  io::Loop& loop_;
  const wire::StepSpec& spec_;
  Containment& contain_;
  const MpiSupport& support_;
  const std::string& hosts_;
  const TaskSet& tasks_;
  Events events_;
  std::unique_ptr<Mpi> mpi_;
  std::optional<Abort> abort_;

  void end(const std::string& why);
  void on_abort(uint32_t rank, const std::string& why);
};

}  // namespace gw::noded::step
