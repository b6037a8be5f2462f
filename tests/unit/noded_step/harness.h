// A launcher in a process of its own, and what a node daemon would say to it and to its shepherds.
// Invariant: every wait has a deadline and waits on events; the destructor leaves no process, group or folder.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "noded/step/state/channel.h"
#include "wire/step.pb.h"

namespace gw::noded::step {

constexpr int kDeadlineMs = 20'000;

/// A connection to a shepherd or launcher that keeps the messages in the order they came.
template <typename Message>
class Peer {
 public:
  explicit Peer(const std::string& path) : channel_(connect_to(path).value_or(proc::OwnedFd()), 16 << 20) {}

  bool is_open() const { return channel_.is_open(); }
  template <typename Request>
  void send(const Request& request) {
    channel_.send(pack(request));
  }
  /// The first message, old or new, that `fits`; nothing after the deadline.
  std::optional<Message> wait(const std::function<bool(const Message&)>& fits, int deadline_ms = kDeadlineMs);
  /// Whether the other side closes within the deadline.
  bool wait_closed(int deadline_ms = kDeadlineMs);
  const std::vector<Message>& seen() const { return seen_; }

 private:
  Channel channel_;
  std::vector<Message> seen_;

  bool pump(int64_t until_us);
};

using ShepherdPeer = Peer<wire::FromShepherd>;
using LauncherPeer = Peer<wire::FromLauncher>;

/// A launcher with a scratch folder, for one test.
class Node {
 public:
  explicit Node(std::string kind = "none");
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  const std::string& dir() const { return dir_; }
  LauncherPeer& launcher() { return *peer_; }
  pid_t launcher_pid() const { return launcher_; }
  /// A new connection, as a restarted daemon makes it.
  void reconnect();
  void disconnect() { peer_.reset(); }
  /// kill -9: its shepherds continue alone.
  void kill_launcher();
  /// A step of the present user (root is allowed) whose script is "#!/bin/sh" and `body`; output in dir()/out.
  wire::StepSpec step(const std::string& body);
  /// Launches it and connects to its shepherd.
  ShepherdPeer launch(const wire::StepSpec& spec);
  std::string socket() const { return dir_ + "/l.sock"; }
  std::string out() const;
  std::string file(const std::string& name) const;
  /// Pid of the shepherd last launched.
  pid_t shepherd() const { return shepherd_; }
  /// Folders named after this test's groups that are left in any hierarchy.
  std::vector<std::string> leftover_groups() const;
  /// Ends the launcher and checks that nothing is left. Called by the destructor if it was not.
  void leave();

 private:
  std::string kind_;
  std::string dir_;
  pid_t launcher_ = 0;
  pid_t shepherd_ = 0;
  uint32_t next_job_ = 1;
  std::optional<LauncherPeer> peer_;
};

wire::ToShepherd go();
wire::ToShepherd stop(int64_t grace_us, bool kill_now = false);
wire::ToShepherd signal_request(int signo, bool batch_only);
wire::ToShepherd forget();

std::optional<wire::StepExit> wait_exit(ShepherdPeer& peer);
std::optional<wire::StepClean> wait_clean(ShepherdPeer& peer);
bool wait_started(ShepherdPeer& peer);
std::optional<wire::ShepherdGone> wait_gone(LauncherPeer& peer, uint32_t job);
/// Waits until the file has a whole line, and returns it; empty after the deadline.
std::string wait_line(const std::string& path);
/// Whether the process is gone (or a zombie) within the deadline.
bool wait_dead(pid_t pid);
/// The kinds that work on this machine.
std::vector<std::string> usable_kinds();
/// Says that a test has nothing to test on this machine.
void not_here(const std::string& why);
bool is_usable(const std::string& kind, const std::string& controller = "kill");

}  // namespace gw::noded::step
