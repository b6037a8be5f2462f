// What the scheduler sees (ClusterView) and the deltas that keep it true. The controller emits a delta with each
// change; the scheduler's thread applies them in order. No full copy is ever made after the start. Invariant: a view
// that got every delta up to an epoch equals the controller's state at that epoch.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <variant>

#include "model/network.h"
#include "model/reservation.h"
#include "sched/ledger/capacity.h"
#include "sched/place/fragmentation.h"
#include "sched/queue/orders.h"
#include "sched/queue/queue.h"
#include "sched/quota/quota.h"
#include "sched/view/cursor.h"

namespace gw::sched {

/// Settings of the whole scheduler.
struct Policy {
  std::shared_ptr<const Order> order;  ///< Where a partition has none of its own. Null: fifo_skip.
  Weights order_weights = {};          ///< What the order was made with, for snapshots.
  std::string order_version = {};      ///< Of its plug-in, for snapshots; empty: the program's own.
  PoolOrders pool_orders = {};         ///< Of partitions that have one of their own.
  PoolOrders qos_orders = {};          ///< And of QOS, which comes first.
  Services services = {};              ///< For orders that go by what jobs had that ended before.
  /// So long a job runs at least, where no partition says otherwise, before it yields to another by turns.
  Duration quantum = base::minutes(1);
  model::Fit fit = model::Fit::kBest;  ///< Where neither partition nor job says.
  /// Blocked jobs of each partition whose start is planned in a pass.
  uint32_t max_planned_starts = 16;
  /// How long a job that is preempted for another may still run, unless its QOS says. Zero: what it held is free within
  /// the same plan.
  Duration grace = {};
  Reclaim reclaim = Reclaim::kFairShare;  ///< What one QOS may take back from another.
  ChosenShare share = {};                 ///< How what nobody is guaranteed is divided among QOS.
  bool preempts = false;                  ///< Inside a QOS a higher submitted priority takes from a lower one.
  uint32_t moves_per_hour = 60;           ///< Most jobs that are moved so that others fit.
  /// Nodes of different state that are compared for one task before the best is taken; 0: all.
  uint32_t candidates = 32;
  /// How much the past use of QOS counts when a surplus is divided: the k of weigh_past(); 0: not at all.
  double fairness_over_time = 0;
  /// How long a job waits before nodes are kept for it that others would take again and again, unless its QOS says;
  /// zero: for ever.
  Duration patience = base::hours(12);
  /// So long a waiting job is delayed at most by what protects jobs that were preempted before; zero: nobody is
  /// protected.
  Duration reclaim_delay_max = base::minutes(15);
  /// Once so many jobs of a QOS were preempted within an hour, no more of them are for a job beyond its guarantee.
  uint32_t preemptions_per_hour = 600;
  model::Licenses licenses = {};  ///< What the cluster has of each.
};

/// An advance reservation: whole nodes, for some users, for a time, once or again and again.
struct AdvanceReservation {
  std::string name;
  std::vector<std::string> nodes;
  Time start;  ///< Of the first occurrence.
  Time end;
  std::set<uint32_t> users;  ///< Who may run inside it.
  bool maintenance = false;  ///< Nobody runs inside it.
  Duration every = {};       ///< From the beginning of one occurrence to that of the next; zero: it does not repeat.
  /// The occurrence that `now` lies in, or the next one.
  model::Occurrence at(Time now) const {
    return model::occurrence_at(start, end == Time::never() ? base::kUnlimited : end - start, every, now);
  }
  bool operator==(const AdvanceReservation&) const = default;
};
using AdvanceReservations = std::map<std::string, AdvanceReservation>;

/// What is free and what is being freed for a job, from the decision to take it until the job starts (durable in the
/// controller). It falls if the job starts elsewhere or goes, if a node goes, and if it cannot start in time.
struct Nomination {
  JobId job;
  std::string partition;
  model::Allocation allocation;
  Time when;                                      ///< By then everybody should have left.
  std::vector<model::KeptPlace> components = {};  ///< Of a heterogeneous job: for the others, as it lists them.
  bool operator==(const Nomination&) const = default;
  /// Of all components.
  std::vector<std::string> node_names() const;
  /// What the job will hold there, without its licences.
  Quantities amounts(const QuotaTree& tree, const Capacity& capacity) const;
  /// And with them.
  Quantities amounts(const QuotaTree& tree, const Capacity& capacity, const PendingJob& whole) const;
};
/// By the epoch at which they were made: each was made so that it could start even if those before it had started.
using Nominations = std::map<uint64_t, Nomination>;

struct NodeSet {
  NodeFacts facts;
};
struct NodeRemoved {
  NodeId id;
};
struct PartitionSet {
  PartitionFacts facts;
};
struct PartitionRemoved {
  std::string name;
};
struct NetworkSet {
  model::Network network;
};
struct PolicySet {
  Policy policy;
};
struct JobQueued {
  PendingJob job;
};
struct JobUnqueued {
  JobId id;
};
/// The tree of quotas is another one.
struct QosSet {
  std::vector<model::Qos> tree;  ///< Passed check_qos_tree().
};
struct NominationSet {
  Nomination nomination;
};
/// A decision was committed, or a running job was recovered.
struct JobPlaced {
  JobId id;
  std::string partition;
  model::Allocation allocation;
  Time started;
  Time expected_end;
  std::shared_ptr<const PendingJob> job;  ///< As it was queued; null: never preempted, and counted at the root.
};
/// A running job counts elsewhere now: it was given another QOS.
struct RunningChanged {
  JobId id;
  std::shared_ptr<const PendingJob> job;
};
/// A running job is moved, at this time.
struct JobMoved {
  JobId id;
  Time when;
};
/// A job was preempted by the rules of the quotas.
struct Preempted {
  Time when;
  uint64_t gpu_milli = 0;  ///< That it held, all components.
  bool operator==(const Preempted&) const = default;
};
/// One of this QOS.
struct JobPreempted {
  std::string qos;
  Preempted what;
};
/// Those of the last hour, by QOS.
using Preemptions = std::map<std::string, std::deque<Preempted>>;
/// The job will end at this time: its limit was changed, or it was told to go.
struct EndExpected {
  JobId id;
  Time when;
  bool is_leaving = false;  ///< It was told to go.
};
/// Nobody gets what the job leaves of a GPU any more: beside others it was too slow.
struct GpuOwned {
  JobId id;
};
struct ShareReleased {
  JobId id;
  NodeId node;
};
/// A reservation is made, or changed.
struct ReservationSet {
  AdvanceReservation reservation;
};
struct ReservationRemoved {
  std::string name;
};
/// The decayed use, in GPU-seconds, of each user and of each QOS's own jobs; sent in fixed periods. Empty: it does not
/// count.
struct UsageSet {
  std::map<uint32_t, double> usage;
  std::map<std::string, double> qos = {};
};

using DeltaKind = std::variant<NodeSet, NodeRemoved, PartitionSet, PartitionRemoved, NetworkSet, PolicySet, JobQueued,
                               JobUnqueued, QosSet, NominationSet, JobPlaced, JobMoved, JobPreempted, RunningChanged,
                               EndExpected, GpuOwned, ShareReleased, ReservationSet, ReservationRemoved, UsageSet>;
/// One change, numbered by the controller from 1 on without gaps.
struct Delta {
  uint64_t epoch = 0;
  DeltaKind kind;
};

class ClusterView {
 public:
  ClusterView();
  /// Applies one delta; epochs must follow each other.
  void apply(const Delta& delta);
  const Capacity& capacity() const { return capacity_; }
  Capacity& capacity() { return capacity_; }
  const Queue& queue() const { return queue_; }
  Queue& queue() { return queue_; }
  const Policy& policy() const { return policy_; }
  const AdvanceReservations& reservations() const { return reservations_; }
  const std::map<uint32_t, double>& usage() const { return usage_; }
  const std::map<std::string, double>& qos_usage() const { return qos_usage_; }
  /// Moves of the last hour, in order.
  const std::vector<Time>& moves() const { return moves_; }
  const Preemptions& preemptions() const { return preemptions_; }
  const Orders& orders() const { return *orders_; }
  /// Jobs of different users are of different classes.
  bool splits_by_user() const { return looks_at_users(orders()) || quota_.tree().has_user_limits(); }
  const QuotaLedger& quota() const { return quota_; }
  const Nominations& nominations() const { return nominations_; }
  /// Running jobs as they were queued.
  const std::map<JobId, std::shared_ptr<const PendingJob>>& running() const { return running_; }
  /// Running elastic gangs that are known to be, and of each the extensions above its smallest size.
  const std::map<JobId, std::set<JobId>>& gangs() const { return gangs_; }
  /// Running jobs that have a part of a GPU of their own.
  const std::set<JobId>& gpu_owners() const { return gpu_owners_; }
  /// The extensions of a gang; none for any other job.
  const std::set<JobId>& extensions_of(JobId gang) const;
  /// Tasks that a running elastic gang has now; those that were told to go do not count.
  uint32_t present_tasks(JobId gang) const;
  /// Never the id of an extension so far.
  JobId next_extension() const { return next_extension_; }
  /// Of the running jobs that can be preempted; the highest number there is if there are none.
  int64_t lowest_running_priority() const {
    return running_priorities_.empty() ? INT64_MAX : running_priorities_.begin()->first;
  }
  /// What usually asks for GPUs.
  const Workload& workload() const { return workload_; }
  Workload& workload() { return workload_; }
  uint64_t epoch() const { return epoch_; }
  /// Where the next pass continues.
  const Cursor& cursor() const { return cursor_; }
  Cursor& cursor() { return cursor_; }

