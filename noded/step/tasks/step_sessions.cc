// The sessions of a step's clients, and what they ask for.
#include "noded/step/tasks/step_sessions.h"

#include <algorithm>
#include <cstring>

#include "noded/step/start/task_terminal.h"
#include "noded/step/state/listen_place.h"
#include "wire/frame.h"
#include "wire/step_channels.h"

namespace gw::noded::step {

using base::ErrorCode;

/// The session of a client that may control the step: of the one that owns it, or of one that has not said yet what it
/// wants, or has been refused.
class StepSessions::ControlSession : public stream::Handler {
 public:
  ControlSession(StepSessions& step, stream::Session& session) : step_(step), session_(session) {}
  ~ControlSession() override { step_.events_.wake(); }  // the shepherd may wait for it
  ControlSession(const ControlSession&) = delete;
  ControlSession& operator=(const ControlSession&) = delete;

  stream::Session& session() { return session_; }
  bool is_owner() const { return step_.parts_.audience.owner() == &session_; }
  void refuse(const base::Error& error) {
    hearing_ = Hearing::kRefused;
    session_.close(error);
  }
  /// The step is this client's now.
  void own() {
    step_.parts_.audience.set_owner(&session_);
    if (is_input_over_) step_.parts_.streams.on_input_end();
  }
  /// What follows of its orders means nothing.
  void break_off(const base::Error& error) {
    hearing_ = Hearing::kDeaf;
    if (step_.is_free()) own();
    if (!is_owner()) return refuse(error);
    if (!step_.launch_.is_ending()) step_.launch_.fail(error, 1);
  }

  size_t on_bytes(stream::ChannelId channel, std::string_view bytes) override {
    if (channel == wire::kInputChannel) return is_owner() ? step_.parts_.streams.on_input(bytes) : 0;
    orders_.feed(bytes);
    while (hearing_ != Hearing::kDeaf && !session_.is_closed()) {
      const auto frame = orders_.next();
      if (!frame) break_off(frame.error());
      if (!frame || !*frame) break;
      step_.on_order(*this, **frame);
    }
    return bytes.size();
  }
  void on_end(stream::ChannelId channel) override {
    if (channel != wire::kInputChannel) return;
    is_input_over_ = true;
    if (is_owner()) step_.parts_.streams.on_input_end();
  }
  void on_writable(stream::ChannelId channel) override {
    if (is_owner()) step_.parts_.streams.resume(channel);
  }
  void on_control(const stream::Control& control) override {
    if (is_owner()) step_.on_control(control);
  }
  void on_settled() override { step_.events_.changed(); }
  void on_closed(const base::Error& reason) override {
    if (is_owner())
      step_.on_owner_gone(reason);
    else if (hearing_ != Hearing::kRefused)
      step_.on_stranger_gone(reason);
  }

 private:
  /// Its orders are heard; it has broken the protocol; it has been refused, and its session closed.
  enum class Hearing { kHeard, kDeaf, kRefused };

  StepSessions& step_;
  stream::Session& session_;
  wire::FrameDecoder orders_{wire::kMaxStepOrder};
  Hearing hearing_ = Hearing::kHeard;
  bool is_input_over_ = false;
};

/// One that may only watch: what it says is not asked for, so that its session ends if it says something.
class StepSessions::WatchSession : public stream::Handler {
 public:
  WatchSession(StepSessions& step, stream::Session& session) : step_(step), session_(session) {}
  ~WatchSession() override { step_.events_.wake(); }
  WatchSession(const WatchSession&) = delete;
  WatchSession& operator=(const WatchSession&) = delete;

  size_t on_bytes(stream::ChannelId, std::string_view bytes) override { return bytes.size(); }
  void on_end(stream::ChannelId) override {}
  void on_writable(stream::ChannelId channel) override { step_.parts_.audience.on_room(session_, channel); }
  void on_control(const stream::Control&) override {}
  void on_settled() override { step_.events_.changed(); }
  void on_closed(const base::Error&) override { step_.parts_.audience.remove_watcher(session_); }

