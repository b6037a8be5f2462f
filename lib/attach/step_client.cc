// The life of a step as its client sees it: start, states, end.
#include "attach/step_client.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include "attach/tickets.h"
#include "base/reach.h"
#include "wire/step_channels.h"

namespace gw::attach {

using base::Status;
using stream::ChannelId;

namespace {

/// Ends of tasks that come together are told together.
constexpr base::Duration kReportDelay = base::milliseconds(20);

/// Empty for tasks that the plans do not name.
std::vector<std::string> nodes_by_rank(const std::vector<NodePlan>& plans, size_t at_least) {
  size_t tasks = 0;
  for (const NodePlan& plan : plans) tasks += static_cast<size_t>(plan.launch.tasks_size());
  std::vector<std::string> names(std::max(tasks, at_least));
  for (const NodePlan& plan : plans)
    for (const wire::TaskOrder& task : plan.launch.tasks())
      if (task.rank() < tasks) names[task.rank()] = plan.node;
  return names;
}

/// Each node takes a descriptor. Logins usually have room for 1,024, and may have more if they ask.
Status raise_file_limit(size_t nodes) {
  constexpr rlim_t kOwn = 64;
  rlimit limit{};
  const rlim_t wanted = kOwn + static_cast<rlim_t>(nodes);
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) return {};
  if (limit.rlim_max < wanted)
    return base::invalid(fmt::format("a step on {} nodes takes {} open files here, and this login may have {}", nodes,
                                     wanted, limit.rlim_max),
                         "ulimit -Hn says so; ask for fewer nodes, or have the limit raised");
  limit.rlim_cur = wanted;
  if (::setrlimit(RLIMIT_NOFILE, &limit) == 0) return {};
  return base::fail_errno(fmt::format("raising the limit of open files to {}", wanted), errno);
}

}  // namespace

StepClient::StepClient(io::Loop& loop, const auth::KeyPair& key, StepOptions options, std::vector<NodePlan> plans,
                       Sink& out, Sink& error)
    : loop_(loop),
      key_(key),
      options_(std::move(options)),
      out_(out),
      error_(error),
      tasks_(nodes_by_rank(plans, options_.tasks)) {
  for (NodePlan& plan : plans) nodes_.emplace_back().plan = std::move(plan);
  for (Sink* sink : {&out_, &error_}) {
    sink->on_ready([this, sink] { resume_output(*sink); });
    sink->on_broken([this](const base::Error& why) { on_broken(why); });
  }
}

StepClient::~StepClient() {
  *alive_ = false;
  for (Sink* sink : {&out_, &error_}) {
    sink->on_ready({});
    sink->on_broken({});
  }
}

Status StepClient::start(const AskFor& ask) {
  GW_TRY_STATUS(raise_file_limit(nodes_.size()));
  size_t channels = 0;
  for (const Node& node : nodes_) channels += 2 * static_cast<size_t>(node.plan.launch.tasks_size());
  for (size_t i = 0; i < nodes_.size(); ++i) {
    Node& node = nodes_[i];
    node.plan.launch.set_go(nodes_.size() == 1);
    stream::ClientOptions options = options_.connection;
    options.address = node.plan.address;
    options.shepherd_key = node.plan.key;
    options.window_bytes = stream::bytes_per_channel(channels, options_.window_budget);
    node.session =
        std::make_unique<NodeSession>(loop_, key_, std::move(options), ask(i), i, static_cast<NodeEvents&>(*this));
    GW_TRY_STATUS(open(node));
  }
  for (Node& node : nodes_) node.session->start();
  // What is typed to a step that cannot be joined yet waits for who tries again.
  if (source_ && options_.part != Part::kJoin) source_->want();
  if (source_) return {};
  if (!options_.keeps_input_open) end_input();
  return {};
}

Status StepClient::open(Node& node) {
  wire::StepOrder order;
  if (options_.part == Part::kLaunch) {
    GW_TRY_STATUS(node.session->open(node.plan.launch));
    prepare_outputs(node);
    *order.mutable_launch() = node.plan.launch;
    node.session->order(order);
    return {};
  }
  GW_TRY_STATUS(
      node.session->open(static_cast<uint32_t>(node.plan.launch.tasks_size()), options_.part == Part::kWatch));
  if (options_.part == Part::kWatch) return {};
  order.mutable_look();
  node.session->order(order);
  return {};
}

void StepClient::order_all(const wire::StepOrder& order) {
  for (Node& node : nodes_)
    if (node.session && node.phase < Phase::kEnded) node.session->order(order);
}

