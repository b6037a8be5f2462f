// The node daemon as one deterministic state machine: everything that happens is an on_x call with the time in it, and
// returns what is to be done. No clock, socket, file or thread; randomness is a seed. Leases are counted by a clock of
// their own, which is told beside.
// Invariants: of each job at most one attempt has live processes here: its own run and those of its steps; a run is
// reported Done only when all its processes are gone, and that of a job after those of its steps; BatchExited and Done
// are sent again until acknowledged; nothing but Register is sent before Registered came.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/boot_time.h"
#include "base/result.h"
#include "base/time.h"
#include "model/job_state.h"
#include "noded/core/effects.h"
#include "noded/core/facts.h"
#include "noded/core/graveyard.h"
#include "noded/core/run.h"
#include "noded/core/step_places.h"

namespace gw::noded {

/// What the agent is born with.
struct AgentConfig {
  NodeFacts node;
  std::string boot_id;   ///< Another one proves that all runs of the earlier one are dead.
  std::string instance;  ///< Random, of this start of the daemon.
  wire::StateMark seen;  ///< What the last KeepMark of an earlier start held.
  std::string version;
  std::string warning;   ///< About the node, for administrators.
  uint32_t own_uid = 0;  ///< Other than 0: only this user's jobs can run.
  uint64_t seed = 0;     ///< For the jitter of reconnecting.
};

/// A run found on disk at the start.
struct RecoveredRun {
  wire::RunRecord record;
  bool shepherd_answers = false;  ///< on_shepherd_connected follows, or on_shepherd_gone.
  bool has_step_dir = false;
  std::optional<wire::StepExit> exit;  ///< The exit record, if the step has one.
};

class NodeAgent {
 public:
  explicit NodeAgent(AgentConfig config);

  /// The clock that leases count by; to be told before each of the calls below. It must never go back.
  void set_lease_clock(base::BootTime now) { boot_now_ = now; }
  /// Once, first of all: adopts what an earlier daemon left, then connects. `now` of all calls must never go back.
  [[nodiscard]] Effects on_recovered(base::Time now, const std::vector<RecoveredRun>& found);

  [[nodiscard]] Effects on_link_up(base::Time now);
  [[nodiscard]] Effects on_link_down(base::Time now, const std::string& why);
  [[nodiscard]] Effects on_controller(base::Time now, const wire::ControllerToNode& message);

  [[nodiscard]] Effects on_user(base::Time now, RunKey run, const base::Result<UserInfo>& user);
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

  [[nodiscard]] Effects on_tick(base::Time now);
  /// When on_tick is due next, at the latest.
  base::Time next_wakeup() const;
  /// Likewise, where that is for a lease.
  base::BootTime next_lease_end() const;

  const std::map<RunKey, Run>& runs() const { return runs_; }
  bool is_registered() const { return link_ == Link::kRegistered; }

 private:
  /// What the controller wants to know of a run, until its shepherd has said it.
  struct AskedUse {
    std::string gpus;
    base::Time at;
  };
  enum class Link { kDown, kConnecting, kRegistering, kRegistered };
  // agent.cc: the link
  void register_node(base::Time now);
  void on_registered(base::Time now, const wire::Registered& message);
  void on_refused(base::Time now, const wire::Refused& message);
  void drop_link(base::Time now, const std::string& why);
  void retry_later(base::Time now, base::Duration at_least);
  void send(base::Time now, wire::NodeToController message);
  void on_contact(base::Time now, const wire::ControllerToNode& message);
  void renew_leases(base::Time now);
  void name_lease(const Run& run, wire::StepExit& exit) const;
  base::BootTime lease_end(const Run& run) const;
  void check_lease(base::Time now, Run& run);
  void check_deadline(base::Time now, Run& run);
  base::Duration silence_limit() const;
  double next_random();

  // agent_state.cc: which state the controller works from
  void recover_mark(const wire::RunRecord& record);
  void hear_mark(base::Time now, const wire::ControllerToNode& message);
  bool is_of_another_state(const Run& run, const wire::StateMark& placed_in) const;
  bool refuse_beside_foreign(base::Time now, const wire::Prepare& message);

  // agent_orders.cc: what the controller asks
  void on_prepare(base::Time now, const wire::Prepare& message);
  void repeat_prepare(base::Time now, Run& run);
  void begin(base::Time now, Run& run);
  base::Status check_user(uint32_t uid, bool allow_root) const;
  void on_go(base::Time now, const wire::Go& message);
  void give_go(base::Time now, Run& run, int64_t started_us);
  void go(Run& run);
  void on_stop(base::Time now, const wire::Stop& message);
  void on_signal(const wire::Signal& message);
  void on_resize(const wire::Resize& message);
  void on_ack(base::Time now, const wire::Ack& message);
  void stop(base::Time now, Run& run, int64_t grace_us, bool kill_now);
  void send_stop(Run& run);

