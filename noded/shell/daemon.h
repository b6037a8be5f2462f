// The node daemon's shell: carries out what the agent wants, and tells it what happens.
// Invariants: the agent is entered only from the loop, and its effects are carried out in order, each call's before the
// next call's.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>

#include "auth/munge.h"
#include "io/loop.h"
#include "io/steady_clock.h"
#include "noded/core/agent.h"
#include "noded/shell/controller_link.h"
#include "noded/shell/gpu_watcher.h"
#include "noded/shell/launcher.h"
#include "noded/shell/setup.h"
#include "noded/shell/shepherds.h"
#include "noded/shell/state_folder.h"
#include "noded/shell/users.h"
#include "noded/shell/worker.h"
#include "noded/step/proc/lease_timer.h"
#include "program/program_pool.h"

namespace gw::noded {

class Daemon {
 public:
  /// Prologs and epilogs at once; others wait. As many as jobs come and go together on the largest machines.
  static constexpr size_t kMostPrograms = 256;

  Daemon(Setup setup, StateFolder folder);
  /// Until SIGTERM or SIGINT. Steps continue.
  void run();

 private:
  base::Time now() const { return clock_.now(); }
  /// The time for a call of the agent, which is told the other clock.
  base::Time read_clocks();
  /// Carries out effects; those that come meanwhile wait their turn.
  void carry_out(Effects effects);
  void schedule_tick();
  void adopt(const std::vector<RecoveredRun>& found);

  void handle(const Connect& effect);
  void handle(const Disconnect& effect);
  void handle(const SendToController& effect);
  void handle(const LookupUser& effect);
  void handle(const LaunchShepherd& effect);
  void handle(const ToShepherd& effect);
  void handle(const KeepOrder& effect);
  void handle(const KeepHosts& effect);
  void handle(const PrepareShare& effect);
  void handle(const ReleaseShare& effect);
  void handle(const RunProgram& effect);
  void handle(const PersistRun& effect);
  void handle(const ForgetRun& effect);
  void handle(const KeepMark& effect);
  void handle(const KeepUnfit& effect);
  void handle(const Say& effect);
  void handle(const MeasureShare& effect);
  void handle(const MeasureGpus& effect);

  void on_shepherd_gone(RunKey run, int code, int signo);
  AgentConfig agent_config() const;

  Setup setup_;
  StateFolder folder_;
  io::SteadyClock clock_;
  io::Loop loop_;
  auth::MungeAuthenticator munge_;
  NodeAgent agent_;
  Users users_;
  Worker containment_;
  program::ProgramPool programs_{kMostPrograms, program::ProgramPool::AtEnd::kLeave};  // gstepd ends theirs with us
  GpuWatcher gpus_;
  size_t measuring_ = 0;
  ControllerLink controller_;
  Launcher launcher_;
  Shepherds shepherds_;
  std::deque<Effects> waiting_;
  bool is_busy_ = false;
  io::Timer tick_;
  base::Time tick_at_ = base::Time::never();
  step::LeaseTimer lease_timer_;
  io::Watch lease_watch_;
};

}  // namespace gw::noded