void StepClient::on_control(size_t index, const stream::Control& control) {
  if (const auto* joined = std::get_if<stream::Joined>(&control)) on_joined(nodes_[index], *joined);
  if (const auto* started = std::get_if<stream::TaskStarted>(&control)) {
    on_joined_task(nodes_[index], started->task);
    tasks_.on_started(started->task);
  }
  if (const auto* ended = std::get_if<stream::TaskEnded>(&control)) on_task_ended(*ended);
  if (const auto* state = std::get_if<stream::StepState>(&control)) on_state(index, *state);
  check_done();
}

void StepClient::on_joined(Node& node, const stream::Joined& joined) {
  if (options_.part == Part::kLaunch || node.joined) return;
  node.joined = 0;
  // The controller and the node should agree; what is said of others is passed over.
  auto& tasks = *node.plan.launch.mutable_tasks();
  const int places = std::min(tasks.size(), static_cast<int>(std::min<uint32_t>(joined.tasks, INT32_MAX)));
  tasks.DeleteSubrange(places, tasks.size() - places);
  node.plan.launch.set_pty(joined.has_terminal);
  if (joined.has_terminal) screen_ = joined;
}

/// The ranks of its tasks, in the order of their places.
void StepClient::on_joined_task(Node& node, uint32_t rank) {
  if (!node.joined || *node.joined >= node.plan.launch.tasks_size()) return;
  node.plan.launch.mutable_tasks((*node.joined)++)->set_rank(rank);
  tasks_.set_node(rank, node.plan.node);
}

void StepClient::on_state(size_t index, const stream::StepState& state) {
  Node& node = nodes_[index];
  using Of = stream::StepState::Phase;
  const bool was_running = node.phase >= Phase::kRunning;
  switch (state.phase) {
    case Of::kStarting:
      node.phase = std::max(node.phase, Phase::kReady);
      node.peer_address = state.text;
      return go_if_ready();
    case Of::kRunning:
      node.phase = std::max(node.phase, Phase::kRunning);
      check_running();
      if (options_.part != Part::kLaunch && node.outputs.empty()) show(node);
      return;
    case Of::kEnding:
      if (!state.text.empty() && !was_running) return fail_start(node, state.text);
      if (state.text.empty() || is_ending_) return;
      if (state.text.starts_with(wire::kStepTimeLimit)) return on_limit(state.text);
      say(true, node.plan.node + ": " + state.text);
      if (!node.plan.launch.has_pmix() || tasks_.all_ended() || state.text == wire::kStepIsEnded) return;
      mpi_code_ = std::max(tasks_.exit_code(), 1);  // without one node's tasks those of the others wait for ever
      return end(options_.grace);
    case Of::kEnded:
      node.phase = std::max(node.phase, Phase::kEnded);
      node.session->end_input();
      node.session->forget_outputs();
      return check_running();
  }
}

/// Each node says so, at the same time.
void StepClient::on_limit(const std::string& text) {
  if (!std::exchange(is_limit_told_, true)) say(true, "step " + options_.step + ": " + text);
}

/// What has waited for its tasks to be known.
void StepClient::show(Node& node) {
  prepare_outputs(node);
  for (ChannelId channel = wire::output_channel(0); channel < node.outputs.size(); ++channel)
    node.session->session().pull(channel);
}

void StepClient::go_if_ready() {
  if (has_gone_ || is_ending_) return;
  if (std::any_of(nodes_.begin(), nodes_.end(), [](const Node& n) { return n.phase == Phase::kWaiting; })) return;
  has_gone_ = true;
  wire::StepOrder order;
  if (options_.part == Part::kJoin) {
    order.mutable_join();
    return order_all(order);
  }
  if (nodes_.size() == 1) return;  // it was told with the launch
  wire::GoTasks& go = *order.mutable_go();
  if (nodes_.front().plan.launch.has_pmix())
    for (const Node& node : nodes_)
      go.add_addresses(base::reachable_address(node.peer_address, base::host_of_address(node.plan.address)));
  order_all(order);
}

void StepClient::check_running() {
  if (is_running_ || is_ending_) return;
  if (std::any_of(nodes_.begin(), nodes_.end(), [](const Node& n) { return n.phase < Phase::kRunning; })) return;
  is_running_ = true;
  if (source_ && options_.part == Part::kJoin) source_->want();
  if (std::exchange(is_end_held_, false)) on_input_end();
  if (running_fn_) running_fn_();
}

void StepClient::fail_start(Node& node, const std::string& text) {
  if (is_ending_) return;  // the first node that fails is named; the others are told to end
  say(true, node.plan.node + ": " + text);
  start_failed_ = true;
  end({});
}

