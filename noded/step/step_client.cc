// The tasks that a client launches in a step: the client, and what it asks for.
#include <algorithm>
#include <cstring>

#include "noded/step/listen_place.h"
#include "noded/step/step_order.h"
#include "noded/step/step_tasks.h"

namespace gw::noded::step {

using base::ErrorCode;

/// The session of a client that may control the step: of the one that owns it, or of one that has not said yet what it
/// wants, or has been refused.
class StepTasks::Guest : public stream::Handler {
 public:
  Guest(StepTasks& tasks, stream::Session& session) : tasks_(tasks), session_(session) {}
  ~Guest() override { tasks_.wake(); }  // the shepherd may wait for it
  Guest(const Guest&) = delete;
  Guest& operator=(const Guest&) = delete;

  stream::Session& session() { return session_; }
  bool is_owner() const { return tasks_.audience_.owner() == &session_; }
  void refuse(const base::Error& error) {
    is_refused_ = true;
    session_.close(error);
  }
  /// The step is this client's now.
  void own() {
    tasks_.audience_.set_owner(&session_);
    if (is_input_over_) tasks_.on_input_end();
  }
  void break_off(const base::Error& error) {
    is_deaf_ = true;
    if (tasks_.is_free()) own();
    is_owner() ? tasks_.break_off(error) : refuse(error);
  }

  size_t on_bytes(stream::ChannelId channel, std::string_view bytes) override {
    if (channel == wire::kInputChannel) return is_owner() ? tasks_.on_input(bytes) : 0;
    orders_.feed(bytes);
    while (!is_deaf_ && !session_.is_closed()) {
      const auto frame = orders_.next();
      if (!frame) break_off(frame.error());
      if (!frame || !*frame) break;
      tasks_.on_order(*this, **frame);
    }
    return bytes.size();
  }
  void on_end(stream::ChannelId channel) override {
    if (channel != wire::kInputChannel) return;
    is_input_over_ = true;
    if (is_owner()) tasks_.on_input_end();
  }
  void on_writable(stream::ChannelId channel) override {
    if (is_owner()) tasks_.on_writable(channel);
  }
  void on_control(const stream::Control& control) override {
    if (is_owner()) tasks_.on_control(control);
  }
  void on_settled() override { tasks_.advance(); }
  void on_closed(const base::Error& reason) override {
    if (is_owner())
      tasks_.on_owner_gone(reason);
    else if (!is_refused_)
      tasks_.on_stranger_gone(reason);
  }

 private:
  StepTasks& tasks_;
  stream::Session& session_;
  wire::FrameDecoder orders_{wire::kMaxStepOrder};
  bool is_deaf_ = false;  // it breaks the protocol
  bool is_refused_ = false;
  bool is_input_over_ = false;
};

/// One that may only watch: what it says is not asked for, so that its session ends if it says something.
class StepTasks::Watcher : public stream::Handler {
 public:
  Watcher(StepTasks& tasks, stream::Session& session) : tasks_(tasks), session_(session) {}
  ~Watcher() override { tasks_.wake(); }
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  size_t on_bytes(stream::ChannelId, std::string_view bytes) override { return bytes.size(); }
  void on_end(stream::ChannelId) override {}
  void on_writable(stream::ChannelId channel) override { tasks_.audience_.on_room(session_, channel); }
  void on_control(const stream::Control&) override {}
  void on_settled() override { tasks_.advance(); }
  void on_closed(const base::Error&) override { tasks_.audience_.remove_watcher(session_); }

