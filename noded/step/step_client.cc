// The tasks that a client launches in a step: the client, and what it asks for.
#include <algorithm>
#include <cstring>

#include "noded/step/step_order.h"
#include "noded/step/step_tasks.h"

namespace gw::noded::step {

using base::ErrorCode;

/// The session of the client that owns the step.
class StepTasks::Guest : public stream::Handler {
 public:
  Guest(StepTasks& tasks, stream::Session& session) : tasks_(tasks), session_(session) {}
  ~Guest() override { tasks_.wake(); }  // the shepherd may wait for it
  Guest(const Guest&) = delete;
  Guest& operator=(const Guest&) = delete;

  size_t on_bytes(stream::ChannelId channel, std::string_view bytes) override {
    if (channel == wire::kInputChannel) return tasks_.on_input(bytes);
    tasks_.on_order_bytes(bytes);
    return bytes.size();
  }
  void on_end(stream::ChannelId channel) override {
    if (channel == wire::kInputChannel) tasks_.on_input_end();
  }
  void on_writable(stream::ChannelId channel) override { tasks_.on_writable(channel); }
  void on_control(const stream::Control& control) override { tasks_.on_control(control); }
  void on_settled() override { tasks_.advance(); }
  void on_closed(const base::Error& reason) override {
    if (tasks_.audience_.owner() == &session_) tasks_.on_guest_gone(reason);
  }

 private:
  StepTasks& tasks_;
  stream::Session& session_;
};

StepTasks::StepTasks(const wire::StepSpec& spec, Containment& contain, std::string hosts, const MpiSupport& mpi)
    : spec_(spec), contain_(contain), hosts_(std::move(hosts)), mpi_support_(mpi) {}

StepTasks::~StepTasks() { audience_.set_owner(nullptr); }

base::Status StepTasks::open() {
  constexpr size_t kReplayBudget = 2 << 20;
  const wire::StepAccess& access = spec_.access();
  stream::ServerOptions options;
  options.address = access.listen();
  options.step = {spec_.uid(), spec_.job(), access.step(), spec_.attempt(), access.generation()};
  if (access.ticket_key().size() != options.controller_key.size())
    return base::invalid("the controller's key for tickets is no key");
  std::memcpy(options.controller_key.data(), access.ticket_key().data(), options.controller_key.size());
  const size_t channels = 2 * static_cast<size_t>(std::max(access.places_size(), 1));
  options.replay_bytes = stream::bytes_per_channel(channels, kReplayBudget);
  options.reconnect_limit = kClientLimit;
  options.abandoned_limit = kDeadClientLimit;
  GW_TRY(server, stream::Server::open(loop_, clock_, key_, std::move(options),
                                      [this](const auth::Ticket& t, stream::Session& s) { return welcome(t, s); }));
  server_ = std::move(server);
  const base::Duration limit =
      access.launch_limit_us() > 0 ? base::microseconds(access.launch_limit_us()) : kLaunchLimit;
  launch_timer_ = loop_.after(limit, [this] { fail({ErrorCode::kTimeout, "no client said what to run", ""}, 1); });
  return {};
}

base::Result<std::shared_ptr<stream::Handler>> StepTasks::welcome(const auth::Ticket& ticket,
                                                                  stream::Session& session) {
  if (ticket.rights != auth::Rights::kFull)
    return base::fail(ErrorCode::kConflict, "a step cannot be watched by a second client yet");
  if (phase_ >= Phase::kDraining || is_ending_) return base::fail(ErrorCode::kConflict, "the step is over");
  if (auto* other = audience_.owner(); other != nullptr) {
    if (!is_kept_) return base::fail(ErrorCode::kConflict, "another client has this step");
    // Who comes back for a step that is kept may have left his old terminal where he cannot reach it.
    audience_.set_owner(nullptr);
    other->close({ErrorCode::kConflict, "another client took this step over", ""});
  }
  GW_TRY_STATUS(take_over(session));
  return std::shared_ptr<stream::Handler>(std::make_shared<Guest>(*this, session));
}

// The first client launches; one that comes after it gets what is printed from now on.
base::Status StepTasks::take_over(stream::Session& session) {
  GW_TRY_STATUS(session.open_receive(wire::kOrderChannel));
  GW_TRY_STATUS(session.open_receive(wire::kInputChannel));
  orders_ = wire::FrameDecoder(wire::kMaxStepOrder);
  audience_.set_owner(&session);
  base::Status opened;
  for (const TaskOutput& output : outputs_)
    if (opened && !output.is_done()) opened = audience_.open(output.channel());
  if (!opened) audience_.set_owner(nullptr);
  for (TaskOutput& output : outputs_) output.resume();  // it may have waited for another
  if (opened && phase_ == Phase::kRunning) say(stream::StepState::Phase::kRunning);
  return opened;
}

void StepTasks::on_guest_gone(const base::Error& reason) {
  audience_.set_owner(nullptr);
  for (TaskOutput& output : outputs_) output.resume();  // nobody reads: it is dropped
  if (phase_ == Phase::kListening)
    return fail({ErrorCode::kUnavailable, "the client went away and launched nothing: " + reason.what, ""}, 1);
  if (!is_kept_ && phase_ < Phase::kDraining) end("the client went away", kEndGrace);
  advance();
}

// --- orders ---

void StepTasks::on_order_bytes(std::string_view bytes) {
  if (is_deaf_) return;
  orders_.feed(bytes);
  for (;;) {
    const auto frame = orders_.next();
    if (!frame) return break_off(frame.error());
    if (!*frame) return;
    on_order(**frame);
  }
}

/// What follows of the client's orders means nothing.
void StepTasks::break_off(const base::Error& error) {
  is_deaf_ = true;
  if (!is_ending_) fail(error, 1);
}

void StepTasks::on_order(const std::string& frame) {
  wire::StepOrder order;
  if (!order.ParseFromString(frame)) return break_off({ErrorCode::kProtocol, "an order cannot be read", ""});
  if (order.has_end())
    return end("ended by its client",
               base::microseconds(std::clamp<int64_t>(order.end().grace_us(), 0, kLongestGrace.us)));
  if (is_ending_) return;
  if (order.has_launch()) return on_launch(std::move(*order.mutable_launch()));
  if (!order.has_go()) return;  // of a newer client
  may_go_ = true;
  go_order_ = std::move(*order.mutable_go());
  const auto stands = [](const StepTask& task) { return task.state == StepTask::State::kStanding; };
  if (phase_ == Phase::kStarting && std::all_of(tasks_.begin(), tasks_.end(), stands)) let_go();
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
    set_window_size(master_, size->rows, size->columns);
}

}  // namespace gw::noded::step
