// The shepherd of one step: owns its processes from the fork to the last zombie, and outlives the node daemon.
// Invariants: it is a subreaper, so every process of the step stays below it; the exit record is on disk before anybody
// is told; what it has said it says again to every new connection; it leaves only after Forget, with the step's
// processes, groups and folder gone. A shepherd whose folder was removed ends its step and leaves: nobody can find it,
// and the node will say that the run does not live here.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "noded/step/channel.h"
#include "noded/step/containment.h"
#include "noded/step/lease_timer.h"
#include "noded/step/mpi.h"
#include "noded/step/proc/fd.h"
#include "noded/step/task.h"
#include "wire/node.pb.h"
#include "wire/step.pb.h"

namespace gw::noded::step {

class StepTasks;

/// Version of step.proto that this build speaks; it also understands the one before.
constexpr uint32_t kStepProtocol = 1;

/// The containment limits of a spec as plug-ins take them.
ContainSpec contain_spec(const wire::Containment& message);

class Shepherd {
 public:
  /// `listener`: the socket in spec.dir, made by the launcher. `contain`: an unused object of spec.containment.kind, or
  /// the error to report.
  Shepherd(wire::StepSpec spec, proc::Fd listener, base::Result<std::unique_ptr<Containment>> contain, MpiSupport mpi);

  ~Shepherd();

  /// Serves until Forget. Returns the exit code for the process: 0 if everything was removed.
  int run();

 private:
  // How far the step has come. The order is the order of life.
  enum class Phase { kSettingUp, kReady, kRunning, kOver, kStopping, kClean };

  std::string on_preempt_;  // what becomes of the job if it makes way for another
  wire::StepSpec spec_;     // script, arguments and environment are let go once the task runs
  proc::Fd listener_;
  proc::Fd signals_;
  base::Result<std::unique_ptr<Containment>> contain_;
  MpiSupport mpi_;
  std::list<Channel> channels_;
  Task task_;
  std::unique_ptr<StepTasks> tasks_;  // of a step whose client says what to run; there is then no task_
  std::string events_buffer_;
  Phase phase_ = Phase::kSettingUp;
  bool task_alive_ = false;  // not yet reaped
  bool has_children_ = false;
  bool started_ = false;  // execve succeeded, or there is no task and Go came
  bool go_given_ = false;
  bool forgotten_ = false;
  bool leaving_ = false;
  bool left_groups_ = false;  // a group could not be removed
  std::optional<StartFailure> failure_;
  std::optional<wire::StepStarted> said_started_;
  std::optional<wire::StepExit> exit_;
  std::optional<wire::StepClean> clean_;
  wire::NodeUsage usage_;    // as it was
  int64_t usage_at_ = 0;     // then
  int64_t peak_rss_kb_ = 0;  // largest process, where no group measures memory
  // Monotonic microseconds; 0: not set.
  int64_t next_pass_at_ = 0;  // first the end of the grace, then the next kill pass
  int64_t give_up_at_ = 0;    // when survivors are reported
  int64_t freeze_at_ = 0;     // it was told that it is to stand still
  int64_t look_at_ = 0;       // whether its folder is still there
  base::BootTime heard_at_;   // when the controller was: the lease counts from here
  LeaseTimer lease_timer_;
  std::optional<wire::StepSuspended> suspended_;
  std::optional<wire::StepSuspend> early_;  // came before the task ran
  uint32_t round_ = 0;                      // of the last suspension
  int passes_ = 0;
  int leave_tries_ = 0;

  void set_up();
  void start_task();
  void start_access();
  void set_ready();
  wire::FromShepherd ready_message() const;
  void on_tasks_end(wire::StepExit exit);
  void tell_memory(wire::StepExit& exit) const;
  void fail_start(model::EndReason reason, const std::string& detail);
  void poll_once();
  int64_t next_timer() const;
  void wait(std::span<pollfd> fds);
  void on_step_news();

  void on_signal();
  void reap();
  void on_task_exit(int status);
  void on_task_events();
  void on_task_event(const TaskEvent& event);
  void on_exec_done();
  void on_connection();
  void on_frame(const std::string& payload);
  void on_go();
  void on_signal_request(const wire::StepSignal& request);
  void on_stop(const wire::StepStop& request);
  void on_suspend(const wire::StepSuspend& request);
  void on_resume(const wire::StepResume& request);
  void stand_still();
  void on_forget();
  void on_usage_query(uint64_t id);
  void on_places(const wire::StepPlaces& places);
  void on_timers(int64_t now);
  void look_for_folder(int64_t now);
  base::BootTime lease_over_at() const;
  void end_by_lease();

  std::optional<wire::Stop> tell_order(int64_t grace_us, std::string_view what);
  int stop_signal(const wire::StepStop& request);
  void signal_step(int signo);
  void kill_pass(int64_t now);
  void check_clean();
  bool is_empty();
  void report_survivors();
  MemoryUse memory() const;
  void record_exit_now(wire::StepExit exit);
  void say(const wire::FromShepherd& message);
  void say_all_to(Channel& channel);
  void try_leave();
  void release_bulk();
  bool has_contain() const { return contain_.has_value() && *contain_ != nullptr; }
};

}  // namespace gw::noded::step
