// The shepherd of one step: owns its processes from the fork to the last zombie, and outlives the node daemon.
// Invariants: it is a subreaper, so every process of the step stays below it; the exit record is on disk before anybody
// is told; it leaves only after Forget, with the step's processes, groups and folder gone. A shepherd whose folder was
// removed ends its step and leaves: nobody can find it, and the node will say that the run does not live here.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/state_machine.h"
#include "noded/step/containment.h"
#include "noded/step/proc/owned_fd.h"
#include "noded/step/shepherd/announcements.h"
#include "noded/step/shepherd/batch_task.h"
#include "noded/step/shepherd/step_lease.h"
#include "noded/step/shepherd/step_processes.h"
#include "noded/step/shepherd/step_suspension.h"
#include "noded/step/tasks/mpi.h"
#include "wire/step.pb.h"

namespace gw::noded::step {

class StepTasks;

struct ShepherdStates {
  /// It makes what the step needs. Orders that come too early are kept.
  struct Configuring {
    bool is_go_given = false;
    std::optional<wire::StepSuspend> suspend;
  };
  /// The step can start: by Go, or by its client.
  struct Ready {
    bool is_go_given = false;
    std::optional<wire::StepSuspend> suspend;
  };
  /// Its program runs, or it has none and Go came.
  struct Running {
    StepSuspension suspension;
  };
  /// Its exit has been recorded, and nobody has ordered its end yet.
  struct Exited {};
  /// What lives of it is being ended. Times are monotonic microseconds.
  struct Completing {
    bool is_forgotten = false;
    int64_t next_pass_at = 0;  // first the end of the grace, then the next kill pass
    int64_t give_up_at = 0;    // when survivors are reported; 0 before the first pass
    int passes = 0;
  };
  /// Nothing lives of it.
  struct Clean {
    bool is_forgotten = false;
    int64_t next_try_at = 0;  // to remove its groups
    int tries = 0;
  };
  /// The shepherd leaves.
  struct Leaving {
    bool has_removed_groups = false;
  };
  using Machine = base::StateMachine<
      base::Transitions<
          base::From<Configuring>::To<Ready>, base::From<Configuring>::To<Exited>,
          base::From<Configuring>::To<Completing>, base::From<Ready>::To<Running>, base::From<Ready>::To<Exited>,
          base::From<Ready>::To<Completing>, base::From<Running>::To<Exited>, base::From<Running>::To<Completing>,
          base::From<Exited>::To<Completing>, base::From<Completing>::To<Clean>, base::From<Clean>::To<Leaving>>,
      Configuring, Ready, Running, Exited, Completing, Clean, Leaving>;
};

class Shepherd : private ShepherdStates {
 public:
  /// `listener`: the socket in spec.dir, made by the launcher. `contain`: an unused object of spec.containment.kind, or
  /// the error to report.
  Shepherd(wire::StepSpec spec, proc::OwnedFd listener, base::Result<std::unique_ptr<Containment>> contain,
           MpiSupport mpi);
  ~Shepherd();

  /// Serves until Forget. Returns the exit code for the process: 0 if everything was removed.
  int run();

 private:
  std::string on_preempt_;  // what becomes of the job if it is preempted
  wire::StepSpec spec_;     // script, arguments and environment are let go once the task runs
  MpiSupport mpi_;
  proc::OwnedFd signals_;
  StepProcesses processes_;
  Announcements announcements_;
  StepLease lease_;
  BatchTask batch_;
  pid_t notice_writer_ = 0;           // writes a message to the job; 0: none does
  std::unique_ptr<StepTasks> tasks_;  // of a step whose client says what to run; it has no batch_ then
  Machine state_;
  int64_t look_at_ = 0;  // whether its folder is still there

  void set_up();
  void start_task();
  void start_access();
  void set_ready();
  wire::StepReady ready_message() const;
  void fail_start(model::EndReason reason, const std::string& detail);
  void release_bulk();

  void poll_once();
  int64_t next_timer() const;
  void wait(std::span<pollfd> fds);
  void on_timers(int64_t now);
  void look_for_folder(int64_t now);

  void reap();
  /// The tasks that run here.
  std::vector<TaskAt> tasks_at() const;
  void on_task_events();
  void on_task_event(const TaskEvent& event);
  void on_task_exit(int status);
  void on_step_news();
  void on_exec_done(pid_t task);
  void tell_memory(wire::StepExit& exit) const;
  void record_exit_now(wire::StepExit exit);

  void on_frame(const std::string& payload);
  void on_go();
  void on_signal_request(const wire::StepSignal& request);
  void on_stop(const wire::StepStop& request);
  void on_suspend(const wire::StepSuspend& request);
  void on_resume(const wire::StepResume& request);
  void on_forget();
  void on_usage_query(uint64_t id);
  void on_places(const wire::StepPlaces& places);

  void end_by_lease();
  void begin_completing();
  void kill_pass(int64_t now);
  void check_clean();
  void report_survivors();
  void try_leave();
  bool is_forgotten() const;
};

}  // namespace gw::noded::step
