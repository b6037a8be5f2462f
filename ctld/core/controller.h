// The controller's core: one deterministic state machine. Everything that happens is an on_x() call with the time in
// it; what should be done about it is collected as Effects, which the shell fetches with take_effects(). Invariants: no
// clock, socket, thread, file or randomness; same calls, same effects. A job's change of state and the rows that record
// it are in the same Effects. Every resource that a job holds is in the ledger, and nothing else is. The handlers stand
// by subject: submit.cc, hetjob.cc, lifecycle.cc, steps.cc, attendance.cc, preemption.cc, checkpoints.cc, requests.cc,
// nodes.cc, foreign.cc, admin.cc, quotas.cc, partitions.cc, reservations.cc, query.cc, restore.cc, held_aside.cc.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ctld/core/authorize.h"
#include "ctld/core/effects.h"
#include "ctld/core/foreign_runs.h"
#include "ctld/core/held_rows.h"
#include "ctld/core/job_books.h"
#include "ctld/core/job_rows.h"
#include "ctld/core/job_table.h"
#include "ctld/core/kept_replies.h"
#include "ctld/core/kept_scripts.h"
#include "ctld/core/lease_watch.h"
#include "ctld/core/ledger.h"
#include "ctld/core/lineage.h"
#include "ctld/core/listings.h"
#include "ctld/core/metrics.h"
#include "ctld/core/node_table.h"
#include "ctld/core/outbox.h"
#include "ctld/core/placements.h"
#include "ctld/core/quota_book.h"
#include "ctld/core/request_rate.h"
#include "ctld/core/row_marks.h"
#include "ctld/core/run_rows.h"
#include "ctld/core/settings.h"
#include "ctld/core/signals.h"
#include "ctld/core/step_table.h"
#include "ctld/core/timers.h"
#include "ctld/core/usage_book.h"
#include "model/cluster.h"
#include "model/job.h"
#include "model/partition_keys.h"
#include "model/reservation.h"
#include "model/step.h"
#include "sched/order_facts.h"
#include "sched/plan.h"
#include "sched/usage.h"

namespace gw::ctld {

using base::JobId;
using base::NodeId;
using base::Time;

/// The authenticated other end of a node's link.
struct NodePeer {
  uint32_t uid = UINT32_MAX;
  std::string address;
  wire::Topologies::Ptr topology =
      {};  ///< What a registration says of the node's hardware; null: it is read from there.
};

class Controller {
 public:
  Controller(Settings settings, Time now);
  /// The clock that leases count by; to be told before each of the calls below, since they are counted by nothing else.
  void set_lease_clock(base::BootTime now) { lease_watch_.turn(now); }
  /// Takes over what the store holds; to be called once, before anything else. Rows that cannot be read are held aside.
  /// Error: what the others say does not add up.
  base::Status restore(const store::Snapshot& snapshot, Time now);

  void on_request(Time now, ConnId conn, const Caller& caller, const wire::ApiRequest& request);
  void on_client_gone(Time now, ConnId conn);
  /// A piece of the list that this request asked for was written to the client: the next one is wanted.
  void on_piece_taken(Time now, ConnId conn, uint64_t request_id);
  /// A list is under way on this connection.
  bool is_listing(ConnId conn) const { return listings_.has(conn); }
  void on_node_message(Time now, LinkId link, const NodePeer& peer, const wire::NodeToController& message);
  void on_node_gone(Time now, LinkId link, const std::string& reason);
  void on_plan(Time now, const sched::Plan& plan);
  /// What the scheduler measured at its last pass; to be shown.
  void on_fragmentation(std::vector<sched::PartitionFragmentation> figures) { fragmentation_ = std::move(figures); }
  /// Whoever came by `heard_until` and may be a node has been heard; without it, all until now. A node that is away is
  /// given up only when that is so of its deadline.
  void on_tick(Time now, std::optional<Time> heard_until = {});
  /// Links that on_tick(now) would give up for their silence. What waits unread on one is a sign of life: on_heard().
  std::vector<LinkId> silent_links(Time now) const;
  void on_heard(Time now, LinkId link);
  /// Some who may have been nodes were turned away for want of room: they need time to come again.
  void on_turned_away(Time at) { turned_away_ = std::max(turned_away_, at); }
  /// Some node may be given up because it has not come back.
  bool looks_for_absent(Time now) const { return !absent_due_.empty() || timers_.is_due(now, TimerKind::kNodeDown); }
  /// The shell could not send the order to prepare a run. `is_final`: no retry can mend it (too long for a message, the
  /// script is gone), so the job fails; else it is queued again with back-off. The node is not at fault.
  void on_prepare_unsent(Time now, JobId id, uint32_t attempt, const std::string& why, bool is_final);
  /// New settings are in force (nodes, partitions, limits). `reply_to` gets the changes.
  void on_reconfigured(Time now, Settings settings, const Reload& reply_to, const std::vector<std::string>& changes,
                       const std::vector<std::string>& warnings);
  /// A request that the shell carried out came to an end.
  void on_shell_reply(ConnId conn, wire::ApiReply reply);
  /// `since` is that of the Fence effect: a result from before the node came back proves nothing now.
  void on_fenced(Time now, const std::string& node, Time since, bool is_dead, const std::string& detail);
  /// The store cannot be written (`why` says so), or can again (empty). Changes are refused meanwhile.
  void on_store_state(const std::string& why);