void StepClient::on_task_ended(const stream::TaskEnded& ended) {
  tasks_.on_ended(ended.task, ended.exit_code, ended.signal);
  if (options_.quiet_ends && ended.signal != 0 && !is_ending_ && !is_departing_) report_killed();
  if (!report_timer_.is_active()) report_timer_ = loop_.after(kReportDelay, [this] { report_ends(); });
  if (is_ending_ || is_departing_ || tasks_.all_ended()) return;
  if (options_.ends_on_bad_exit && (ended.exit_code != 0 || ended.signal != 0)) {
    report_ends();
    say(false, "ending step " + options_.step + " because of a task that failed");
    return end(options_.grace);
  }
  if (options_.wait_after_first && tasks_.ended() == 1)
    first_exit_timer_ = loop_.after(*options_.wait_after_first, [this] {
      say(false, fmt::format("the first task ended {} s ago: ending the others", options_.wait_after_first->seconds()));
      for (const std::string& line : tasks_.state_lines(options_.step)) say(false, line);
      end(options_.grace);
    });
}

void StepClient::report_ends() {
  report_timer_.cancel();
  for (const std::string& line : tasks_.take_bad_ends())
    if (!start_failed_ && !own_code_ && !options_.quiet_ends) say(true, line);
}

/// Who was killed could not say so itself.
void StepClient::report_killed() {
  for (const std::string& line : tasks_.take_bad_ends()) say(true, line);
}

void StepClient::on_closed(size_t index, const base::Error& reason) {
  Node& node = nodes_[index];
  if (is_departing_) return;
  if (reason.what == wire::kTakenOver) {
    return depart(kExitTakenOver);
  }
  const bool is_over = node.phase == Phase::kEnded && node.session->open_outputs() == 0;
  node.phase = Phase::kClosed;
  node.lost_timer.cancel();
  if (options_.part != Part::kLaunch && !node.joined) return on_not_joined(node, reason);
  if (!is_over) {
    has_lost_ = true;
    say(true, node.plan.node + ": " + reason.text());
    if (options_.part != Part::kLaunch) return depart(1);
    if (!is_ending_) end(options_.grace);
  }
  pump_input();
  check_done();
}

/// The tasks of one node may have ended, or not have begun, while the others run.
void StepClient::on_not_joined(Node& node, const base::Error& reason) {
  is_too_early_ = reason.what == wire::kTasksNotStarted;
  if (is_too_early_) return depart(1);
  const bool is_last =
      std::all_of(nodes_.begin(), nodes_.end(), [](const Node& n) { return n.phase == Phase::kClosed && !n.joined; });
  const bool have_ended = reason.what == wire::kTasksHaveEnded || reason.what == kStepHasEnded;
  if (!have_ended || (is_last && options_.part == Part::kWatch)) {
    say(true, node.plan.node + ": " + reason.text());
    return depart(1);
  }
  misses_ends_ = true;
  node.plan.launch.clear_tasks();
  say(false, "the tasks on " + node.plan.node + " have ended");
  if (is_last) return check_done();
  go_if_ready();
  check_running();
  check_done();
}

void StepClient::on_connected(size_t index, bool is_connected, const std::string& reason) {
  Node& node = nodes_[index];
  if (is_connected) {
    node.lost_timer.cancel();
    if (std::exchange(node.is_said_lost, false))
      say(false, "connected to " + node.plan.node + (node.was_connected ? " again" : ""));
    node.was_connected = true;
    return;
  }
  node.lost_reason = reason;
  if (node.is_said_lost || node.lost_timer.is_active() || node.phase >= Phase::kEnded) return;
  node.lost_timer = loop_.after(options_.say_lost_after, [this, index] {
    Node& lost = nodes_[index];
    lost.is_said_lost = true;
    say(false,
        fmt::format("{} to {}: {}; trying again", lost.was_connected ? "lost the connection" : "no connection yet",
                    lost.plan.node, lost.lost_reason));
  });
}

void StepClient::signal(int signo) {
  if (options_.part == Part::kWatch) return;
  for (Node& node : nodes_)
    if (node.session && node.phase < Phase::kEnded)
      (void)node.session->session().send_control(stream::Signal{stream::kAllTasks, static_cast<uint8_t>(signo)});
}

void StepClient::resize(uint16_t rows, uint16_t columns) {
  if (options_.part == Part::kWatch) return;
  Node& first = nodes_.front();
  if (first.session && first.phase < Phase::kEnded)
    (void)first.session->session().send_control(stream::WindowSize{rows, columns});
}

