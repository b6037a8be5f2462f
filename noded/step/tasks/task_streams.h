// Input and output of a step's tasks on this node: from the pipes and the terminal that a launch makes to the last byte
// that somebody is to get.
// Invariants: input waits in its session until there are tasks to read it, and is refused when none reads; once the
// tasks have ended, processes that they left behind hold their outputs open for kOutputLinger at most.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string_view>
#include <vector>

#include "base/state_machine.h"
#include "io/loop.h"
#include "noded/step/start/step_task.h"
#include "noded/step/tasks/audience.h"
#include "noded/step/tasks/task_io.h"

namespace gw::noded::step {

/// How long outputs of a step whose tasks have all ended are held open for processes that they left behind.
constexpr base::Duration kOutputLinger = base::seconds(2);

/// The pipes of a launch, and the terminal that may be among them.
struct TaskPipes {
  TaskPipes(io::Loop& loop, std::function<void()> on_room) : input(loop, std::move(on_room)) {}
  std::list<TaskOutput> outputs;
  TaskInput input;
};

struct TaskStreamStates {
  /// No launch has come; that the input is over is then kept for it.
  struct Unopened {
    bool is_input_over = false;
  };
  /// The tasks run, or will.
  struct Flowing {
    std::unique_ptr<TaskPipes> pipes;
    bool is_input_over = false;  // since before there were pipes
    int terminal = -1;           // its master, which the input holds
  };
  /// They have ended, and what they have printed is still to be read.
  struct Draining {
    std::unique_ptr<TaskPipes> pipes;  // none if no launch came
    io::Timer linger;
  };
  using Machine =
      base::StateMachine<base::Transitions<base::From<Unopened>::To<Flowing>, base::From<Unopened>::To<Draining>,
                                           base::From<Flowing>::To<Draining>>,
                         Unopened, Flowing, Draining>;
};

class TaskStreams : private TaskStreamStates {
 public:
  /// `on_done`: an output has nothing more.
  TaskStreams(io::Loop& loop, Audience& audience, std::function<void()> on_done);
  TaskStreams(const TaskStreams&) = delete;
  TaskStreams& operator=(const TaskStreams&) = delete;

  /// Makes what the launch orders, once; gives the ends of its tasks, by their places. `uid` owns a terminal. Errors:
  /// errno; what was made until then stays, and is drained.
  base::Result<std::vector<TaskEnds>> open(const wire::LaunchTasks& launch, uint32_t uid);
  /// The tasks are being started: the owner's input flows.
  void begin();
  /// The tasks have ended.
  void drain();

  /// The owner's input. Returns how much was taken.
  size_t on_input(std::string_view bytes);
  void on_input_end();
  /// There is room for an output again, or for all.
  void resume(stream::ChannelId channel);
  void resume_all();

  /// Outputs that may still have something.
  std::vector<stream::ChannelId> open_outputs() const;
  /// Master of the first task's terminal while tasks may use it; -1 if there is none.
  int terminal() const;
  bool is_drained() const;
  /// Bytes that the owner is still to take.
  size_t untaken() const;

 private:
  io::Loop& loop_;
  Audience& audience_;
  std::function<void()> on_done_;
  Machine state_;

  TaskPipes* pipes() const;
  base::Result<TaskEnds> make_ends(Flowing& flowing, const wire::LaunchTasks& launch, size_t place, uint32_t uid);
  base::Result<proc::OwnedFd> make_input(TaskPipes& pipes);
  base::Result<proc::OwnedFd> make_output(TaskPipes& pipes, stream::ChannelId channel);
  base::Result<proc::OwnedFd> make_terminal_ends(Flowing& flowing, const wire::LaunchTasks& launch, uint32_t uid);
  void add_output(TaskPipes& pipes, proc::OwnedFd fd, stream::ChannelId channel);
  void pull_input();
};

}  // namespace gw::noded::step
