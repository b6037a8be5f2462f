// The client of a whole step: launches its tasks on all nodes as one, or joins those that run, or watches them; carries
// their input and output, and says how it ended.
// Invariants: no task runs before every node stands ready; a node that cannot start its tasks ends the whole step. Who
// did not launch the step never ends it. The step is done when each task has ended and every byte of output was
// written, or was given up with a message. Nothing is called back once the client has gone; on_done comes once, from
// the loop.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attach/detach_key.h"
#include "attach/line_writer.h"
#include "attach/node_session.h"
#include "attach/sink.h"
#include "attach/source.h"
#include "attach/task_table.h"
#include "base/screen_modes.h"

namespace gw::attach {

/// What a client is to its step.
enum class Part : uint8_t {
  kLaunch,  ///< Says what to run.
  kJoin,    ///< Takes over what runs.
  kWatch,   ///< Sees what runs, and is heard in nothing.
};

/// One node's part: where its shepherd is, and what to launch there (`go` is set here). Of a step that runs the number
/// of tasks is what counts.
struct NodePlan {
  std::string node;
  std::string address;
  auth::Bytes32 key{};
  wire::LaunchTasks launch;
};

struct StepOptions {
  std::string step;  ///< "7.0", for messages.
  Part part = Part::kLaunch;
  bool label = false;
  bool unbuffered = false;  ///< Output goes on as it comes, also in the middle of lines.
  bool ends_on_bad_exit = false;
  bool quiet_ends = false;                             ///< Tasks that fail say so: nothing is, but of the first killed.
  bool may_detach = false;                             ///< By its key, from a terminal.
  bool keeps_input_open = false;                       ///< Without input here the tasks get no end of it.
  std::optional<uint32_t> only_output, only_error;     ///< Of this task; what others print is passed over.
  size_t tasks = 0;                                    ///< Of the whole step, if they are more than the plans have.
  std::optional<base::Duration> wait_after_first;      ///< After the first task's end; then the others are ended.
  base::Duration grace = base::seconds(2);             ///< Between SIGTERM and SIGKILL.
  base::Duration patience_at_end = base::seconds(20);  ///< For nodes that were told to end the step.
  base::Duration say_lost_after = base::seconds(1);    ///< See StepClient::on_say.
  stream::ClientOptions connection;                    ///< Addresses and keys aside.
  size_t window_budget = size_t{64} << 20;             ///< For all output channels together.
};

/// What the exit code of a step is when nobody reads its output any more: as of a program that SIGPIPE ended.
constexpr int kExitPipe = 141;
/// The same where another client took the step over; nothing is said of that.
constexpr int kExitTakenOver = 75;

class StepClient final : private NodeEvents {
 public:
  /// What a node's session needs in order to ask for tickets.
  using AskFor = std::function<stream::Client::AskFn(size_t node)>;
  /// A message for the user; errors are what made the step fail.
  using SayFn = std::function<void(bool is_error, const std::string& text)>;

  /// `plans` has at least one task. The key, the loop and the sinks outlive it.
  StepClient(io::Loop& loop, const auth::KeyPair& key, StepOptions options, std::vector<NodePlan> plans, Sink& out,
             Sink& error);
  ~StepClient() override;

  void on_say(SayFn fn) { say_fn_ = std::move(fn); }
  /// Every task runs.
  void on_running(io::Callback fn) { running_fn_ = std::move(fn); }
  void on_done(std::function<void(int exit_code)> fn) { done_fn_ = std::move(fn); }
  /// The user wants to leave; see depart().
  void on_detach(io::Callback fn) { detach_fn_ = std::move(fn); }
  /// Input for the tasks; without it they get none.
  void take_input(Descriptor from);
  /// Raises this process's limit of open files if it must. Errors: more nodes than that may be raised for; more tasks
  /// on a node than a session has channels for.
  base::Status start(const AskFor& ask);