  /// When on_tick() is wanted next.
  Time next_wakeup() const { return timers_.next(); }
  /// With all that is to be written.
  Effects take_effects();
  /// Without the rows that take_late_rows() gives. They are owed to the group of writes that these effects are in.
  Effects take_effects_early();
  bool has_late_rows() const { return rows_.has_coalesced() || commit_saved_ != lineage_.commit(); }
  /// Rows that one node after another changes: as they are now, each once, however often they changed.
  store::Batch take_late_rows();

  const std::map<JobId, model::Job>& jobs() const { return jobs_.all(); }
  const std::map<NodeId, model::Node>& nodes() const { return nodes_.all(); }
  /// Those of its nodes, for who receives their messages.
  wire::Topologies& topologies() { return nodes_.topologies(); }
  const sched::Capacity& ledger() const { return ledger_.capacity(); }
  const Timers& timers() const { return timers_; }
  /// Figures for monitoring; costs a look at every node, and at no job but those of completing nodes.
  Metrics metrics(Time now) const;
  const std::map<uint32_t, sched::Used>& use_of_users() const { return usage_.users(); }
  /// The durable state in canonical bytes: a core rebuilt from the store gives the same as the live one.
  std::string fingerprint() const;
  /// Events that did not fit the state of their job; zero in a healthy controller.
  uint64_t misfits() const { return misfits_; }

 private:
  struct WaitInfo {
    model::WaitReason reason = model::WaitReason::kNone;
    std::string detail;
  };
  struct Waiter {
    ConnId conn;
    uint64_t request_id;
    bool until_started = false;
  };
  /// A step that other steps leave no room for yet.
  struct StepWait {
    ConnId conn;
    uint64_t request_id;  // 0: who asks for it does not wait for an answer yet
    model::StepRequest request;
    std::string client_key;
  };
  /// A request for what steps use, until their nodes have said it.
  struct UseAsked {
    ConnId conn{};
    uint64_t request_id = 0;
    Time until;
    std::set<std::pair<uint32_t, NodeId>> open;  // number of the step + 1, or 0; node
    wire::StepUsageReply reply;
  };

  Settings settings_;
  Time boot_;
  JobTable jobs_;
  Placements placements_;
  NodeTable nodes_;
  std::map<std::string, model::Partition> partitions_;
  std::map<std::string, model::Partition> made_partitions_;  // by commands
  std::set<std::string> gone_partitions_;                    // likewise; the configuration may have them
  /// By whom and when a command gave a partition the value of a key.
  struct Said {
    std::string user;
    uint32_t uid = 0;
    Time at;
  };
  using SaidKeys = std::map<std::string, Said, std::less<>>;
  std::map<std::string, SaidKeys> said_;  // by partition
  QuotaBook book_;
  std::vector<model::Qos> quotas_;  // the tree that the scheduler was told
  std::map<std::string, model::Reservation> reservations_;
  std::unordered_map<std::string, std::set<std::string>> reserved_;  // node -> reservations
  sched::AdvanceReservations advance_;                               // as the scheduler was told
  std::map<sched::ClassKey, WaitInfo> class_waits_;
  Time planned_;                                       // when the latest plan was made, by which its classes are named
  std::map<JobId, sched::Reserve> estimates_;          // of the last plan
  std::vector<sched::WouldMove> found_moves_;          // by the dry runs of the last plan
  std::map<JobId, std::set<std::string>> told_moves_;  // of jobs that wait: what dry runs found
  std::vector<sched::PartitionFragmentation> fragmentation_;
  Outbox out_;
  RowMarks rows_;
  SchedulerFeed feed_;
  Ledger ledger_{feed_};
  UsageBook usage_;
  bool is_usage_armed_ = false;
  uint64_t quota_epoch_ = 0;  // when the tree of quotas, or the QOS of a job, changed last
  Timers timers_;
  LeaseWatch lease_watch_;
  Lineage lineage_;
  uint64_t commit_saved_ = 0;  // see take_late_rows()
  ForeignRuns foreign_;
  HeldRows held_;
  Time heard_by_;  // until then no job starts before all nodes are heard; zero: that is not waited for
  std::map<NodeId, Time> next_beat_;
  Time heard_until_, turned_away_;                   // see on_tick(), on_turned_away()
  std::set<std::pair<Time, NodeId>> absent_due_;     // away too long, but those who came by then are not heard yet
  std::set<NodeId> answered_;                        // whose heartbeat was answered since next_beat_ was set
  std::map<NodeId, std::set<JobId>> launch_faults_;  // jobs whose launch the node failed in a row
  KeptReplies kept_replies_{{settings_.per_user.kept_replies, settings_.per_user.kept_reply_bytes}};
  RequestRate request_rate_;
  JobBooks job_books_;
  KeptScripts kept_scripts_;
  std::multimap<JobId, Waiter> waiters_;
  StepTable steps_;
  std::multimap<StepKey, Waiter> step_waiters_;
  std::map<JobId, std::deque<StepWait>> waiting_steps_;  // no empty line
  std::map<uint64_t, UseAsked> use_asked_;
  uint64_t last_use_ = 0;
  std::map<JobId, ConnId> attendants_;
  Listings listings_;
  std::string store_fault_;
  uint64_t misfits_ = 0;
  std::map<std::string, PreemptionFigures> preemptions_;  // by QOS

