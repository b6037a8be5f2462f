// A step's client's session with the shepherd of one node: orders go out, outputs and states come in.
// Invariants: what a task prints elsewhere is not waited for; orders arrive whole and in order. What comes
// is passed on to the events given, never from inside a call to this, and never once it is gone.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "stream/client.h"
#include "wire/launch.pb.h"

namespace gw::attach {

/// What one node says; `node` is its index in the step.
class NodeEvents {
 public:
  virtual ~NodeEvents() = default;
  /// As stream::Handler::on_bytes.
  virtual size_t on_output(size_t node, stream::ChannelId channel, std::string_view bytes) = 0;
  virtual void on_output_end(size_t node, stream::ChannelId channel) = 0;
  /// The node takes input again.
  virtual void on_input_room() = 0;
  virtual void on_control(size_t node, const stream::Control& control) = 0;
  /// The session is over, whoever ended it.
  virtual void on_closed(size_t node, const base::Error& reason) = 0;
  /// Connected, or lost; see stream::Client::on_state.
  virtual void on_connected(size_t node, bool is_connected, const std::string& reason) = 0;
};

class NodeSession {
 public:
  /// All references outlive it.
  NodeSession(io::Loop& loop, const auth::KeyPair& key, stream::ClientOptions options, stream::Client::AskFn ask,
              size_t node, NodeEvents& events);
  ~NodeSession();
  NodeSession(const NodeSession&) = delete;
  NodeSession& operator=(const NodeSession&) = delete;

  /// Opens the channels that the tasks' streams need. Errors: too many tasks for one session or one order.
  base::Status open(const wire::LaunchTasks& launch);
  /// The same for a client that joins or watches: all that so many tasks may print, and no input if it watches.
  base::Status open(uint32_t places, bool watches);
  void start();
  stream::Session& session() { return client_.session(); }
  bool is_connected() const { return client_.is_connected(); }
  /// For tests.
  void drop_connection() { client_.drop_connection(); }

  void order(const wire::StepOrder& order);
  /// Writes as much of `piece` as has not been written yet; true if that is all.
  bool feed(std::string_view piece);
  /// The next feed() is of a new piece.
  void next_piece() { fed_ = 0; }
  /// Some task of the node reads this client's input.
  bool takes_input() const { return takes_input_; }
  void end_input();
  /// Output channels that have not ended.
  size_t open_outputs() const { return outputs_.size(); }
  /// The shepherd says that all output was taken: channels that it never opened, of tasks that never were, do not end.
  void forget_outputs() { outputs_.clear(); }
  /// Ends the session and leaves the tasks alone. The connection goes once the other side knows.
  void leave();
  /// Nothing of what the tasks still print is wanted.
  void refuse_outputs();

 private:
  struct Handler;

  size_t node_;
  NodeEvents& events_;
  std::shared_ptr<Handler> handler_;
  std::string orders_;
  std::set<stream::ChannelId> outputs_;  // that lead here and have not ended
  bool takes_input_ = false;
  bool has_ended_input_ = false;
  size_t fed_ = 0;
  stream::Client client_;

  base::Status open_output(stream::ChannelId channel, bool leads_here);
  void send_orders();
};

}  // namespace gw::attach