  void signal(int signo);
  void resize(uint16_t rows, uint16_t columns);
  /// SIGTERM to all tasks, SIGKILL after the grace.
  void end(base::Duration grace);
  /// SIGKILL, and what they still print is dropped.
  void kill();
  /// Leaves the tasks alone and drops the connections; on_done does not come. Not from inside a callback of this.
  void leave();
  /// Leaves the tasks alone and says so to their nodes; then on_done, with this code.
  void depart(int exit_code);
  /// It was to join a step whose tasks do not run yet; on_done comes, and whoever likes tries again.
  bool is_too_early() const { return is_too_early_; }
  /// The end of some tasks is not known, or some of their output is missing.
  bool has_lost() const { return has_lost_; }
  /// The tasks of some node had ended before they could be joined or watched: their codes are not among those here.
  bool misses_ends() const { return misses_ends_; }
  /// It left before the step's end, was turned away, or has lost a node: its code is not that of the tasks.
  bool has_departed() const { return is_departing_; }
  /// Every task has run at some time.
  bool is_running() const { return is_running_; }
  /// It joined a step that has a terminal, whose size is this.
  std::optional<stream::Joined> screen() const { return screen_; }
  /// What puts a terminal back that has shown what came.
  std::string screen_leave() const { return modes_.leave(); }
  std::vector<std::string> node_names() const;
  /// ranks[node][place]; complete once all tasks run.
  std::vector<std::vector<uint32_t>> layout() const;
  const TaskTable& tasks() const { return tasks_; }
  const std::string& step() const { return options_.step; }
  Source* source() { return source_.get(); }
  /// Ends the connections without ending the sessions. For tests.
  void drop_connections();

 private:
  enum class Phase : uint8_t { kWaiting, kReady, kRunning, kEnded, kClosed };
  struct Output {
    std::optional<LineWriter> writer;
    bool is_waiting = false;  // in blocked_
  };
  struct Node {
    NodePlan plan;
    std::unique_ptr<NodeSession> session;
    Phase phase = Phase::kWaiting;
    std::optional<int> joined;    // how many of its tasks are known
    std::vector<Output> outputs;  // by channel
    io::Timer lost_timer;
    bool was_connected = false;
    bool is_said_lost = false;
    std::string lost_reason;
    std::string peer_address;  // of its PMIx helper
  };

  io::Loop& loop_;
  const auth::KeyPair& key_;
  StepOptions options_;
  std::vector<Node> nodes_;
  Sink& out_;
  Sink& error_;
  SharedLine out_line_, error_line_;
  TaskTable tasks_;
  std::unique_ptr<Source> source_;
  std::string piece_;  // of input, not yet taken by every node
  bool is_input_over_ = true;
  bool is_end_held_ = false;  // of input, until it is known whether there is a terminal
  std::deque<std::pair<size_t, stream::ChannelId>> blocked_;
  SayFn say_fn_;
  io::Callback running_fn_;
  std::function<void(int)> done_fn_;
  io::Callback detach_fn_;
  DetachKey detach_key_;
  base::ScreenModes modes_;
  std::optional<stream::Joined> screen_;
  bool has_gone_ = false;  // GoTasks was sent
  bool is_running_ = false;
  bool is_ending_ = false;  // EndTasks was sent
  bool start_failed_ = false;
  bool has_lost_ = false;        // a node's tasks, or output
  bool misses_ends_ = false;     // of a node's tasks
  std::optional<int> mpi_code_;  // a node of an MPI program failed: the exit code at least
  bool is_departing_ = false;
  bool is_too_early_ = false;
  bool is_limit_told_ = false;
  std::optional<int> own_code_;
  io::Timer report_timer_, first_exit_timer_, end_timer_, key_timer_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  bool is_done_scheduled_ = false;

  size_t on_output(size_t node, stream::ChannelId channel, std::string_view bytes) override;
  void on_output_end(size_t node, stream::ChannelId channel) override;
  void on_input_room() override;
  void on_control(size_t node, const stream::Control& control) override;
  void on_closed(size_t node, const base::Error& reason) override;
  void on_connected(size_t node, bool is_connected, const std::string& reason) override;

  base::Status open(Node& node);
  void on_joined(Node& node, const stream::Joined& joined);
  void on_joined_task(Node& node, uint32_t rank);
  void on_not_joined(Node& node, const base::Error& reason);
  void on_limit(const std::string& text);
  void show(Node& node);
  void wait_departed(int exit_code, int looks);
  bool is_left_out(const Node& node, stream::ChannelId channel) const;
  std::string without_keys(std::string_view piece);
  void on_key_alone();
  void prepare_outputs(Node& node);
  void order_all(const wire::StepOrder& order);
  void pump_input();
  void end_input();
  void on_input_end();
  void on_piece(std::string_view piece);
  void resume_output(const Sink& sink);
  void on_broken(const base::Error& why);
  void on_state(size_t node, const stream::StepState& state);
  void on_task_ended(const stream::TaskEnded& ended);
  void fail_start(Node& node, const std::string& text);
  void go_if_ready();
  void check_running();
  void give_up_waiting();
  void report_ends();
  void report_killed();
  void check_done();
  int exit_code() const;
  void say(bool is_error, const std::string& text) const;
};

}  // namespace gw::attach