 private:
  struct Applier;
  friend class WhatIf;
  void set_policy(const Policy& policy);
  void set_tree(const std::vector<model::Qos>& list);
  void set_past() { quota_.set_past(policy_.fairness_over_time, qos_usage_); }
  void unqueue(JobId id);
  void drop_nomination(JobId id);
  void hold(JobId id, const model::Allocation& allocation);
  void set_own_gpu(JobId id);
  void add_running(JobId id, std::shared_ptr<const PendingJob> job);
  void remove_running(JobId id);
  void set_leaving(JobId id);
  void count_growth(JobId gang);
  Capacity capacity_;
  Queue queue_;
  Policy policy_;
  std::shared_ptr<const Orders> orders_;  // of the policy
  AdvanceReservations reservations_;
  std::map<uint32_t, double> usage_;
  std::map<std::string, double> qos_usage_;
  std::vector<Time> moves_;
  Preemptions preemptions_;
  std::map<JobId, std::shared_ptr<const PendingJob>> running_;
  std::map<JobId, std::set<JobId>> gangs_;
  std::set<JobId> gpu_owners_;
  JobId next_extension_{kFirstHoldingId};
  std::map<int64_t, size_t> running_priorities_;  // how many of each, of those that can be preempted
  Workload workload_;
  QuotaLedger quota_;
  Nominations nominations_;
  std::map<JobId, uint64_t> nomination_of_;  // when the job's was made
  uint64_t epoch_ = 0;
  Cursor cursor_;
};

}  // namespace gw::sched