  // controller.cc: shared by all handlers
  void mark_messages();
  bool advance(model::Job& job, model::JobEvent event);
  Role role_for(const Caller& caller, const model::Job& job) const;
  sched::ClassKey class_of(const model::Job& job) const;
  WaitInfo wait_info(const model::Job& job) const;
  wire::Job job_to_wire(const model::Job& job) const;

  // restore.cc
  void restore_counts(const store::Snapshot& snapshot, Time now);
  void restore_cluster(const store::Snapshot& snapshot, Time now);
  void restore_node(const store::NamedBytes& row, Time now, bool is_held_by_jobs);
  void restore_jobs(const store::Snapshot& snapshot, Time now, const RunRows& runs, const RunRows::Unread& unread,
                    const std::function<NodeId(std::string_view)>& lookup);
  void restore_ended(const store::Snapshot& snapshot, Time now, const JobRows& live,
                     const std::function<NodeId(std::string_view)>& lookup);
  void restore_replies(const store::Snapshot& snapshot, Time now);

  // held_aside.cc
  void hold_aside(Time now, store::RowKind kind, std::vector<store::KeyValue> key, const std::string& name,
                  const std::string& reason, const std::string& nodes = {});
  void hold_named(Time now, store::RowKind kind, const std::string& name, const std::string& reason) {
    hold_aside(now, kind, {name}, name, reason);
  }
  void report_held(Time now, const store::HeldRow& row);
  void restore_held(const store::Snapshot& snapshot, Time now);
  void hold_jobs(const store::Snapshot& snapshot, Time now, const std::map<JobId, std::string>& faults);
  void hold_run_node(Time now, const store::PutRunNode& row, const std::string& reason);
  void hold_step(const store::Snapshot& snapshot, Time now, const store::PutStep& row, const std::string& reason);
  void hear_of_held(const model::Node& node, const wire::Register& m);
  void held_may_run(const model::Node& node, uint32_t job, bool may_run);
  void want_held_steps(const wire::Register& m, wire::Registered& out) const;
  void held_request(Time now, ConnId conn, const Caller& caller, const wire::ApiRequest& request);
  void list_held(Time now, ConnId conn, const wire::ApiRequest& request);
  void delete_held(Time now, ConnId conn, const Caller& caller, const wire::ApiRequest& request);

  void restore_job(Time now, model::Job& job);

  // budgets.cc
  base::Duration wait_of(Time now, const Caller& caller, const wire::ApiRequest& request, bool is_change);
  void refuse_for_now(ConnId conn, uint64_t request_id, base::Duration wait);
  base::Status admit_jobs(const Caller& caller, const wire::SubmitRequest& submit, const model::JobSpec& spec) const;
  base::Status admit_growth(const Caller& caller, uint32_t uid, size_t before, size_t after) const;
  void book_job(const model::Job& job, size_t row_bytes, const BlobUse& script, const BlobUse& environment);
  void job_left_memory(Time now, JobId id);
  void environment_due(JobId id);
  void drop_scripts(Time now);
  void arm_scripts(Time now);
  KeptScripts::Limits script_limits() const;
  void restore_books(const store::Snapshot& snapshot, Time now);

