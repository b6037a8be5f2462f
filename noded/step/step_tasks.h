// The tasks that a client launches in a step: from the client's first connection to the end of the last output. It has
// an event loop of its own, in which the shepherd waits.
// Invariants: one client at a time owns the step, and only one who may control it: who launches it, once, and of a step
// that is kept then who joins it. Others may watch, and are heard in nothing. What a client orders is checked;
// without it the tasks end, unless it said that they are to be kept. The step's end is told once, when its output is
// with the client or when there is nobody to take it.
#pragma once

#include <poll.h>

#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "auth/crypto.h"
#include "io/loop.h"
#include "noded/step/audience.h"
#include "noded/step/mpi.h"
#include "noded/step/rebind.h"
#include "noded/step/starter.h"
#include "noded/step/step_task.h"
#include "noded/step/task_io.h"
#include "noded/step/terminal.h"
#include "noded/step/usage.h"
#include "stream/server.h"
#include "wire/frame.h"
#include "wire/step_channels.h"

namespace gw::noded::step {

/// How long outputs of a step whose tasks have all ended are held open for processes that they left behind.
constexpr base::Duration kOutputLinger = base::seconds(2);
/// How long a client that is out of touch is waited for, while its side of the network is silent.
constexpr base::Duration kClientLimit = base::minutes(10);
/// The same if its side ended the connection: then it is most probably dead, unless something on the way did that.
constexpr base::Duration kDeadClientLimit = base::seconds(10);
/// Most that a client can say of the step's own time limit.
constexpr base::Duration kLongestLimit = base::hours(24 * 3660);
/// Between SIGTERM and SIGKILL at that limit.
constexpr base::Duration kLimitGrace = base::seconds(30);
/// Between SIGTERM and SIGKILL where nobody says.
constexpr base::Duration kEndGrace = base::seconds(5);
/// Most that a client can say.
constexpr base::Duration kLongestGrace = base::hours(1);
/// Without a client that says what to run, and no limit in the spec.
constexpr base::Duration kLaunchLimit = base::seconds(60);
/// Between the two sizes that a terminal gets when its programs are to draw it anew: time for them to see both.
constexpr base::Duration kRedrawPause = base::milliseconds(100);
/// How long a client may take nothing of what it has not got yet once the tasks have ended: somebody may have stopped
/// it.
constexpr base::Duration kSettleLimit = base::minutes(10);
/// How long the last words to a client hold up the shepherd's leaving.
constexpr base::Duration kFarewell = base::seconds(2);

class StepTasks {
 public:
  /// `spec`, `mpi` and `contain`, which is prepared, outlive it. `hosts`: file to show as /etc/hosts, or empty.
  StepTasks(const wire::StepSpec& spec, Containment& contain, std::string hosts, const MpiSupport& mpi);
  ~StepTasks();
  StepTasks(const StepTasks&) = delete;
  StepTasks& operator=(const StepTasks&) = delete;

  /// Listens. Errors: as io::Listener::open; a ticket key that is none.
  base::Status open();
  std::string address() const { return server_->bound_address(); }
  std::string key() const { return std::string(auth::view(key_.public_key())); }

  /// Serves until one of the shepherd's own descriptors is ready, there is something to tell, or the limit has passed
  /// (microseconds; 0: none).
  void wait(std::span<const pollfd> fds, int64_t limit_us);
  /// Whether it is one of the tasks that has ended.
  bool on_child(pid_t pid, int status);
  /// The node daemon ends the step: from now on nobody is waited for.
  void on_stop();
  /// The places of the spec have changed: tasks that run go there.
  void on_places();
  /// Tasks that run.
  std::vector<TaskAt> running() const;
  /// Process id of the first task, once when all run.
  std::optional<uint32_t> take_started();
  /// How the step ended, once.
  std::optional<wire::StepExit> take_exit();
  /// The client has heard everything, or was given the time to.
  bool may_leave();

 private:
  class Guest;
  class Watcher;
  enum class Phase { kListening, kStarting, kRunning, kDraining, kSettling, kClosing, kOver };

  /// Of tasks that are being started, until their starter has ended.
  struct Starting {
    Starter starter;
    io::Watch watch;  // of its events, and goes before them
    std::string buffer;
    std::map<pid_t, int> ended;  // children that are not known yet
  };

