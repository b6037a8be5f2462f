// The tasks that a client launches in a step: from the client's first connection to the end of the last output. This is
// what the shepherd sees of them, and what holds their machines together: sessions, launch, streams and farewell. They
// have an event loop of their own, in which the shepherd waits.
// Invariant: a machine calls those below it; what concerns those above goes up as an event.
#pragma once

#include <poll.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/loop.h"
#include "noded/step/tasks/audience.h"
#include "noded/step/tasks/farewell.h"
#include "noded/step/tasks/step_mpi.h"
#include "noded/step/tasks/step_sessions.h"
#include "noded/step/tasks/task_launch.h"
#include "noded/step/tasks/task_set.h"
#include "noded/step/tasks/task_streams.h"

namespace gw::noded::step {

class StepTasks {
 public:
  /// `spec`, `mpi` and `contain`, which is prepared, outlive it. `hosts`: file to show as /etc/hosts, or empty.
  StepTasks(const wire::StepSpec& spec, Containment& contain, std::string hosts, const MpiSupport& mpi);
  StepTasks(const StepTasks&) = delete;
  StepTasks& operator=(const StepTasks&) = delete;

  /// Listens. Errors: as io::Listener::open; a ticket key that is none.
  base::Status open() { return sessions_.open(); }
  std::string address() const { return sessions_.address(); }
  std::string key() const { return sessions_.key(); }

  /// Serves until one of the shepherd's own descriptors is ready, there is something to tell, or the limit has passed
  /// (microseconds; 0: none).
  void wait(std::span<const pollfd> fds, int64_t limit_us);
  /// A child has ended, which may be one of the tasks.
  void on_child(pid_t pid, int status) { static_cast<void>(launch_.on_child(pid, status)); }
  /// The node daemon ends the step: from now on nobody is waited for. `words`: what its client is told of it.
  void on_stop(const std::string& words);
  /// A line for its client, from the people of the site or its user.
  void on_notice(const std::string& text);
  /// All that lives is killed from now on.
  void on_kill() { launch_.on_kill(); }
  /// The places of the spec have changed: tasks that run go there.
  void on_places() { tasks_.follow(spec_.access()); }
  /// Tasks that run.
  std::vector<TaskAt> running() const { return tasks_.running(); }
  /// All whose processes are known, also those that have ended.
  std::vector<TaskAt> all() const { return tasks_.with_processes(); }
  /// Process id of the first task, once when all run.
  std::optional<uint32_t> take_started() { return launch_.take_started(); }
  /// How the step ended, once.
  std::optional<wire::StepExit> take_exit() { return farewell_.take_exit(); }
  /// The client has heard everything, or was given the time to.
  bool may_leave() { return farewell_.may_leave(sessions_.count()); }

 private:
  const wire::StepSpec& spec_;
  Containment& contain_;
  std::string hosts_;
  io::Loop loop_;
  Audience audience_;
  TaskSet tasks_;
  TaskStreams streams_;
  StepMpi mpi_;
  TaskLaunch launch_;
  Farewell farewell_;
  StepSessions sessions_;
  bool is_woken_ = false;

  void advance();
  void drain();
};

}  // namespace gw::noded::step