 private:
  StepTasks& tasks_;
  stream::Session& session_;
};

StepTasks::StepTasks(const wire::StepSpec& spec, Containment& contain, std::string hosts, const MpiSupport& mpi)
    : spec_(spec), contain_(contain), hosts_(std::move(hosts)), mpi_support_(mpi) {}

StepTasks::~StepTasks() {
  audience_.set_owner(nullptr);
  server_.reset();
}

base::Status StepTasks::open() {
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
  const base::Duration limit =
      access.launch_limit_us() > 0 ? base::microseconds(access.launch_limit_us()) : kLaunchLimit;
  launch_timer_ = loop_.after(limit, [this] { fail({ErrorCode::kTimeout, "no client said what to run", ""}, 1); });
  return {};
}

base::Result<std::shared_ptr<stream::Handler>> StepTasks::welcome(const auth::Ticket& ticket,
                                                                  stream::Session& session) {
  constexpr size_t kMostKnown = 4096;  // as many as there may be tickets within their life
  if (phase_ >= Phase::kDraining || is_ending_) return base::fail(ErrorCode::kConflict, wire::kTasksHaveEnded);
  // A client comes once: its session is gone, and it may not know yet who has the step now.
  if (known_.size() >= kMostKnown) known_.clear();
  if (!known_.insert(ticket.client_key).second) return base::fail(ErrorCode::kConflict, "this session has ended");
  if (ticket.rights != auth::Rights::kFull) return watch(session);
  GW_TRY_STATUS(session.open_receive(wire::kOrderChannel));
  GW_TRY_STATUS(session.open_receive(wire::kInputChannel));
  return std::shared_ptr<stream::Handler>(std::make_shared<Guest>(*this, session));
}

base::Result<std::shared_ptr<stream::Handler>> StepTasks::watch(stream::Session& session) {
  if (phase_ != Phase::kRunning) return base::fail(ErrorCode::kConflict, wire::kTasksNotStarted);
  GW_TRY_STATUS(audience_.add_watcher(session));
  say_joined(session);
  for (const TaskOutput& output : outputs_) {
    const base::Status opened = output.is_done() ? base::Status{} : audience_.open(output.channel(), session);
    if (opened) continue;
    audience_.remove_watcher(session);
    return tl::unexpected(opened.error());
  }
  return std::shared_ptr<stream::Handler>(std::make_shared<Watcher>(*this, session));
}

base::Status StepTasks::may_join() const {
  if (phase_ < Phase::kRunning) return base::fail(ErrorCode::kConflict, wire::kTasksNotStarted);
  if (phase_ > Phase::kRunning || is_ending_) return base::fail(ErrorCode::kConflict, wire::kTasksHaveEnded);
  if (audience_.owner() == nullptr || is_kept_) return {};
  return base::fail(ErrorCode::kConflict, "another client has this step, which was not started with --keep");
}

/// It may be joined here: who means to take a step over knows that of all nodes before he does.
void StepTasks::look(Guest& guest) {
  if (const base::Status may = may_join(); !may) return guest.refuse(may.error());
  static_cast<void>(guest.session().send_control(stream::StepState{stream::StepState::Phase::kStarting, {}}));
}

/// Who joins has the step from now on: it gets the last of a terminal's output, and what else is printed from now on.
void StepTasks::join(Guest& guest) {
  if (guest.is_owner()) return;
  if (const base::Status may = may_join(); !may) return guest.refuse(may.error());
  // Who comes back for a step that is kept may have left his old terminal where he cannot reach it.
  if (auto* other = audience_.owner(); other != nullptr) {
    audience_.set_owner(nullptr);
    other->close({ErrorCode::kConflict, wire::kTakenOver, ""});
  }
  guest.own();
  say_joined(guest.session());
  base::Status opened;
  for (const TaskOutput& output : outputs_)
    if (opened && !output.is_done()) opened = audience_.open(output.channel());
  if (!opened) audience_.set_owner(nullptr);
  for (TaskOutput& output : outputs_) output.resume();  // it may have waited for another
  if (!opened) return guest.refuse(opened.error());
  needs_redraw_ = master_ >= 0;
  guest.session().pull(wire::kInputChannel);
}

void StepTasks::say_joined(stream::Session& session) const {
  stream::Joined joined;
  joined.tasks = static_cast<uint32_t>(tasks_.size());
  joined.has_terminal = master_ >= 0;
  if (const auto size = window_size(master_)) {
    joined.rows = size->ws_row;
    joined.columns = size->ws_col;
  }
  static_cast<void>(session.send_control(joined));
  for (const StepTask& task : tasks_) {
    static_cast<void>(session.send_control(stream::TaskStarted{task.rank, static_cast<uint32_t>(task.pid)}));
    if (!task.is_alive()) static_cast<void>(session.send_control(end_of(task)));
  }
  static_cast<void>(session.send_control(stream::StepState{stream::StepState::Phase::kRunning, {}}));
}

void StepTasks::on_owner_gone(const base::Error& reason) {
  audience_.set_owner(nullptr);
  for (TaskOutput& output : outputs_) output.resume();  // nobody reads: it is dropped
  if (phase_ == Phase::kListening) return on_stranger_gone(reason);
  // Nobody else can say that a step is to go.
  const bool may_stay = is_kept_ && may_go_;
  if (!may_stay && phase_ < Phase::kDraining) end("the client went away", kEndGrace);
  advance();
}

void StepTasks::on_stranger_gone(const base::Error& reason) {
  if (phase_ == Phase::kListening)
    fail({ErrorCode::kUnavailable, "the client went away and launched nothing: " + reason.what, ""}, 1);
  advance();
}

// --- orders ---

/// What follows of the owner's orders means nothing.
void StepTasks::break_off(const base::Error& error) {
  if (!is_ending_) fail(error, 1);
}

void StepTasks::on_order(Guest& guest, const std::string& frame) {
  wire::StepOrder order;
  if (!order.ParseFromString(frame)) return guest.break_off({ErrorCode::kProtocol, "an order cannot be read", ""});
  if (order.has_look()) return look(guest);
  if (order.has_join()) return join(guest);
  if (is_free()) guest.own();
  if (!guest.is_owner()) return guest.refuse({ErrorCode::kConflict, "another client has this step", ""});
  if (order.has_end())
    return end("ended by its client",
               base::microseconds(std::clamp<int64_t>(order.end().grace_us(), 0, kLongestGrace.us)));
  if (is_ending_) return;
  if (order.has_launch()) return on_launch(std::move(*order.mutable_launch()));
  if (!order.has_go()) return;  // of a newer client
  may_go_ = true;
  go_order_ = std::move(*order.mutable_go());
  if (phase_ == Phase::kStarting && stands_) let_go();
}

void StepTasks::on_launch(wire::LaunchTasks launch) {
  if (phase_ != Phase::kListening) return end("a step is launched once, and this one was launched before", kEndGrace);
  base::Status done = check_launch(launch, spec_.access());
  if (done) {
    launch_timer_.cancel();
    phase_ = Phase::kStarting;
    is_kept_ = launch.keep();
    ends_on_bad_exit_ = launch.kill_on_bad_exit();
    plan_.emplace(StepPlan{spec_, contain_, hosts_, std::move(launch), {}, {}, {}});
    plan_->environment = step_environment(plan_->launch, spec_);
    done = open_mpi();
    if (done) done = launch_all();
  }
  if (!done) fail(done.error(), 1);
}

// --- input and control ---

size_t StepTasks::on_input(std::string_view bytes) {
  if (phase_ == Phase::kListening) return 0;  // until there is somebody to read it
  if (input_ && input_->has_readers()) return input_->write(bytes);
  if (audience_.owner() != nullptr) audience_.owner()->refuse(wire::kInputChannel);
  return bytes.size();
}

void StepTasks::on_input_end() {
  if (input_) input_->end();
  is_input_over_ = true;
}

void StepTasks::on_writable(stream::ChannelId channel) {
  for (TaskOutput& output : outputs_)
    if (output.channel() == channel) return output.resume();
}

void StepTasks::on_control(const stream::Control& control) {
  if (const auto* signal = std::get_if<stream::Signal>(&control)) signal_tasks(signal->task, signal->number);
  if (const auto* size = std::get_if<stream::WindowSize>(&control); size != nullptr && master_ >= 0)
    resize(size->rows, size->columns);
}

/// Programs draw a terminal anew when its size changes: for a new client it does, if only for a moment.
void StepTasks::resize(uint16_t rows, uint16_t columns) {
  redraw_timer_.cancel();
  const auto now = window_size(master_);
  const bool is_same = now && now->ws_row == rows && now->ws_col == columns;
  if (!std::exchange(needs_redraw_, false) || !is_same) return set_window_size(master_, rows, columns);
  set_window_size(master_, rows > 1 ? static_cast<uint16_t>(rows - 1) : 2, columns);
  redraw_timer_ = loop_.after(kRedrawPause, [this, rows, columns] { set_window_size(master_, rows, columns); });
}

}  // namespace gw::noded::step
