// The life of a step as its client sees it: start, states, end.
#include "attach/step_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "wire/step_channels.h"

namespace gw::attach {

using base::Status;

namespace {

/// Ends of tasks that come together are told together.
constexpr base::Duration kReportDelay = base::milliseconds(20);

std::vector<std::string> nodes_by_rank(const std::vector<NodePlan>& plans) {
  size_t tasks = 0;
  for (const NodePlan& plan : plans) tasks += static_cast<size_t>(plan.launch.tasks_size());
  std::vector<std::string> names(tasks);
  for (const NodePlan& plan : plans)
    for (const wire::TaskOrder& task : plan.launch.tasks())
      if (task.rank() < tasks) names[task.rank()] = plan.node;
  return names;
}

}  // namespace

StepClient::StepClient(io::Loop& loop, const auth::KeyPair& key, StepOptions options, std::vector<NodePlan> plans,
                       Sink& out, Sink& error)
    : loop_(loop), key_(key), options_(std::move(options)), out_(out), error_(error), tasks_(nodes_by_rank(plans)) {
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
  const size_t channels = tasks_.size() * 2;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    Node& node = nodes_[i];
    node.plan.launch.set_go(nodes_.size() == 1);
    stream::ClientOptions options = options_.connection;
    options.address = node.plan.address;
    options.shepherd_key = node.plan.key;
    options.window_bytes = stream::bytes_per_channel(channels, options_.window_budget);
    node.session =
        std::make_unique<NodeSession>(loop_, key_, std::move(options), ask(i), i, static_cast<NodeEvents&>(*this));
    GW_TRY_STATUS(node.session->open(node.plan.launch));
    prepare_outputs(node);
    wire::StepOrder order;
    *order.mutable_launch() = node.plan.launch;
    node.session->order(order);
  }
  for (Node& node : nodes_) node.session->start();
  if (source_)
    source_->want();
  else
    end_input();
  return {};
}

void StepClient::order_all(const wire::StepOrder& order) {
  for (Node& node : nodes_)
    if (node.session && node.phase < Phase::kEnded) node.session->order(order);
}

void StepClient::on_control(size_t index, const stream::Control& control) {
  if (const auto* started = std::get_if<stream::TaskStarted>(&control)) tasks_.on_started(started->task);
  if (const auto* ended = std::get_if<stream::TaskEnded>(&control)) on_task_ended(*ended);
  if (const auto* state = std::get_if<stream::StepState>(&control)) on_state(index, *state);
  check_done();
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
      return check_running();
    case Of::kEnding:
      if (!state.text.empty() && !was_running) return fail_start(node, state.text);
      if (state.text.empty() || is_ending_) return;
      say(true, node.plan.node + ": " + state.text);
      if (!node.plan.launch.has_pmix() || tasks_.all_ended()) return;
      mpi_code_ = std::max(tasks_.exit_code(), 1);  // without one node's tasks those of the others wait for ever
      return end(options_.grace);
    case Of::kEnded:
      node.phase = std::max(node.phase, Phase::kEnded);
      node.session->end_input();
      node.session->forget_outputs();
      return check_running();
  }
}

void StepClient::go_if_ready() {
  if (has_gone_ || is_ending_) return;
  if (std::any_of(nodes_.begin(), nodes_.end(), [](const Node& n) { return n.phase == Phase::kWaiting; })) return;
  has_gone_ = true;
  if (nodes_.size() == 1) return;  // it was told with the launch
  wire::StepOrder order;
  wire::GoTasks& go = *order.mutable_go();
  if (nodes_.front().plan.launch.has_pmix())
    for (const Node& node : nodes_) go.add_addresses(node.peer_address);
  order_all(order);
}

void StepClient::check_running() {
  if (is_running_ || is_ending_) return;
  if (std::any_of(nodes_.begin(), nodes_.end(), [](const Node& n) { return n.phase < Phase::kRunning; })) return;
  is_running_ = true;
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
  if (!report_timer_.is_active()) report_timer_ = loop_.after(kReportDelay, [this] { report_ends(); });
  if (is_ending_ || tasks_.all_ended()) return;
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

void StepClient::on_closed(size_t index, const base::Error& reason) {
  Node& node = nodes_[index];
  const bool is_over = node.phase == Phase::kEnded && node.session->open_outputs() == 0;
  node.phase = Phase::kClosed;
  node.lost_timer.cancel();
  if (!is_over) {
    has_lost_ = true;
    say(true, node.plan.node + ": " + reason.text());
    if (!is_ending_) end(options_.grace);
  }
  pump_input();
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
  for (Node& node : nodes_)
    if (node.session && node.phase < Phase::kEnded)
      (void)node.session->session().send_control(stream::Signal{stream::kAllTasks, static_cast<uint8_t>(signo)});
}

void StepClient::resize(uint16_t rows, uint16_t columns) {
  Node& first = nodes_.front();
  if (first.session && first.phase < Phase::kEnded)
    (void)first.session->session().send_control(stream::WindowSize{rows, columns});
}

void StepClient::end(base::Duration grace) {
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
