// The sessions of a step's clients: who comes, who controls the step, who joins it later, who may only watch, and what
// they ask for.
// Invariants: one client at a time owns the step, and only one who may control it: who launches it, once, and of a step
// that is kept then who joins it. Others may watch, and are heard in nothing. What a client orders is checked; without
// it the tasks end, unless it said that they are to be kept.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "auth/crypto.h"
#include "io/loop.h"
#include "noded/step/tasks/audience.h"
#include "noded/step/tasks/task_launch.h"
#include "noded/step/tasks/task_streams.h"
#include "noded/step/tasks/terminal_size.h"
#include "stream/server.h"

namespace gw::noded::step {

/// How long a client that is out of touch is waited for, while its side of the network is silent.
constexpr base::Duration kClientLimit = base::minutes(10);
/// The same if its side ended the connection: then it is most probably dead, unless something on the way did that.
constexpr base::Duration kDeadClientLimit = base::seconds(10);
/// Most that a client can say of the time between SIGTERM and SIGKILL.
constexpr base::Duration kLongestGrace = base::hours(1);

class StepSessions {
 public:
  /// What goes up from here.
  struct Events {
    std::function<void()> changed;  ///< Somebody looks whether the step can continue.
    std::function<void()> wake;     ///< The shepherd has something to look at.
  };
  /// All references outlive it.
  StepSessions(io::Loop& loop, const wire::StepSpec& spec, TaskParts parts, TaskLaunch& launch, Events events);
  ~StepSessions();
  StepSessions(const StepSessions&) = delete;
  StepSessions& operator=(const StepSessions&) = delete;

  /// Listens. Errors: as io::Listener::open; a ticket key that is none.
  base::Status open();
  std::string address() const { return server_->bound_address(); }
  std::string key() const { return std::string(auth::view(key_.public_key())); }
  size_t count() const { return server_ ? server_->sessions() : 0; }
  /// The last task has ended, and the terminal with it.
  void on_tasks_end() { terminal_size_.stop(); }

 private:
  class ControlSession;
  class WatchSession;

  io::Loop& loop_;
  const wire::StepSpec& spec_;
  TaskParts parts_;
  TaskLaunch& launch_;
  Events events_;
  base::SystemClock clock_;
  auth::KeyPair key_;
  std::unique_ptr<stream::Server> server_;
  std::set<auth::Bytes32> known_;  // keys of clients that had a session
  TerminalSize terminal_size_;

  base::Result<std::shared_ptr<stream::Handler>> welcome(const auth::Ticket& ticket, stream::Session& session);
  base::Result<std::shared_ptr<stream::Handler>> watch(stream::Session& session);
  /// The first client that orders something has the step.
  bool is_free() const { return launch_.is_awaited() && parts_.audience.owner() == nullptr; }
  base::Status may_join() const;
  void look(ControlSession& client);
  void join(ControlSession& client);
  void say_joined(stream::Session& session) const;
  void on_owner_gone(const base::Error& reason);
  void on_stranger_gone(const base::Error& reason);
  void on_order(ControlSession& client, const std::string& frame);
  void on_control(const stream::Control& control);
};

}  // namespace gw::noded::step
