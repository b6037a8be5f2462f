// A client of a step on one node, as `grun` is one, with the controller that signs its tickets.
// Invariant: every wait has a deadline and serves the client's loop meanwhile.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "auth/ticket.h"
#include "harness.h"
#include "io/loop.h"
#include "stream/client.h"
#include "wire/launch.pb.h"
#include "wire/step_channels.h"

namespace gw::noded::step {

/// Adds to a spec that a client of `controller` says what to run in so many places.
wire::StepSpec with_access(wire::StepSpec spec, const auth::SigningKey& controller, int places = 1);
/// One task a word list: all streams the client's, work_dir "/", goes at once.
wire::LaunchTasks launch_of(const std::vector<std::vector<std::string>>& tasks);
inline wire::LaunchTasks launch_sh(const std::string& body) { return launch_of({{"/bin/sh", "-c", body}}); }

class TestClient : public stream::Handler {
 public:
  /// Waits until the step is ready. `change` may spoil the ticket.
  static std::shared_ptr<TestClient> of(
      const wire::StepSpec& spec, ShepherdPeer& peer, const auth::SigningKey& controller,
      std::function<void(auth::Ticket&)> change = [](auth::Ticket&) {});

  /// Opens the output channels of all tasks whose streams are the client's, and sends the order.
  void launch(const wire::LaunchTasks& launch);
  void order(const wire::StepOrder& order);
  /// One that another client's launch made.
  void expect_output(stream::ChannelId channel);
  /// Takes over a step with these outputs.
  void join(const std::set<stream::ChannelId>& outputs);
  void start() { client_->start(std::shared_ptr<stream::Handler>(std::shared_ptr<void>(), this)); }
  /// Sends input, as fast as it goes, and its end.
  void send_input(std::string bytes, bool ends = true);
  void control(const stream::Control& control) { EXPECT_TRUE(client_->session().send_control(control)); }
  void cut() { client_->drop_connection(); }
  /// Closes the session in good order.
  void go_away();
  /// Until the session is closed and its connection with it.
  bool wait_closed() {
    return wait([this] { return closed && !client_->is_connected(); });
  }
  /// As if it were killed.
  void die() { client_.reset(); }
  bool wait(const std::function<bool()>& done, int deadline_ms = kDeadlineMs) {
    return loop_.run_until(done, base::milliseconds(deadline_ms));
  }
  /// Until the step has ended and all outputs of the launch with it; true if the session was closed as over.
  bool wait_over();
  bool wait_state(stream::StepState::Phase phase);
  bool wait_text(stream::ChannelId channel, const std::string& text);

  std::string out(uint32_t place = 0) { return received[wire::output_channel(place)]; }
  std::string err(uint32_t place = 0) { return received[wire::error_channel(place)]; }
  std::optional<stream::TaskEnded> ended(uint32_t rank) const;
  std::optional<stream::Joined> joined() const;
  /// Text of the StepState of that phase.
  std::optional<std::string> state(stream::StepState::Phase phase) const;
  stream::Session& session() { return client_->session(); }

  std::map<stream::ChannelId, std::string> received;
  std::map<stream::ChannelId, size_t> counts;  ///< Bytes of each channel, also of those not kept.
  std::set<stream::ChannelId> ends;
  std::vector<stream::Control> controls;
  std::optional<std::string> closed;
  size_t appetite = SIZE_MAX;  ///< Bytes it takes of outputs before it takes no more.
  int connections = 0;

  // stream::Handler
  size_t on_bytes(stream::ChannelId channel, std::string_view bytes) override;
  void on_end(stream::ChannelId channel) override { ends.insert(channel); }
  void on_writable(stream::ChannelId channel) override;
  void on_control(const stream::Control& control) override { controls.push_back(control); }
  void on_closed(const base::Error& reason) override { closed = reason.text(); }

 private:
  io::Loop loop_;
  auth::KeyPair key_;
  std::unique_ptr<stream::Client> client_;
  std::string input_;
  bool input_ends_ = false;
  std::set<stream::ChannelId> outputs_;

  void push_input();
};

}  // namespace gw::noded::step