void StepClient::end(base::Duration grace) {
  if (options_.part == Part::kWatch) return;
  is_ending_ = true;
  first_exit_timer_.cancel();
  wire::StepOrder order;
  order.mutable_end()->set_grace_us(grace.us);
  order_all(order);
  end_timer_ = loop_.after(grace + options_.patience_at_end, [this] { give_up_waiting(); });
}

void StepClient::kill() {
  for (Node& node : nodes_)
    if (node.session) node.session->refuse_outputs();
  if (is_ending_) signal(SIGKILL);  // the grace that it was told is over
  end({});
  check_done();
}

void StepClient::leave() {
  is_done_scheduled_ = true;  // it never comes
  source_.reset();
  end_timer_.cancel();
  first_exit_timer_.cancel();
  for (Node& node : nodes_) node.session.reset();
}

void StepClient::depart(int exit_code) {
  if (std::exchange(is_departing_, true) || is_done_scheduled_) return;
  is_done_scheduled_ = true;
  for (io::Timer* timer : {&end_timer_, &first_exit_timer_, &report_timer_, &key_timer_}) timer->cancel();
  loop_.defer([this, alive = alive_, exit_code] {
    if (!*alive) return;
    source_.reset();
    for (Node& node : nodes_)
      if (node.session && !node.session->session().is_closed()) node.session->leave();
    wait_departed(exit_code, 0);
  });
}

/// So that a node knows at once that nobody is there, and does not wait for this client to come back.
void StepClient::wait_departed(int exit_code, int looks) {
  constexpr int kMostLooks = 200;
  const bool is_gone =
      std::none_of(nodes_.begin(), nodes_.end(), [](const Node& n) { return n.session && n.session->is_connected(); });
  if (!is_gone && looks < kMostLooks) {
    end_timer_ = loop_.after(base::milliseconds(5), [=, this] { wait_departed(exit_code, looks + 1); });
    return;
  }
  if (done_fn_) done_fn_(exit_code);
}

std::vector<std::string> StepClient::node_names() const {
  std::vector<std::string> names;
  for (const Node& node : nodes_) names.push_back(node.plan.node);
  return names;
}

std::vector<std::vector<uint32_t>> StepClient::layout() const {
  std::vector<std::vector<uint32_t>> ranks;
  for (const Node& node : nodes_) {
    auto& here = ranks.emplace_back();
    for (const wire::TaskOrder& task : node.plan.launch.tasks()) here.push_back(task.rank());
  }
  return ranks;
}

void StepClient::give_up_waiting() {
  for (Node& node : nodes_) {
    if (node.phase >= Phase::kEnded && node.session->open_outputs() == 0) continue;
    has_lost_ = true;
    say(true, node.plan.node + ": no answer; its tasks may still run");
    node.session->refuse_outputs();
    node.phase = Phase::kClosed;
  }
  check_done();
}

// A session that its shepherd has not closed yet is waited for: what it does not know to be taken it would keep.
void StepClient::check_done() {
  if (is_done_scheduled_) return;
  for (const Node& node : nodes_) {
    if (node.phase == Phase::kClosed) continue;
    if (node.phase != Phase::kEnded || node.session->open_outputs() > 0) return;
  }
  const bool all_closed =
      std::all_of(nodes_.begin(), nodes_.end(), [](const Node& n) { return n.phase == Phase::kClosed; });
  if (!all_closed) {
    if (!is_ending_ || !end_timer_.is_active()) {
      is_ending_ = true;
      end_timer_ = loop_.after(options_.grace, [this] {
        for (Node& node : nodes_) node.phase = Phase::kClosed;
        check_done();
      });
    }
    return;
  }
  if (!out_.is_flushed() || !error_.is_flushed()) return;
  is_done_scheduled_ = true;
  end_timer_.cancel();
  loop_.defer([this, alive = alive_] {
    if (!*alive) return;
    report_ends();
    if (done_fn_) done_fn_(exit_code());
  });
}

int StepClient::exit_code() const {
  if (own_code_) return *own_code_;
  if (start_failed_) return std::max(tasks_.own_exit_code(), 1);
  if (mpi_code_) return std::max(tasks_.own_exit_code(), *mpi_code_);
  return has_lost_ ? std::max(tasks_.exit_code(), 1) : tasks_.exit_code();
}

void StepClient::say(bool is_error, const std::string& text) const {
  if (say_fn_) say_fn_(is_error, text);
}

}  // namespace gw::attach
