// The node daemon as one deterministic state machine: everything that happens is an on_x call with the time in it, and
// returns what is to be done. No clock, socket, file or thread; randomness is a seed. Leases are counted by a clock of
// their own, which is told beside.
// Invariants: of each job at most one attempt has live processes here: its own run and those of its steps; a run is
// reported Done only when all its processes are gone, and that of a job after those of its steps; BatchExited and Done
// are sent again until acknowledged; nothing but Register is sent before Registered came.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/boot_time.h"
#include "base/result.h"
#include "base/time.h"
#include "noded/core/core.h"
#include "noded/core/gpu_watch.h"

namespace gw::noded {

class NodeAgent {
 public:
  explicit NodeAgent(AgentConfig config) : core_(std::move(config)) {}

  /// The clock that leases count by; to be told before each of the calls below. It must never go back.
  void set_lease_clock(base::BootTime now) { core_.leases.turn(now); }
  /// Once, first of all: adopts what an earlier daemon left, then connects. `now` of all calls must never go back.
  [[nodiscard]] Effects on_recovered(base::Time now, const std::vector<RecoveredRun>& found);

  [[nodiscard]] Effects on_link_up(base::Time now);
  [[nodiscard]] Effects on_link_down(base::Time now, const std::string& why);
  [[nodiscard]] Effects on_controller(base::Time now, const wire::ControllerToNode& message);

  [[nodiscard]] Effects on_user(base::Time now, RunKey run, const base::Result<UserInfo>& user);
  /// The errors say how the program failed.
  [[nodiscard]] Effects on_program_ended(base::Time now, RunKey run, NodeProgram which, const base::Status& status);
  [[nodiscard]] Effects on_shepherd_connected(base::Time now, RunKey run);
  [[nodiscard]] Effects on_shepherd(base::Time now, RunKey run, const wire::FromShepherd& message);
  /// The link to a shepherd broke that still lives: it will be connected again.
  [[nodiscard]] Effects on_shepherd_lost(base::Time now, RunKey run);
  /// The shepherd is dead. `exit` is its exit record, where it left one. Code and signal as far as known, else 0.
  [[nodiscard]] Effects on_shepherd_gone(base::Time now, RunKey run, int code, int signo,
                                         const std::optional<wire::StepExit>& exit);
  [[nodiscard]] Effects on_launch_failed(base::Time now, RunKey run, const std::string& why);
  [[nodiscard]] Effects on_share_prepared(base::Time now, RunKey run, const base::Status& status);
  /// `problem` is empty if every process is gone.
  [[nodiscard]] Effects on_share_released(base::Time now, RunKey run, const std::string& problem);

  /// GPUs were looked at, as they are every kGpuLookEvery while wants_gpu_looks().
  [[nodiscard]] Effects on_gpu_looks(base::Time now, const GpuLooks& looks);
  bool wants_gpu_looks() const { return noded::wants_gpu_looks(core_); }

  [[nodiscard]] Effects on_tick(base::Time now);
  /// When on_tick is due next, at the latest.
  base::Time next_wakeup() const;
  /// Likewise, where that is for a lease.
  base::BootTime next_lease_end() const;

  const std::map<RunKey, Run>& runs() const { return core_.runs.all(); }
  bool is_registered() const { return core_.link.is_registered(); }

 private:
  template <typename Call>
  Effects serve(base::Time now, const Call& call);

  Core core_;
};

}  // namespace gw::noded