 private:
  StepSessions& step_;
  stream::Session& session_;
};

StepSessions::StepSessions(io::Loop& loop, const wire::StepSpec& spec, TaskParts parts, TaskLaunch& launch,
                           Events events)
    : loop_(loop), spec_(spec), parts_(parts), launch_(launch), events_(std::move(events)), terminal_size_(loop) {}

StepSessions::~StepSessions() {
  parts_.audience.set_owner(nullptr);
  server_.reset();
}

base::Status StepSessions::open() {
  constexpr size_t kReplayBudget = 2 << 20, kWatchBudget = 256 << 10;
  constexpr size_t kMostOwners = 8;  // who owns the step, and those whose sessions have not gone yet
  const wire::StepAccess& access = spec_.access();
  stream::ServerOptions options;
  options.address = listen_place(access);
  options.step = {spec_.uid(), spec_.job(), access.step(), spec_.attempt(), access.generation()};
  if (access.ticket_key().size() != options.controller_key.size())
    return base::invalid("the controller's key for tickets is no key");
  std::memcpy(options.controller_key.data(), access.ticket_key().data(), options.controller_key.size());
  const size_t channels = 2 * static_cast<size_t>(std::max(access.places_size(), 1));
  options.replay_bytes = stream::bytes_per_channel(channels, kReplayBudget);
  options.watch_replay_bytes = stream::bytes_per_channel(channels, kWatchBudget);
  options.max_sessions = Audience::kMostWatchers + kMostOwners;
  options.reconnect_limit = kClientLimit;
  options.abandoned_limit = kDeadClientLimit;
  auto server = stream::Server::open(loop_, clock_, key_, std::move(options),
                                     [this](const auth::Ticket& t, stream::Session& s) { return welcome(t, s); });
  if (!server) return tl::unexpected(name_ports_key(server.error()));
  server_ = std::move(*server);
  launch_.await();
  return {};
}

base::Result<std::shared_ptr<stream::Handler>> StepSessions::welcome(const auth::Ticket& ticket,
                                                                     stream::Session& session) {
  constexpr size_t kMostKnown = 4096;  // as many as there may be tickets within their life
  if (launch_.is_over() || launch_.is_ending()) return base::fail(ErrorCode::kConflict, wire::kTasksHaveEnded);
  // A client comes once: its session is gone, and it may not know yet who has the step now.
  if (known_.size() >= kMostKnown) known_.clear();
  if (!known_.insert(ticket.client_key).second) return base::fail(ErrorCode::kConflict, "this session has ended");
  if (ticket.rights != auth::Rights::kFull) return watch(session);
  GW_TRY_STATUS(session.open_receive(wire::kOrderChannel));
  GW_TRY_STATUS(session.open_receive(wire::kInputChannel));
  return std::shared_ptr<stream::Handler>(std::make_shared<ControlSession>(*this, session));
}

base::Result<std::shared_ptr<stream::Handler>> StepSessions::watch(stream::Session& session) {
  if (!launch_.is_running()) return base::fail(ErrorCode::kConflict, wire::kTasksNotStarted);
  GW_TRY_STATUS(parts_.audience.add_watcher(session));
  say_joined(session);
  for (const stream::ChannelId output : parts_.streams.open_outputs()) {
    const base::Status opened = parts_.audience.open(output, session);
    if (opened) continue;
    parts_.audience.remove_watcher(session);
    return tl::unexpected(opened.error());
  }
  return std::shared_ptr<stream::Handler>(std::make_shared<WatchSession>(*this, session));
}

base::Status StepSessions::may_join() const {
  if (!launch_.has_all_started()) return base::fail(ErrorCode::kConflict, wire::kTasksNotStarted);
  if (!launch_.is_running()) return base::fail(ErrorCode::kConflict, wire::kTasksHaveEnded);
  if (parts_.audience.owner() == nullptr || launch_.is_kept()) return {};
  return base::fail(ErrorCode::kConflict, "another client has this step, which was not started with --keep");
}

/// It may be joined here: who means to take a step over knows that of all nodes before he does.
void StepSessions::look(ControlSession& client) {
  if (const base::Status may = may_join(); !may) return client.refuse(may.error());
  static_cast<void>(client.session().send_control(stream::StepState{stream::StepState::Phase::kStarting, {}}));
}

/// Who joins has the step from now on: it gets the last of a terminal's output, and what else is printed from now on.
void StepSessions::join(ControlSession& client) {
  if (client.is_owner()) return;
  if (const base::Status may = may_join(); !may) return client.refuse(may.error());
  // Who comes back for a step that is kept may have left his old terminal where he cannot reach it.
  if (auto* other = parts_.audience.owner(); other != nullptr) {
    parts_.audience.set_owner(nullptr);
    other->close({ErrorCode::kConflict, wire::kTakenOver, ""});
  }
  client.own();
  say_joined(client.session());
  base::Status opened;
  for (const stream::ChannelId output : parts_.streams.open_outputs())
    if (opened) opened = parts_.audience.open(output);
  if (!opened) parts_.audience.set_owner(nullptr);
  parts_.streams.resume_all();  // they may have waited for another
  if (!opened) return client.refuse(opened.error());
  if (parts_.streams.terminal() >= 0) terminal_size_.on_new_owner();
  client.session().pull(wire::kInputChannel);
}

void StepSessions::say_joined(stream::Session& session) const {
  stream::Joined joined;
  joined.tasks = static_cast<uint32_t>(parts_.tasks.size());
  joined.has_terminal = parts_.streams.terminal() >= 0;
  if (const auto size = window_size(parts_.streams.terminal())) {
    joined.rows = size->ws_row;
    joined.columns = size->ws_col;
  }
  static_cast<void>(session.send_control(joined));
  for (const StepTask& task : parts_.tasks) {
    static_cast<void>(session.send_control(stream::TaskStarted{task.rank, static_cast<uint32_t>(task.pid)}));
    if (!task.is_alive()) static_cast<void>(session.send_control(end_of(task)));
  }
  static_cast<void>(session.send_control(stream::StepState{stream::StepState::Phase::kRunning, {}}));
}

void StepSessions::on_owner_gone(const base::Error& reason) {
  parts_.audience.set_owner(nullptr);
  parts_.streams.resume_all();  // nobody reads: it is dropped
  if (launch_.is_awaited()) return on_stranger_gone(reason);
  // Nobody else can say that a step is to go.
  if (!launch_.may_run_on() && !launch_.is_over()) launch_.end("the client went away", kEndGrace);
  events_.changed();
}

void StepSessions::on_stranger_gone(const base::Error& reason) {
  if (launch_.is_awaited())
    launch_.fail({ErrorCode::kUnavailable, "the client went away and launched nothing: " + reason.what, ""}, 1);
  events_.changed();
}

// --- orders ---

void StepSessions::on_order(ControlSession& client, const std::string& frame) {
  wire::StepOrder order;
  if (!order.ParseFromString(frame)) return client.break_off({ErrorCode::kProtocol, "an order cannot be read", ""});
  if (order.has_look()) return look(client);
  if (order.has_join()) return join(client);
  if (is_free()) client.own();
  if (!client.is_owner()) return client.refuse({ErrorCode::kConflict, "another client has this step", ""});
  if (order.has_end())
    return launch_.end("ended by its client",
                       base::microseconds(std::clamp<int64_t>(order.end().grace_us(), 0, kLongestGrace.us)));
  if (launch_.is_ending()) return;
  if (order.has_launch()) return launch_.launch(std::move(*order.mutable_launch()));
  if (order.has_go()) launch_.go(std::move(*order.mutable_go()));  // else of a newer client
}

void StepSessions::on_control(const stream::Control& control) {
  if (const auto* signal = std::get_if<stream::Signal>(&control)) parts_.tasks.signal(signal->task, signal->number);
  const int terminal = parts_.streams.terminal();
  if (const auto* size = std::get_if<stream::WindowSize>(&control); size != nullptr && terminal >= 0)
    terminal_size_.set(terminal, size->rows, size->columns);
}

}  // namespace gw::noded::step
