// The tasks that a client launches in a step, from the client's order to the last of their processes.
// Invariants: a step is launched once; what its tasks are started from lives until all of them run; once it is to end
// no further task starts, and what does not go by itself in time is killed.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "base/state_machine.h"
#include "io/loop.h"
#include "noded/step/tasks/audience.h"
#include "noded/step/tasks/starter_watch.h"
#include "noded/step/tasks/step_mpi.h"
#include "noded/step/tasks/task_epilogs.h"
#include "noded/step/tasks/task_set.h"
#include "noded/step/tasks/task_streams.h"

namespace gw::noded::step {

/// Most that a client can say of the step's own time limit.
constexpr base::Duration kLongestLimit = base::hours(24 * 3660);
/// Between SIGTERM and SIGKILL at that limit.
constexpr base::Duration kLimitGrace = base::seconds(30);
/// Between SIGTERM and SIGKILL where nobody says.
constexpr base::Duration kEndGrace = base::seconds(5);
/// Without a client that says what to run, and no limit in the spec.
constexpr base::Duration kLaunchLimit = base::seconds(60);

struct TaskLaunchStates {
  /// No order has come. One that lets the tasks go may come before that which says what they are.
  struct Awaiting {
    io::Timer limit;
    std::optional<wire::GoTasks> go;
  };
  /// The starter has been forked. The tasks go once all can (`stands`) and their client says so (`go`).
  struct Starting {
    StepPlan plan;
    bool stands = false;
    std::optional<wire::GoTasks> go;
  };
  /// All have been started.
  struct Running {
    io::Timer limit, warning;
  };
  /// The end came before all had been started.
  struct CalledOff {
    Starting start;
    io::Timer kill;
  };
  /// All have been started, and are to end.
  struct Ending {
    Running run;
    io::Timer kill;
  };
  /// The last process has ended, and nobody has ended the step.
  struct Done {};
  /// Nothing runs, and nothing will: the step was ended.
  struct Ended {};
  using Machine =
      base::StateMachine<base::Transitions<base::From<Awaiting>::To<Starting>, base::From<Awaiting>::To<Ended>,
                                           base::From<Starting>::To<Running>, base::From<Starting>::To<CalledOff>,
                                           base::From<CalledOff>::To<Ending>, base::From<CalledOff>::To<Ended>,
                                           base::From<Running>::To<Ending>, base::From<Running>::To<Done>,
                                           base::From<Ending>::To<Ended>, base::From<Done>::To<Ended>>,
                         Awaiting, Starting, Running, CalledOff, Ending, Done, Ended>;
};

/// What a launch works on; all of it outlives the launch.
struct TaskParts {
  Audience& audience;
  TaskStreams& streams;
  TaskSet& tasks;
  StepMpi& mpi;
};

class TaskLaunch : private TaskLaunchStates {
 public:
  /// What goes up from here.
  struct Events {
    std::function<void()> changed;  ///< Somebody looks whether the step can continue.
    std::function<void()> wake;     ///< The shepherd has something to look at.
  };
  /// All references outlive it; `contain` is prepared. `hosts`: file to show as /etc/hosts, or empty.
  TaskLaunch(io::Loop& loop, const wire::StepSpec& spec, Containment& contain, const std::string& hosts,
             TaskParts parts, Events events);
  TaskLaunch(const TaskLaunch&) = delete;
  TaskLaunch& operator=(const TaskLaunch&) = delete;

  // --- orders
  /// A client is waited for from now on.
  void await();
  void launch(wire::LaunchTasks order);
  void go(wire::GoTasks order);
  /// It cannot run, or not on; the code is what the step then ends with.
  void fail(const base::Error& error, int code);
  void end(const std::string& why, base::Duration grace);
  /// The node daemon ends it, and does what is needed itself.
  void stop(const std::string& words);
  /// It kills all from now on.
  void on_kill() { epilogs_.stop(); }

  // --- what happens
  /// Whether it is one of its children that has ended.
  bool on_child(pid_t pid, int status);
  /// Goes over to the end if nothing of it lives and it is to go no further.
  void settle();

  // --- how far it has come
  bool is_awaited() const { return state_.is<Awaiting>(); }
  bool has_all_started() const { return !state_.is<Awaiting, Starting, CalledOff>(); }
  bool is_running() const { return state_.is<Running>(); }
  bool is_ending() const { return state_.is<CalledOff, Ending, Ended>(); }
  bool is_over() const { return state_.is<Done, Ended>(); }
  /// An owner that goes away leaves it running.
  bool may_run_on() const;
  /// It was launched so that others may take it over.
  bool is_kept() const { return manner_.is_kept; }
  /// At least one task has run, or may have.
  bool has_run() const { return has_run_; }
  /// Process id of the first task, once when all run.
  std::optional<uint32_t> take_started() { return std::exchange(started_, std::nullopt); }
  /// How it ended; nothing if it was ended before it began and there is nothing to tell.
  std::optional<wire::StepExit> exit(bool is_stopped) const;

 private:
  /// What its order says of its life.
  struct Manner {
    bool is_kept = false;
    bool ends_on_bad_exit = false;
  };
  struct Failure {
    base::Error error;
    int code = 1;
  };
  io::Loop& loop_;
  const wire::StepSpec& spec_;
  Containment& contain_;
  const std::string& hosts_;
  TaskParts parts_;
  Events events_;
  Machine state_;
  Manner manner_;
  std::optional<StarterWatch> starter_;  // until it has been reaped
  TaskEpilogs epilogs_;
  bool has_run_ = false;
  std::optional<uint32_t> started_;  // to be taken
  std::optional<Failure> failure_;

  base::Status start(wire::LaunchTasks order);
  void let_go(Starting& starting);

  void read_events();
  void on_event(const TaskEvent& event);
  void on_failed(StepTask& task, const TaskEvent& event);
  void on_stand();
  void on_started(StepTask& task, pid_t pid);
  void on_running(StepTask& task);
  Running run_of(const wire::LaunchTasks& order);
  void on_starter_end(int status);
  void on_task_end(StepTask& task, int status);

  bool has_living() const { return starter_ || parts_.tasks.has_living() || epilogs_.are_running(); }
  bool begin_end();
  void call_off();
  io::Timer* kill_timer();
  void kill_pass();
  void say(stream::StepState::Phase phase, const std::string& text = {});
};

}  // namespace gw::noded::step