  // submit.cc
  void submit(Time now, ConnId conn, const Caller& caller, const wire::ApiRequest& request);
  base::Result<model::JobSpec> accept_spec(Time now, const Caller& caller, const wire::SubmitRequest& request,
                                           std::vector<std::string>& warnings) const;
  base::Status check_identity(const Caller& caller, const wire::SubmitRequest& request) const;
  void choose_partitions(model::JobSpec& spec) const;
  base::Status route(const Caller& caller, model::JobSpec& spec) const;
  base::Status check_partition(const Caller& caller, const model::JobSpec& spec, const model::Partition& p) const;
  base::Status check_time(model::JobSpec& spec, bool is_admin) const;
  base::Status check_runnable(const model::JobSpec& spec) const;
  std::optional<sched::Start> try_start(Time now, const model::JobSpec& spec,
                                        std::vector<std::string>& obstacles) const;
  void test_only(Time now, ConnId conn, const wire::ApiRequest& request, const std::vector<model::JobSpec>& components,
                 const std::vector<std::string>& warnings);
  JobId enter(Time now, const wire::SubmitRequest& request, model::JobSpec spec,
              std::vector<model::JobSpec> components);

  // hetjob.cc
  std::vector<model::Job*> siblings(const model::Job& job);
  void add_components(const model::Job& leader, sched::PendingJob& out) const;
  void consider_components(Time now, model::Job& job);
  static bool goes_alone(const model::Job& job);
  void go_together(Time now, model::Job& job);
  void stop_siblings(Time now, const model::Job& job, const model::Outcome& outcome);
  base::Status check_together(const std::vector<const model::JobSpec*>& components);
  std::set<uint32_t> with_components(std::set<uint32_t> ids);
  void add_components_of_leaders(wire::JobFilter& filter) const;
  const model::Job& leader_of(const model::Job& job) const;
  std::optional<WaitInfo> wait_for_components(const model::Job& job) const;
  base::Result<model::JobSpec> accept_component(Time now, const Caller& caller, const wire::JobSpec& written,
                                                const model::JobSpec& leader) const;
  base::Result<std::vector<model::JobSpec>> accept_components(Time now, const Caller& caller,
                                                              const wire::SubmitRequest& request,
                                                              const model::JobSpec& leader);

  // lifecycle.cc
  sched::PendingJob pending_of(const model::Job& job) const;
  void consider(Time now, model::Job& job);
  void forget_old_waits();
  void expect_end(const model::Job& job, Time when, bool is_leaving = false);
  void commit_group(Time now, const sched::Group& group);
  bool can_commit(Time now, const sched::Start& start) const;
  bool commit_start(Time now, const sched::Start& start);
  void reject(Time now, const sched::Reject& reject);
  void prepare_everywhere(Time now, const model::Job& job);
  void tell_components(const model::Job& leader, wire::Prepare& out) const;
  wire::Prepare prepare_of(Time now, const model::Job& job) const;
  void send_prepare(Time now, const model::Job& job, NodeId node);
  void send_prepare(const model::Job& job, NodeId node, const wire::Prepare& common);
  static void complete_for(const model::Job& job, NodeId node, wire::Prepare& p);
  void send_go(const model::Job& job, NodeId node);
  void send_stop(const model::Job& job, NodeId node, bool kill_now = false);
  void on_prepared(Time now, NodeId node, const wire::Prepared& m);
  void on_prepare_failed(Time now, NodeId node, const wire::PrepareFailed& m);
  void on_started(Time now, NodeId node, const wire::Started& m);
  void on_batch_exited(Time now, NodeId node, const wire::BatchExited& m);
  void on_done(Time now, NodeId node, const wire::Done& m);
  void go(Time now, model::Job& job);
  void stop(Time now, model::Job& job, model::Outcome outcome);
  void share_gone(Time now, model::Job& job, NodeId node);
  void node_lost_job(Time now, model::Job& job, NodeId node, const std::string& why,
                     model::EndReason reason = model::EndReason::kNodeDown);
  void finish(Time now, model::Job& job);
  void requeue(Time now, model::Job& job);
  void end(Time now, model::Job& job, model::Outcome outcome);
  void end_pending(Time now, model::Job& job, model::JobState state, model::Outcome outcome);

  // launch_faults.cc
  void blame(Time now, model::Job& job, const std::set<NodeId>& nodes, const std::string& why);
  void count_launch_fault(Time now, model::Node& node, JobId job, const std::string& why);
  void launch_failed(model::Job& job, Time now);
  void launch_succeeded(model::Job& job);
  static model::Request asked_now(const model::Job& job);
  bool could_run_elsewhere(const model::Job& job) const;
  void shun_no_longer_than_due(Time now, model::Job& job);
  void arm_limits(const model::Job& job);
  model::Job* current_run(uint32_t job, uint32_t attempt);
  void answer_waiters(const model::Job& job, bool has_started = false);

