// What a shepherd says to the node daemon, and the connections over which it does.
// Invariant: what it has said it says again to every new connection, in the order of a step's life.
#pragma once

#include <poll.h>

#include <functional>
#include <list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "noded/step/proc/owned_fd.h"
#include "noded/step/state/channel.h"
#include "wire/step.pb.h"

namespace gw::noded::step {

class Announcements {
 public:
  /// `listener`: the socket in the step's folder. `spec` names the step.
  Announcements(proc::OwnedFd listener, const wire::StepSpec& spec);

  int listener() const { return listener_.get(); }
  /// Adds what the connections wait for.
  void add_to(std::vector<pollfd>& fds) const;
  /// Sends and receives where that is possible: `ready` as add_to() added them. A frame may be any bytes.
  void serve(std::span<const pollfd> ready, const std::function<void(const std::string&)>& on_frame);
  /// Takes one waiting connection, and says everything to it.
  void accept();
  void drop_closed();

  void say(const wire::FromShepherd& message);
  void say_all_again();
  void say_ready(const wire::StepReady& ready);
  void say_started(const wire::StepStarted& started);
  void say_exit(const wire::StepExit& exit);
  void say_clean(const wire::StepClean& clean);
  void say_suspended(const wire::StepSuspended& suspended);
  /// The same is said of it from now on, but only to new connections.
  void keep_ready(const wire::StepReady& ready);
  /// What was said holds no longer.
  void withdraw_ready() { ready_.reset(); }
  void withdraw_suspended() { suspended_.reset(); }

  bool has_started() const { return started_.has_value(); }
  bool has_exit() const { return exit_.has_value(); }
  bool has_clean() const { return clean_.has_value(); }

 private:
  proc::OwnedFd listener_;
  std::list<Channel> channels_;
  wire::FromShepherd hello_;
  std::optional<wire::FromShepherd> ready_, started_, exit_, clean_, suspended_;

  void say_all_to(Channel& channel);
};

}  // namespace gw::noded::step
