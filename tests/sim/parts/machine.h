// A node: the node daemon's agent (noded/core) on a machine that is made up, with a disk, shepherds and what these run.
// Invariants: what the agent orders is done one by one, whenever the test says so; shepherds live on without the
// daemon, end by themselves when their lease is over, and say everything again to a daemon that connects; the disk
// survives a reboot, processes do not.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/topology.h"
#include "noded/core/agent.h"

namespace gw::ctld::testing {

using noded::RunKey;

/// Where the machine's daemon sends what it has to say.
class NodeNetwork {
 public:
  virtual ~NodeNetwork() = default;
  virtual void to_controller(const std::string& node, const wire::NodeToController& message) = 0;
  virtual void hang_up(const std::string& node) = 0;
  /// The script or the step runs from now on; told before anything else of it is.
  virtual void on_begun(const std::string& /*node*/, noded::RunKey /*run*/) {}
};

class Machine {
 public:
  Machine(std::string name, NodeNetwork& network, const model::NodeTopology& topology, base::Time now);

  const std::string& name() const { return name_; }
  bool is_on() const { return is_on_; }
  bool has_daemon() const { return agent_ != nullptr; }
  bool is_dialing() const { return agent_ != nullptr && is_dialing_; }

  void boot(base::Time now);
  void power_off();
  void start_daemon(base::Time now);
  /// The daemon dies: at once, or after so many effects more.
  void kill_daemon();
  void kill_daemon_after(uint32_t effects) { fuse_ = effects; }

  void link_up(base::Time now);
  void link_down(base::Time now, const std::string& why);
  void hear(base::Time now, const wire::ControllerToNode& message);
  void tick(base::Time now);
  base::Time next_wakeup(base::Time now) const;

  /// There is something to be done.
  bool has_work() const;
  /// Does one thing that is to be done; `pick` says which. False: there is nothing to do.
  bool work(base::Time now, uint32_t pick);
  /// A script or a step comes to its end. False: none runs.
  bool end_something(base::Time now, uint32_t pick);

  struct Use {
    wire::NodeShare share;
    bool has_processes = false;
    bool has_begun = false;  ///< Something of it runs, or is suspended.
    bool runs = false;       ///< Something of it is not suspended.
  };
  /// One run that is there: what is left of it, and what it was given.
  struct Seen {
    RunKey run;
    wire::NodeShare share;
    bool has_process = false;  ///< Else only the share is kept for it.
    bool is_frozen = false;
    bool has_begun = false;  ///< Its script, or its tasks.
    bool has_lease = false;
  };
  std::vector<Seen> seen() const;
  /// Something of the run is there, if only its end.
  bool knows(RunKey run) const { return processes_.contains(run) || shares_.contains(run); }
  /// The jobs' own runs that are there, with what they were given.
  std::map<RunKey, Use> in_use() const;
  /// Nothing is there, and nothing is remembered.
  bool is_empty() const { return processes_.empty() && shares_.empty() && records_.empty() && chores_.empty(); }
  std::string text() const;

 private:
  enum class Stage { kBegun, kReady, kRuns, kOver, kClean };
  /// A shepherd, and what it runs.
  struct Process {
    Stage stage = Stage::kBegun;
    bool is_step = false, waits_for_go = false, is_frozen = false, is_connected = false;
    uint32_t uid = 0;
    int64_t lease_us = 0;
    base::BootTime heard;
    std::deque<wire::ToShepherd> inbox;
    std::vector<wire::FromShepherd> said;
    size_t told = 0;  // of what it said, to the present daemon
  };

  base::BootTime boot_time(base::Time now) const { return {now.us - 500'000'000}; }
  void carry_out(base::Time now, std::vector<noded::Effect> effects);
  void handle(base::Time now, const noded::Effect& effect);
  bool do_chore(base::Time now, uint32_t pick);
  void launch(base::Time now, const noded::LaunchShepherd& order);
  void take_up(const wire::RunRecord& record);
  bool advance(base::Time now, RunKey key, Process& process);
  void obey(base::Time now, RunKey key, Process& process, const wire::ToShepherd& order);
  void say_started(base::Time now, RunKey key, Process& process);
  void end(base::Time now, RunKey key, Process& process, int code, int signo, uint32_t reason);
  void clean(RunKey key, Process& process);
  template <typename Fn>
  void tell_agent(base::Time now, const Fn& fn) {
    if (!agent_) return;
    agent_->set_lease_clock(boot_time(now));
    carry_out(now, fn(*agent_));
  }

  std::string name_;
  NodeNetwork& network_;
  wire::NodeTopology topology_;
  bool is_on_ = false, is_dialing_ = false;
  uint32_t boots_ = 0, daemons_ = 0, fuse_ = 0;
  std::unique_ptr<noded::NodeAgent> agent_;
  std::vector<noded::Effect> chores_;                               // of the present daemon
  std::map<RunKey, Process> processes_;                             // shepherds
  std::set<RunKey> shares_;                                         // contained without a shepherd
  std::map<std::pair<RunKey, uint32_t>, wire::NodeShare> offered_;  // by generation: what a run was told that it has
  std::map<RunKey, wire::NodeShare> given_;                         // likewise, of those that are there
  std::map<RunKey, wire::RunRecord> records_;                       // on disk, as all below
  std::map<RunKey, std::optional<wire::StepExit>> folders_;
  wire::StateMark mark_;
  wire::UnfitList unfit_;
};

}  // namespace gw::ctld::testing