  // steps.cc
  void step_request(Time now, ConnId conn, const Caller& caller, const wire::ApiRequest& request);
  base::Result<model::Job*> job_for_step(const Caller& caller, uint32_t id);
  base::Status may_begin_step(const Caller& caller, const model::Job& job,
                              const wire::CreateStepRequest& request) const;
  void create_step(Time now, ConnId conn, const Caller& caller, const wire::ApiRequest& request);
  static model::Allocation usable_by_steps(const model::Job& job);
  base::Result<bool> begin_step(Time now, model::Job& job, const StepWait& wait);
  static base::Result<std::optional<StepWait>> accept_first_step(ConnId conn, const model::JobSpec& spec,
                                                                 const wire::SubmitRequest& submit);
  void begin_first_step(Time now, model::Job& job);
  wire::StartStep start_of(Time now, const model::Job& job, const model::Step& step) const;
  void send_start_step(const model::Job& job, const model::Step& step, size_t index, const wire::StartStep& common);
  base::Duration kill_wait_of(const model::Step& step) const;
  void stop_step(model::Step& step, base::Duration grace);
  void stop_step_on(const model::Step& step, NodeId node, base::Duration grace);
  void answer_when_ready(Time now, const model::Step& step, const Waiter& waiter);
  void send_ticket(Time now, const model::Step& step, ConnId conn, uint64_t request_id, const std::string& client_key,
                   bool watch);
  void give_ticket(Time now, ConnId conn, const Caller& caller, const wire::ApiRequest& request);
  void list_steps(Time now, ConnId conn, const wire::ApiRequest& request);
  void signal_step(Time now, ConnId conn, const Caller& caller, const wire::ApiRequest& request);
  void step_prepared(Time now, NodeId node, const wire::Prepared& m);
  void shepherd_ready(Time now, model::Step& step, model::StepNode& node, const std::string& address,
                      const std::string& key);
  void lose_part(model::Step& step);
  void fail_step(model::Step& step, const std::string& why);
  void tell_step_waiters(const model::Step& step, const base::Error& error);
  void step_failed(Time now, NodeId node, const wire::PrepareFailed& m);
  void step_exited(NodeId node, const wire::BatchExited& m);
  void step_done(Time now, NodeId node, const wire::Done& m);
  void acknowledge_step(NodeId node, uint32_t job, uint32_t attempt, uint32_t step, wire::RunPhase phase);
  void step_left_node(Time now, model::Step& step, model::StepNode& node);
  void step_over(Time now, const model::Step& ended);
  void begin_waiting_steps(Time now, model::Job& job);
  void forget_step_waiters(Time now, ConnId conn);
  void refuse_steps(const model::Job& job, const std::string& why);
  void drop_steps(JobId id);
  void drop_step(StepKey key);
  void steps_left(Time now, JobId id, NodeId node);
  void restore_steps(const store::Snapshot& snapshot, Time now, const RunRows& runs, const RunRows::Unread& unread,
                     const std::function<NodeId(std::string_view)>& lookup);
  void want_steps(NodeId node, wire::Registered& out);
  void reconcile_steps(Time now, const model::Node& node, const wire::Register& m, bool rebooted);

  // step_use.cc
  void ask_use(Time now, ConnId conn, const Caller& caller, const wire::ApiRequest& request);
  void ask_use_of_job(uint64_t id, UseAsked& wait, const model::Job& job);
  void ask_use_of_step(uint64_t id, UseAsked& wait, const model::Step& step);
  void ask_node(uint64_t id, UseAsked& wait, const model::NodeShare& share, const model::Job& job, uint32_t step);
  void on_use(Time now, NodeId node, const wire::Usage& m);
  void answer_use(Time now, uint64_t id);

  // attendance.cc
  static void accept_kind(model::JobSpec& spec);
  void attend(ConnId conn, const model::Job& job);
  void client_left(Time now, ConnId conn);
  void await_attendant(Time now, const model::Job& job);
  void await_step(Time now, const model::Job& job);
  void absence_due(Time now, model::Job& job);
  void end_allocation(Time now, ConnId conn, const Caller& caller, const wire::ApiRequest& request);
  void end_with_step(Time now, model::Job& job, const model::Step& step);

  // preemption.cc
  bool can_take_anybody(Time now) const;
  void tell_moves(Time now);
  void tell_move(Time now, const sched::WouldMove& found);
  bool can_make_room(Time now, const sched::Group& group) const;
  void keep_for(Time now, const sched::Claim& claim);
  void preempt(Time now, const sched::Preempt& preempt);
  static model::Outcome preempted(const model::Job& job, uint32_t beneficiary, uint32_t rule, bool is_move);
  void count_preempted_run(model::Job& job, uint64_t lost);
  base::Status check_preemption(const model::JobSpec& spec, std::vector<std::string>& warnings) const;
  void tell_preemption(const model::Job& job, wire::Stop& out) const;
  void take_exit_as_saved(model::Job& job, const model::Outcome& reported);
  static bool was_preempted(const model::Outcome& outcome);
  void count_preemption(Time now, model::Job& job, const model::Outcome& outcome);
  void restore_preemptions(const store::Snapshot& snapshot, Time now);

