// A client of a step on one node.
#include "test_client.h"

#include <gtest/gtest.h>

#include <cstring>

#include "wire/frame.h"

namespace gw::noded::step {

wire::StepSpec with_access(wire::StepSpec spec, const auth::SigningKey& controller, int places) {
  spec.clear_script();
  spec.set_step("0");
  wire::StepAccess& access = *spec.mutable_access();
  access.set_ticket_key(std::string(auth::view(controller.public_key())));
  access.set_listen("127.0.0.1:0");
  access.set_step(0);
  access.set_gpu_variable("CUDA_VISIBLE_DEVICES");
  for (int i = 0; i < places; ++i) access.add_places()->set_gpus(std::to_string(i));
  return spec;
}

wire::LaunchTasks launch_of(const std::vector<std::vector<std::string>>& tasks) {
  wire::LaunchTasks launch;
  launch.set_work_dir("/");
  launch.set_umask(022);
  launch.set_go(true);
  uint32_t rank = 0;
  for (const auto& words : tasks) {
    wire::Program& program = *launch.add_programs();
    for (const std::string& word : words) program.add_argv(word);
    wire::TaskOrder& task = *launch.add_tasks();
    task.set_program(rank);
    task.set_rank(rank++);
    for (auto* stream : {task.mutable_input(), task.mutable_output(), task.mutable_error()})
      stream->set_kind(wire::TaskStream::kClient);
  }
  return launch;
}

std::shared_ptr<TestClient> TestClient::of(const wire::StepSpec& spec, ShepherdPeer& peer,
                                           const auth::SigningKey& controller,
                                           std::function<void(auth::Ticket&)> change) {
  const auto ready = peer.wait([](const wire::FromShepherd& m) { return m.has_ready() || m.has_exit(); });
  EXPECT_TRUE(ready && ready->has_ready());
  const auto self = std::make_shared<TestClient>();
  stream::ClientOptions options;
  options.attempt_limit = base::milliseconds(kDeadlineMs);
  options.first_delay = base::milliseconds(1);
  if (ready) {
    options.address = ready->ready().address();
    EXPECT_EQ(ready->ready().key().size(), options.shepherd_key.size());
    std::memcpy(options.shepherd_key.data(), ready->ready().key().data(), options.shepherd_key.size());
  }
  auth::Ticket ticket;
  ticket.rights = auth::Rights::kFull;
  ticket.uid = spec.uid();
  ticket.gid = spec.gid();
  ticket.job = spec.job();
  ticket.attempt = spec.attempt();
  ticket.expiry = base::SystemClock().now() + auth::kTicketLife;
  ticket.client_key = self->key_.public_key();
  const auto ask = [ticket, controller, change](const stream::Client::TicketFn& give) {
    auth::Ticket fresh = ticket;
    fresh.nonce = auth::random_nonce();
    change(fresh);
    give(sign_ticket(controller, fresh));
  };
  self->client_ = std::make_unique<stream::Client>(self->loop_, self->key_, options, ask);
  self->client_->on_state(
      [raw = self.get()](bool is_connected, const std::string&) { raw->connections += is_connected; });
  EXPECT_TRUE(self->session().open_send(wire::kOrderChannel));
  EXPECT_TRUE(self->session().open_send(wire::kInputChannel));
  return self;
}

void TestClient::launch(const wire::LaunchTasks& launch) {
  for (int place = 0; place < launch.tasks_size(); ++place) {
    const uint32_t at = static_cast<uint32_t>(place);
    const bool is_terminal = launch.pty() && place == 0;
    const wire::TaskOrder& task = launch.tasks(place);
    if (is_terminal || task.output().kind() == wire::TaskStream::kClient) outputs_.insert(wire::output_channel(at));
    if (!is_terminal && task.error().kind() == wire::TaskStream::kClient) outputs_.insert(wire::error_channel(at));
  }
  for (const stream::ChannelId channel : outputs_) static_cast<void>(session().open_receive(channel));
  wire::StepOrder message;
  *message.mutable_launch() = launch;
  order(message);
}

void TestClient::expect_output(stream::ChannelId channel) {
  outputs_.insert(channel);
  EXPECT_TRUE(session().open_receive(channel));
}

void TestClient::join(const std::set<stream::ChannelId>& outputs) {
  for (const stream::ChannelId channel : outputs) expect_output(channel);
  wire::StepOrder message;
  message.mutable_join();
  order(message);
  start();
}

std::optional<stream::Joined> TestClient::joined() const {
  for (const stream::Control& control : controls)
    if (const auto* found = std::get_if<stream::Joined>(&control)) return *found;
  return std::nullopt;
}

void TestClient::order(const wire::StepOrder& message) {
  std::string frame;
  wire::append_frame(frame, message.SerializeAsString());
  EXPECT_EQ(session().write(wire::kOrderChannel, frame), frame.size());
}

void TestClient::send_input(std::string bytes, bool ends_then) {
  input_ += bytes;
  input_ends_ = ends_then;
  push_input();
}

void TestClient::push_input() {
  input_.erase(0, session().write(wire::kInputChannel, input_));
  if (input_.empty() && input_ends_) session().end(wire::kInputChannel);
}

void TestClient::on_writable(stream::ChannelId channel) {
  if (channel == wire::kInputChannel) push_input();
}

size_t TestClient::on_bytes(stream::ChannelId channel, std::string_view bytes) {
  bytes = bytes.substr(0, appetite);
  appetite -= bytes.size();
  counts[channel] += bytes.size();
  received[channel] += bytes;
  return bytes.size();
}

void TestClient::go_away() {
  session().close({base::ErrorCode::kUnavailable, "enough", ""});
  EXPECT_TRUE(wait_closed());
}

bool TestClient::wait_over() {
  EXPECT_TRUE(wait_closed());
  EXPECT_EQ(ends, outputs_);
  EXPECT_TRUE(state(stream::StepState::Phase::kEnded));
  return closed == "over";
}

bool TestClient::wait_state(stream::StepState::Phase phase) {
  return wait([this, phase] { return state(phase).has_value() || closed; }) && state(phase).has_value();
}

bool TestClient::wait_text(stream::ChannelId channel, const std::string& text) {
  return wait([&] { return received[channel].find(text) != std::string::npos || closed; }) &&
         received[channel].find(text) != std::string::npos;
}

std::optional<stream::TaskEnded> TestClient::ended(uint32_t rank) const {
  for (const stream::Control& control : controls)
    if (const auto* end = std::get_if<stream::TaskEnded>(&control); end != nullptr && end->task == rank) return *end;
  return std::nullopt;
}

std::optional<std::string> TestClient::state(stream::StepState::Phase phase) const {
  for (const stream::Control& control : controls)
    if (const auto* state = std::get_if<stream::StepState>(&control); state != nullptr && state->phase == phase)
      return state->text;
  return std::nullopt;
}

}  // namespace gw::noded::step
