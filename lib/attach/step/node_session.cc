// Channels of one node.
#include "attach/step/node_session.h"

#include <algorithm>
#include <utility>

#include "wire/frame.h"
#include "wire/step_channels.h"

namespace gw::attach {

using stream::ChannelId;

namespace {

/// Bytes of an order around its launch, at most.
constexpr size_t kOrderHead = 64;

}  // namespace

/// Held by the session, which may outlive this for the rest of a callback.
struct NodeSession::Handler final : stream::Handler {
  NodeSession* owner;
  explicit Handler(NodeSession* o) : owner(o) {}

  size_t on_bytes(ChannelId channel, std::string_view bytes) override {
    if (owner == nullptr || !owner->outputs_.contains(channel)) return bytes.size();
    return owner->events_.on_output(owner->node_, channel, bytes);
  }
  void on_end(ChannelId channel) override {
    if (owner == nullptr || owner->outputs_.erase(channel) == 0) return;
    owner->events_.on_output_end(owner->node_, channel);
  }
  void on_writable(ChannelId channel) override {
    if (owner == nullptr) return;
    if (channel == wire::kOrderChannel)
      owner->send_orders();
    else
      owner->events_.on_input_room();
  }
  void on_control(const stream::Control& control) override {
    if (owner != nullptr) owner->events_.on_control(owner->node_, control);
  }
  void on_closed(const base::Error& reason) override {
    if (owner != nullptr) owner->events_.on_closed(owner->node_, reason);
  }
};

NodeSession::NodeSession(io::Loop& loop, const auth::KeyPair& key, stream::ClientOptions options,
                         stream::Client::AskFn ask, size_t node, NodeEvents& events)
    : node_(node),
      events_(events),
      handler_(std::make_shared<Handler>(this)),
      client_(loop, key, std::move(options), std::move(ask)) {
  client_.on_state([handler = handler_](bool is_connected, const std::string& reason) {
    if (NodeSession* owner = handler->owner) owner->events_.on_connected(owner->node_, is_connected, reason);
  });
}

NodeSession::~NodeSession() { handler_->owner = nullptr; }

void NodeSession::start() { client_.start(handler_); }

// Every channel is asked for, so that the shepherd can end those that carry nothing; but only the others are waited
// for.
base::Status NodeSession::open_output(ChannelId channel, bool leads_here) {
  GW_TRY_STATUS(session().open_receive(channel));
  if (leads_here) outputs_.insert(channel);
  return {};
}

base::Status NodeSession::open(const wire::LaunchTasks& launch) {
  if (launch.ByteSizeLong() + kOrderHead > wire::kMaxStepOrder)
    return base::invalid("the environment and the arguments of a node's tasks are too large together",
                         "pass large data in files");
  session().set_handler(*handler_);
  GW_TRY_STATUS(session().open_send(wire::kOrderChannel));
  GW_TRY_STATUS(session().open_send(wire::kInputChannel));
  for (int i = 0; i < launch.tasks_size(); ++i) {
    const auto place = static_cast<uint32_t>(i);
    const wire::TaskOrder& task = launch.tasks(i);
    const bool has_terminal = launch.pty() && place == 0;
    takes_input_ |= task.input().kind() == wire::TaskStream::kClient;
    const bool has_output = task.output().kind() == wire::TaskStream::kClient;
    const bool has_error = task.error().kind() == wire::TaskStream::kClient;
    GW_TRY_STATUS(open_output(wire::output_channel(place), has_output));
    GW_TRY_STATUS(open_output(wire::error_channel(place), has_error && !has_terminal));
  }
  if (!takes_input_) end_input();
  return {};
}

base::Status NodeSession::open(uint32_t places, bool watches) {
  session().set_handler(*handler_);
  takes_input_ = !watches;
  has_ended_input_ = watches;
  for (const ChannelId channel : {wire::kOrderChannel, wire::kInputChannel})
    if (!watches) GW_TRY_STATUS(session().open_send(channel));
  for (uint32_t place = 0; place < places; ++place) {
    GW_TRY_STATUS(open_output(wire::output_channel(place), true));
    GW_TRY_STATUS(open_output(wire::error_channel(place), true));
  }
  return {};
}

void NodeSession::leave() { session().close({base::ErrorCode::kUnavailable, "the client left", ""}); }

void NodeSession::order(const wire::StepOrder& order) {
  wire::append_frame(orders_, order.SerializeAsString());
  send_orders();
}

void NodeSession::send_orders() {
  const size_t n = session().write(wire::kOrderChannel, orders_);
  orders_.erase(0, n);
}

bool NodeSession::feed(std::string_view piece) {
  if (!takes_input_ || has_ended_input_ || session().is_closed()) return true;
  if (fed_ < piece.size()) fed_ += session().write(wire::kInputChannel, piece.substr(fed_));
  return fed_ == piece.size();
}

void NodeSession::end_input() {
  if (!std::exchange(has_ended_input_, true)) session().end(wire::kInputChannel);
}

void NodeSession::refuse_outputs() {
  for (const ChannelId channel : std::exchange(outputs_, {})) session().refuse(channel);
}

}  // namespace gw::attach