  // suspend.cc
  static bool stands_still(const model::Job& job) { return job.state == model::JobState::kSuspended; }
  static bool can_stand_still(const model::JobSpec& spec);
  static model::Allocation held_by(const model::Job& job);
  static void ask_for_the_rest(const model::Job& job, sched::PendingJob& out);
  static std::string why_suspended(const model::Suspension& suspension);
  bool suspend(Time now, model::Job& job, model::Suspension why, base::Duration grace);
  void send_suspend(Time now, const model::Job& job, NodeId node);
  void send_resume(const model::Job& job, NodeId node);
  void repeat_suspension(Time now, const model::Job& job, NodeId node);
  void on_suspended(Time now, NodeId node, const wire::Suspended& m);
  void stand_still(Time now, model::Job& job);
  void hold_remains(const model::Job& job, const model::Allocation& kept);
  void tell_of_suspended(const model::Job& job);
  void wait_to_go_on(const model::Job& job);
  bool can_go_on(Time now, const model::Job& job, const sched::Start& start) const;
  bool go_on(Time now, model::Job& job);
  void run_on(Time now, model::Job& job, const std::string& why);
  void suspension_due(Time now, model::Job& job);
  void restore_suspension(Time now, const model::Job& job, const model::Allocation& held);
  base::Status may_suspend(const Caller& caller, const model::Job& job) const;
  base::Status suspend_on_request(Time now, const Caller& caller, model::Job& job);
  base::Status resume_on_request(Time now, const Caller& caller, model::Job& job);

  // elastic.cc
  static JobId holder_on(const model::Job& job, NodeId node);
  static uint32_t generation_on(const model::Job& job, NodeId node);
  static const model::NodeShare* share_on(const model::Job& job, NodeId node);
  void emit_piece(const model::Job& job, const model::Piece& piece, const model::NodeShare& share, Time since);
  void commit_growth(Time now, const sched::Grow& grow);
  bool piece_ready(model::Job& job, NodeId node);
  void shrink(Time now, const sched::Preempt& victim);
  void clear_node(const model::Job& job, NodeId node);
  void pieces_due(Time now, model::Job& job);
  bool repeat_to_piece(Time now, model::Job& job, NodeId node, bool has_run);
  bool piece_gone(Time now, model::Job& job, NodeId node, const std::string& why);
  void tell_size(const model::Job& job);

  // usage.cc
  void charge(Time now, const model::Job& job, int64_t rate);
  void charge_again(Time now, const model::Job& job, const model::Allocation& held);
  void discharge(Time now, const model::Job& job, NodeId node);
  void arm_usage(Time now);
  void usage_due(Time now);
  void publish_usage(Time now);
  void restore_usage(const store::Snapshot& snapshot, Time now);

  // ticks.cc
  void fire(Time now, const Timer& timer);
  void job_limit_due(Time now, model::Job& job);
  void job_warn_due(Time now, model::Job& job);
  void start_timeout_due(Time now, model::Job& job);

  // requests.cc
  void ask_shell(ConnId conn, const wire::ApiRequest& request);
  void dispatch(Time now, ConnId conn, const Caller& caller, const wire::ApiRequest& request);
  base::Error store_error() const;
  void refuse_for_store(ConnId conn, uint64_t request_id);
  bool answer_lost(ConnId conn, const Caller& caller, const wire::ApiRequest& request);
  bool answer_again(ConnId conn, const Caller& caller, const wire::ApiRequest& request);
  void remember_reply(Time now, const Caller& caller, const wire::ApiRequest& request, const wire::ApiReply& reply);
  void reply_change(Time now, ConnId conn, const Caller& caller, const wire::ApiRequest& request, wire::ApiReply reply);
  void cancel(Time now, ConnId conn, const Caller& caller, const wire::ApiRequest& request);
  base::Status cancel_one(Time now, const Caller& caller, model::Job& job, const wire::CancelRequest& request);
  bool signal(const model::Job& job, int signo, SignalReach reach);
  void end_by_user(Time now, const Caller& caller, model::Job& job, bool at_once);
  void job_action(Time now, ConnId conn, const Caller& caller, const wire::ApiRequest& request);
  base::Status act_on(Time now, const Caller& caller, model::Job& job, wire::JobAction action);
  base::Status hold(Time now, const Caller& caller, model::Job& job, bool by_admin);
  base::Status release(Time now, const Caller& caller, model::Job& job);
  base::Status requeue_on_request(Time now, const Caller& caller, model::Job& job, bool then_hold);

  // update_job.cc
  void update_job(Time now, ConnId conn, const Caller& caller, const wire::ApiRequest& request);
  base::Status update_with_components(Time now, const Caller& caller, model::Job& job, const wire::UpdateJobRequest& u);
  base::Result<model::JobSpec> updated_spec(Time now, const Caller& caller, const model::Job& job,
                                            const wire::UpdateJobRequest& u) const;
  void take_spec(Time now, const Caller& caller, model::Job& job, model::JobSpec spec);
  base::Status update_limits(const Caller& caller, const model::Job& job, model::JobSpec& spec,
                             const wire::UpdateJobRequest& u) const;
  base::Status update_place(const Caller& caller, const model::Job& job, model::JobSpec& spec,
                            const wire::UpdateJobRequest& u) const;