  // agent_job_steps.cc: the steps of a job beside its own run
  void on_start_step(base::Time now, const wire::StartStep& message);
  base::Status check_start(const wire::StartStep& message) const;
  void refuse_step(base::Time now, RunKey key, const std::string& why);
  void begin_step(base::Time now, const wire::StartStep& message, const Run& job);
  std::vector<RunKey> live_steps(RunKey job) const;
  void stop_steps(base::Time now, RunKey job, int64_t grace_us, bool kill_now);
  bool must_await_steps(base::Time now, Run& run, bool must_release);
  void step_is_over(base::Time now, RunKey step);
  void tell_places(base::Time now);

  // agent_pace.cc: standing still and going on
  void on_suspend(base::Time now, const wire::Suspend& message);
  void on_resume(const wire::Resume& message);
  void on_stands(base::Time now, Run& run, const wire::StepSuspended& message);
  void check_stands(base::Time now, Run& job);
  void go_on(Run& job, uint32_t round);
  void send_pace(Run& run);
  void report_suspended(base::Time now, const Run& run, uint32_t round, const std::string& problem);

  // agent_usage.cc: what runs use
  void on_usage_query(base::Time now, const wire::UsageQuery& message);
  void on_used(RunKey key, const wire::StepUsed& message);
  void drop_old_queries(base::Time now);

  // agent_steps.cc: what happens to the runs
  void adopt(base::Time now, const RecoveredRun& found);
  void adopt_share(base::Time now, Run& run);
  void connect_once_clean(base::Time now);
  void launch(base::Time now, Run& run, const UserInfo& user);
  void on_ready(base::Time now, Run& run);
  void on_step_ready(base::Time now, Run& run, const wire::StepReady& message);
  void on_step_started(base::Time now, Run& run, const wire::StepStarted& message);
  void on_step_exit(base::Time now, Run& run, const wire::StepExit& message);
  void clean_up_after_exit(base::Time now, Run& run);
  void on_clean(base::Time now, Run& run, const wire::StepClean& message);
  void lose_shepherd(base::Time now, Run& run, int code, int signo, const std::optional<wire::StepExit>& exit);
  void fail_start(base::Time now, Run& run, model::EndReason reason, const std::string& detail, bool node_fault);
  void fail_and_release(base::Time now, Run& run, const std::string& why);
  void release(base::Time now, Run& run);
  void release_share(Run& run);
  void finish(base::Time now, Run& run);
  void close(base::Time now, Run& run);
  void report(base::Time now, Run& run);
  void report_done(base::Time now, Run& run);
  void report_exit(base::Time now, Run& run);
  void report_prepared(base::Time now, const Run& run);
  void report_started(base::Time now, const Run& run);
  void send_failure(base::Time now, const wire::PrepareFailed& failure);
  void forget(base::Time now, RunKey key, std::optional<wire::PrepareFailed> failure);
  void bury(RunKey key, uint32_t generation, std::optional<wire::PrepareFailed> failure, std::string root = {});
  const Tombstone* tombstone(RunKey key) const;

  Run* find(RunKey key);
  /// To go over the runs while handlers may take some out.
  std::vector<RunKey> keys() const;
  bool has_live_run(uint32_t job) const;
  void to_shepherd(const Run& run, wire::ToShepherd message);
  void say(Level level, std::string text);
  Effects take();

  AgentConfig config_;
  std::map<RunKey, Run> runs_;
  std::map<std::pair<uint64_t, RunKey>, AskedUse> asked_;  // by the controller's number
  Graveyard<uint32_t> job_graves_;
  Graveyard<RunKey> step_graves_;
  StepPlaces places_;
  Effects out_;

  wire::StateMark seen_;  // the newest that a controller has told
  base::Time mark_kept_;  // when it was kept last

  Link link_ = Link::kDown;
  uint64_t link_number_ = 0;   // grows with each registration
  bool is_recovering_ = true;  // runs of an earlier boot are still being cleaned up
  base::Time retry_at_ = base::Time::never();
  int failures_ = 0;       // of connecting, in a row
  base::Time last_heard_;  // anything on the present link
  base::Time last_beat_;   // sent; Register counts as one
  base::BootTime boot_now_;
  base::BootTime beat_sent_;     // last_beat_ by the clock of leases
  base::BootTime last_contact_;  // when we sent the last beat that a controller answered: leases count from here
  bool echoes_ = false;          // the controller says which beat it answers
  base::Time last_renewal_;
  base::Duration heartbeat_ = base::seconds(10);
  base::Duration timeout_ = base::seconds(60);
  uint64_t random_;
};

}  // namespace gw::noded
