// The whole input of one plan() as values: what a snapshot of the controller holds, and what a replay is made from.
// Invariant: plan(restore_view(i), i.now, i.budget) decides the same as plan() did on the view that `i` was taken from,
// if that view had been made to forget what it told (Queue::forget()).
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "sched/cycle/plan.h"

namespace gw::sched {

/// A job that holds resources.
struct RunningJob {
  JobId id;
  std::string partition;
  model::Allocation allocation;  ///< What it still holds; without the tasks on it.
  Time started;
  Time expected_end;
  std::shared_ptr<const PendingJob> job;  ///< As it was queued; null: never preempted for another.
  bool is_leaving = false;                ///< It was told to go.
};

struct PassInput {
  Time now;
  Budget budget;
  uint64_t epoch = 0;            ///< Of the view; a number to tell snapshots apart, no part of the decisions.
  std::vector<NodeFacts> nodes;  ///< By make as the ledger numbers them, then by id: ties go by the numbers of makes.
  std::vector<PartitionFacts> partitions;
  model::Network network;
  Policy policy;
  std::string order;                ///< Its name; `policy.order` may be null where the plug-in is not loaded.
  std::vector<PendingJob> queue;    ///< By id.
  std::vector<RunningJob> running;  ///< By start, then id.
  std::vector<AdvanceReservation> reservations;
  std::map<uint32_t, double> usage;
  std::map<std::string, double> qos_usage;
  std::vector<Workload::Entry> workload;  ///< Of recent submissions, in the view's own order.
  std::vector<model::Qos> qos;            ///< The tree of quotas, by name.
  std::vector<Nomination> nominations;    ///< In the order in which they were made.
  std::vector<Time> moves;                ///< Of the last hour.
  Preemptions preemptions;                ///< Likewise.
  /// Where the passes before have stopped (Cursor): whether they ran out of steps, whose classes were put off, and the
  /// first jobs of the classes that were looked at since and wait; and when, as far as they saw, time alone could
  /// change an answer.
  bool has_run_out = false;
  std::set<uint32_t> put_off;
  std::vector<JobId> passed;
  std::vector<JobId> limited;  ///< Of these, those that a limit keeps waiting.
  Time next_change = Time::never();
};

/// Copies everything that plan() would look at; if more jobs wait than `most_waiting`, only about so many of them,
/// of each class the first, and nothing of where the passes before have stopped.
PassInput take_input(const ClusterView& view, Time now, const Budget& budget, size_t most_waiting = SIZE_MAX);
/// A view that plan() cannot tell from the one that the input was taken from. Errors: what cannot be the state of any
/// cluster (a name or id twice, a share on a node that is not there, a resource held twice), so that input may come
/// from a file.
base::Result<std::unique_ptr<ClusterView>> restore_view(const PassInput& input);

}  // namespace gw::sched