  // nodes.cc
  void configure_nodes(Time now);
  void register_node(Time now, LinkId link, const NodePeer& peer, const wire::Register& m);
  base::Status check_registration(LinkId link, const NodePeer& peer, const wire::Register& m) const;
  void refuse_link(LinkId link, const base::Error& error);
  void reconcile(Time now, model::Node& node, const wire::Register& m, bool rebooted, Kin seen);
  void reconcile_job(Time now, model::Job& job, NodeId node, wire::RunPhase phase);
  void publish_node(const model::Node& node);
  sched::NodeFacts facts_of(const model::Node& node) const;
  std::string why_held(const std::string& node) const;
  void send_to_node(NodeId node, wire::ControllerToNode message, const model::Job* script_of = nullptr,
                    bool at_once = false);
  void node_dead(Time now, model::Node& node, const std::string& why);
  void node_unreachable(Time now, model::Node& node, const std::string& why);
  void node_silence_due(Time now, NodeId id, Time due);
  void arm_beat(Time now, NodeId id);
  void send_beat(Time now, NodeId id, int64_t echo_us);
  void node_down_due(Time now, NodeId id);
  void absent_due(Time now);
  void lease_over_due(Time now, model::Job& job, NodeId node);

  // foreign.cc
  bool is_expected(NodeId node, uint32_t job, uint32_t attempt, const model::StateMark& mark);
  Kin hear_of_state(Time now, const model::Node& node, const wire::Register& m);
  void want_foreign(NodeId node, const wire::Register& m, wire::Registered& out) const;
  void await_all_nodes(Time now);
  void look_who_is_heard(Time now);
  void consider_jobs_of_foreign(Time now, NodeId node);
  bool awaits_foreign_run(model::Job& job);
  bool foreign_message(Time now, NodeId node, const wire::NodeToController& message);
  void foreign_exited(Time now, NodeId node, const wire::BatchExited& m);
  void settle(Time now, model::Job& job, const ForeignRun& run, model::Outcome outcome);
  void stop_foreign(const ForeignRun& run);
  void end_left_behind(NodeId node);
  void foreign_gone(Time now, NodeId node, uint32_t job, uint32_t attempt);
  void hold_what_may_have_ended(model::Job& job, NodeId node);

  // admin.cc
  void configure_scheduler();
  const sched::Order& order() const { return *settings_.policy.order; }
  void configure_pools();
  void withdraw_node(const model::Node& node, wire::ApiReply& told);
  void update_node(Time now, ConnId conn, const Caller& caller, const wire::ApiRequest& request);
  base::Status check_node_update(const model::Node& node, const wire::UpdateNodeRequest& u) const;
  void update_one_node(Time now, const Caller& caller, model::Node& node, const wire::UpdateNodeRequest& u);

  // quotas.cc
  bool splits_by_user() const;
  void seed_quotas();
  void publish_quotas();
  void restore_quotas(const store::Snapshot& snapshot, Time now);
  void change_quotas(Time now, ConnId conn, const Caller& caller, const wire::ApiRequest& request);
  void list_quotas(Time now, ConnId conn, const wire::ApiRequest& request);
  void ask_scheduler(ConnId conn, const wire::ApiRequest& request);
  model::Amounts configured_amounts() const;
  void tell_of_running(const model::Job& job);
  void move_to_qos(Time now, model::Job& job, const std::string& to);
  base::Status check_moves(const wire::ChangeQuotasRequest& request, const QuotaBook& after) const;
  void carry_out_moves(Time now, const Caller& caller, const wire::ChangeQuotasRequest& request);
  void save_quotas(const QuotaBook& before, const QuotaBook& after);
  std::vector<std::string> effects_of(const QuotaBook& after, const wire::ChangeQuotasRequest& request) const;
  void order_anew(Time now, const QuotaBook& before);
  std::string default_qos_of(const std::string& user, const std::vector<std::string>& partitions) const;
  bool has_qos(const std::string& name) const;
  base::Status check_qos(const Caller& caller, model::JobSpec& spec) const;
  base::Duration max_wall_of(const std::string& qos) const;
  base::Status check_caps(const model::JobSpec& spec, size_t more) const;

  // checkpoints.cc
  void checkpointed(Time now, ConnId conn, const Caller& caller, const wire::ApiRequest& request);