  const wire::StepSpec& spec_;
  Containment& contain_;
  std::string hosts_;
  const MpiSupport& mpi_support_;
  io::Loop loop_;
  base::SystemClock clock_;
  auth::KeyPair key_;
  std::unique_ptr<stream::Server> server_;
  Audience audience_;

  Phase phase_ = Phase::kListening;
  std::optional<StepPlan> plan_;  // let go once all tasks run
  std::vector<StepTask> tasks_;
  TaskCpus cpus_;
  std::optional<Starting> starting_;
  std::unique_ptr<Mpi> mpi_;
  wire::GoTasks go_order_;
  std::optional<std::pair<uint32_t, std::string>> abort_;  // a task that asked for the end, and its words
  std::list<TaskOutput> outputs_;
  std::optional<TaskInput> input_;
  int master_ = -1;  // of the terminal; input_ holds it
  bool is_kept_ = false;
  bool ends_on_bad_exit_ = false;
  bool stands_ = false;  // every task of this node
  bool may_go_ = false;
  bool needs_redraw_ = false;  // the terminal has gone over to another client
  bool is_ending_ = false;
  bool is_stopped_ = false;
  bool is_input_over_ = false;
  bool is_woken_ = false;
  bool has_run_ = false;   // at least one of them
  bool has_exit_ = false;  // to be taken
  std::optional<uint32_t> started_;
  std::optional<wire::StepExit> exit_;
  std::optional<base::Error> failure_;  // why it could not run
  int failure_code_ = 1;
  std::set<auth::Bytes32> known_;  // keys of clients that had a session
  io::Timer launch_timer_, end_timer_, linger_timer_, settle_timer_, farewell_timer_, redraw_timer_, abort_timer_;
  io::Timer limit_timer_, warn_timer_;
  enum class Farewell { kNone, kWaiting, kLastWord, kOver } farewell_ = Farewell::kNone;

  base::Result<std::shared_ptr<stream::Handler>> welcome(const auth::Ticket& ticket, stream::Session& session);
  base::Result<std::shared_ptr<stream::Handler>> watch(stream::Session& session);
  /// The first client that orders something has the step.
  bool is_free() const { return phase_ == Phase::kListening && audience_.owner() == nullptr; }
  base::Status may_join() const;
  void look(Guest& guest);
  void join(Guest& guest);
  void say_joined(stream::Session& session) const;
  void on_owner_gone(const base::Error& reason);
  void on_stranger_gone(const base::Error& reason);
  void on_order(Guest& guest, const std::string& frame);
  void break_off(const base::Error& error);
  void on_launch(wire::LaunchTasks launch);
  size_t on_input(std::string_view bytes);
  void on_input_end();
  void on_writable(stream::ChannelId channel);
  void on_control(const stream::Control& control);
  void resize(uint16_t rows, uint16_t columns);

  base::Status open_mpi();
  void end_mpi(const std::string& why);
  void on_abort(uint32_t rank, const std::string& why);
  base::Status launch_all();
  base::Result<TaskEnds> make_ends(size_t place);
  base::Result<proc::Fd> make_input();
  base::Result<proc::Fd> make_output(stream::ChannelId channel);
  base::Result<proc::Fd> make_terminal_ends();
  void add_output(proc::Fd fd, stream::ChannelId channel);
  void raise_file_limit();
  void let_go();

  void read_events();
  void on_event(const TaskEvent& event);
  void on_failed(StepTask& task, const TaskEvent& event);
  void on_stand();
  void on_started(StepTask& task, pid_t pid);
  void on_running(StepTask& task);
  void arm_limit();
  void on_starter_end(int status);
  void call_off();
  void on_task_end(StepTask& task, int status);
  void signal_tasks(uint32_t rank, int signo);
  void fail(base::Error error, int code);
  void end(const std::string& why, base::Duration grace);
  void kill_pass();
  bool has_living() const;
  void advance();
  void drain();
  size_t untaken() const;
  void await_client(size_t untaken_before);
  void tell_exit();
  void say(stream::StepState::Phase phase, const std::string& text = {});
  void wake() { is_woken_ = true; }
};

}  // namespace gw::noded::step
