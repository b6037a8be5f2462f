// PMIx for the tasks of a step on this node: the sockets at which its helper (noded/pmix) is reached stand before any
// task runs, and the helper itself starts when a process of the step's user connects, or another node. A program that
// uses no MPI costs no process.
// Invariants: nobody else starts a helper, whatever connects to its sockets; libpmix is not in this process; what the
// helper says is as little trusted as what a task does, since both are the user's; it is in the step's containment and
// ends with the tasks.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/listener.h"
#include "io/loop.h"
#include "io/stream.h"
#include "noded/step/containment.h"
#include "noded/step/proc/owned_fd.h"
#include "noded/step/start/task_env.h"
#include "peer/doorkeeper.h"
#include "wire/frame.h"
#include "wire/launch.pb.h"
#include "wire/pmix.pb.h"
#include "wire/step.pb.h"

namespace gw::noded::step {

/// What the node has for PMIx; found once, by the launcher.
struct MpiSupport {
  std::string program;                   ///< The helper.
  std::vector<std::string> environment;  ///< As libpmix makes it for a task; names and port are yet to be filled in.
  std::string problem;                   ///< Why there is none; else empty.
};
/// Finds out, by a process that runs while others have not asked yet.
class MpiProbe {
 public:
  void start();
  /// Waits for the process, at most some seconds, and not again once it has answered.
  const MpiSupport& result();

 private:
  pid_t pid_ = 0;
  proc::OwnedFd report_;
  std::optional<MpiSupport> result_;
};

/// Whether this can be ordered at all. `tasks`: those of this node.
base::Status check_pmix(const wire::PmixLaunch& pmix, uint32_t tasks);

class Mpi {
 public:
  struct Events {
    std::function<void(const std::string& why)> end;                   ///< The step cannot continue.
    std::function<void(uint32_t rank, const std::string& why)> abort;  ///< A task asks for the end.
    std::function<void()> answered;                                    ///< is_asked() is over.
  };
  /// All references outlive it. `hosts`: as of StepTasks.
  Mpi(io::Loop& loop, const wire::StepSpec& spec, Containment& contain, const MpiSupport& support,
      const std::string& hosts, Events events);
  ~Mpi();
  Mpi(const Mpi&) = delete;
  Mpi& operator=(const Mpi&) = delete;

  /// Opens the sockets. Errors: the node has no helper; errno.
  base::Status open(const wire::PmixLaunch& pmix);
  /// Where helpers of other nodes reach this one's; empty if there are none.
  std::string address() const;
  /// What all tasks of the node have in their environment.
  void add_variables(Environment& environment) const;
  /// Tasks are about to run. Errors: not an address for each node.
  base::Status go(const wire::GoTasks& order);
  /// Whether it is the helper that has ended.
  bool on_child(pid_t pid, int status);
  /// A task has ended badly: whether others would wait for it for ever the helper knows.
  void on_task_failed(uint32_t rank);
  /// Its answer is awaited.
  bool is_asked() const { return questions_ > 0; }
  /// The other nodes are told that the step ends.
  void spread_end(const std::string& why);
  /// The last task has ended: the helper may go once it has answered.
  void close();

 private:
  /// Until the helper has them.
  struct Sockets {
    io::Fd tasks, peers;
    io::Fd first;  // the task for which the helper starts
    io::Watch tasks_watch;
    std::optional<peer::Doorkeeper> door;  // of peers
    io::Timer tasks_retry, peers_retry;
  };

  io::Loop& loop_;
  const wire::StepSpec& spec_;
  Containment& contain_;
  const MpiSupport& support_;
  const std::string& hosts_;
  Events events_;
  wire::PmixSetup setup_;
  std::optional<Sockets> sockets_;
  uint16_t port_ = 0;
  std::string address_;
  pid_t helper_ = 0;
  std::shared_ptr<io::Stream> stream_;
  wire::FrameDecoder decoder_;
  int questions_ = 0;
  io::Timer patience_;
  bool is_over_ = false;    // the last task has ended
  bool is_closed_ = false;  // and the helper was told to go

  void watch();
  void on_task_connects();
  void on_peer_connects();
  base::Status start();
  base::Status fork_helper();
  [[noreturn]] void become_helper(int socket, bool cloned_into);
  void on_bytes(std::string_view bytes);
  void send(const wire::ToPmix& message);
  void on_answer();
  void stop_asking();
};

}  // namespace gw::noded::step