  // partitions.cc
  void publish_partition(const model::Partition& partition);
  void withdraw_partition(const std::string& name);
  base::Status check_partition_values(model::Partition& p) const;
  base::Result<model::KeyNames> change_partition(model::Partition& p, const wire::UpdatePartitionRequest& u) const;
  void store_partition(const model::Partition& p);
  void keep_partition(Time now, const Caller& caller, const model::Partition& p, const model::KeyNames& keys,
                      std::string_view what);
  model::Partition over_defaults(const model::Partition& own, const model::KeyNames& said) const;
  model::Partition in_effect(const model::Partition& p) const;
  wire::KeyOrigin origin_of(const std::string& partition, const model::PartitionKey& key, bool is_open) const;
  wire::Partition describe_partition(const model::Partition& p) const;
  wire::Partition describe_effective(const model::Partition& p) const;
  void update_partition(Time now, ConnId conn, const Caller& caller, const wire::ApiRequest& request);
  void restore_partitions(const store::Snapshot& snapshot, Time now);
  void create_partition(Time now, ConnId conn, const Caller& caller, const wire::ApiRequest& request);
  void delete_partition(Time now, ConnId conn, const Caller& caller, const wire::ApiRequest& request);

  // reservations.cc
  base::Status check_reserved_names(model::Reservation& r) const;
  const model::Reservation* rival_of(const model::Reservation& r, const std::string& node, Time now,
                                     std::map<std::string, bool>& known) const;
  Time busy_until(const model::Reservation& r, const sched::NodeAccount& account) const;
  void index_reservation(const std::string& name, const std::vector<std::string>& nodes);
  base::Status pick_nodes(model::Reservation& r, Time now) const;
  base::Status settle_reservation(model::Reservation& r, Time now, bool pick) const;
  base::Status change_reservation(model::Reservation& r, const wire::UpdateReservationRequest& u) const;
  void publish_reservation(const model::Reservation& r);
  void admit_to_reservation(const model::Job& job);
  void keep_reservation(Time now, const Caller& caller, const model::Reservation& r, const std::string& what);
  void drop_reservation(Time now, const std::string& name, const std::string& why, uint32_t uid);
  void reservations_due(Time now);
  base::Result<const model::Reservation*> find_reservation(const std::string& name) const;
  void route_by_reservation(model::JobSpec& spec) const;
  base::Status check_reservation(const model::JobSpec& spec) const;
  void create_reservation(Time now, ConnId conn, const Caller& caller, const wire::ApiRequest& request);
  void update_reservation(Time now, ConnId conn, const Caller& caller, const wire::ApiRequest& request);
  void delete_reservation(Time now, ConnId conn, const Caller& caller, const wire::ApiRequest& request);
  wire::Reservation show_reservation(const model::Reservation& r, Time now) const;
  void list_reservations(Time now, ConnId conn, const wire::ApiRequest& request);
  std::string reserved_as(const std::string& node, Time now) const;
  void restore_reservations(const store::Snapshot& snapshot, Time now);

  // priorities.cc
  void show_priority(const sched::OrderFacts& facts, const model::Job& job, wire::Job& shown) const;
  void describe_priority(const sched::OrderFacts& facts, const model::Job& job, wire::JobPriority& out) const;
  void describe_order(const sched::OrderFacts& facts, wire::ListPrioritiesReply& list) const;
  void list_priorities(Time now, ConnId conn, const wire::ApiRequest& request);

  // unwritten.cc
  bool overtakes(const model::Job& job, NodeId node) const;
  void repeat_stops();
  void cancel_unwritten(Time now, ConnId conn, const Caller& caller, const wire::ApiRequest& request);

  // query.cc
  void begin_list(Time now, ConnId conn, uint64_t request_id, Listings::Fill fill);
  std::unordered_map<std::string, std::vector<std::string>> partitions_of_nodes() const;
  wire::Partition show_partition(const model::Partition& p, bool is_effective) const;
  void list_jobs(Time now, ConnId conn, const wire::ApiRequest& request);
  void show_job(Time now, ConnId conn, const Caller& caller, const wire::ApiRequest& request);
  void wait_job(ConnId conn, const Caller& caller, const wire::ApiRequest& request);
  void list_nodes(Time now, ConnId conn, const wire::ApiRequest& request);
  void list_partitions(Time now, ConnId conn, const wire::ApiRequest& request);
  void show_config(Time now, ConnId conn, const wire::ApiRequest& request);
  void ping(Time now, ConnId conn, const wire::ApiRequest& request);
  std::vector<JobId> select(const wire::JobFilter& filter, std::vector<uint32_t>* unknown) const;
  wire::Node describe(Time now, const model::Node& node, bool with_topology) const;
  std::string node_state(Time now, const model::Node& node) const;
};

/// The jobs that a request names, each once.
std::set<uint32_t> job_ids(const google::protobuf::RepeatedField<uint32_t>& ids);
/// The refusal for somebody else's job.
base::Error denied_job(const model::Job& job);
}  // namespace gw::ctld
