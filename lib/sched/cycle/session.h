// What the actions of one pass share: the view as it was, the trial of what was decided so far, and the plan that comes
// of it. Actions are free functions over it (start.h, backfill.h, preempt.h, consolidate.h, grow.h, reasons.h); what
// only one of them needs is its own. Invariants: a decision in the plan is also in the trial; what is kept for a
// pending job is in the backfill.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "sched/cycle/backfill.h"
#include "sched/cycle/limit_plan.h"
#include "sched/cycle/plan.h"
#include "sched/cycle/trial.h"
#include "sched/cycle/victim_pool.h"
#include "sched/place/place.h"
#include "sched/view/standings.h"

namespace gw::sched {

/// The job that is looked at, as the quotas see it, and what was found out about it so far.
struct Served {
  const PendingJob& job;
  uint32_t leaf = 0;                    ///< Of the tree of quotas.
  const Quantities* amounts = nullptr;  ///< That it counts at the least; null: an extension of an elastic gang.
  bool is_guaranteed = true;            ///< With it every QOS above it stays within its guarantee.
  std::optional<Binding> refused = {};  ///< What of the quotas the last placement would have exceeded.
  std::map<std::string, Diagnosis> failed = {};  ///< Partitions that have no place for it now.
};

/// Who waits where.
struct InLine {
  /// By leaf of the tree and partition: the first that waits there.
  std::map<std::pair<uint32_t, std::string>, JobId> first_blocked;
  std::set<std::string> kept_in;  ///< Partitions of the first `kept_seen` planned starts.
  size_t kept_seen = 0;
};

struct Session {
  Session(ClusterView& cluster, Time time, const Budget& most);

  const ClusterView& view;
  Queue& queue;  ///< Of the view: the pass remembers there what it said to whom, and what it found out.
  const Time now;
  const Budget& budget;
  Standings standings;
  Trial trial;
  Backfill backfill;
  LimitPlans limits;
  VictimPool victims;
  Plan plan;
  uint64_t starts = 0;
  /// Who lends its place to a job of that leaf, those amounts, that priority, of those that could.
  std::map<std::tuple<uint32_t, Quantities, int64_t, std::set<JobId>>, std::set<JobId>> lenders_of;
  const Timeline* lending = nullptr;  ///< In place of what is planned, while places that are promised are lent.
  size_t moved = 0;                   ///< Jobs, by consolidation in this pass.
  bool settles = false;       ///< It is asked what there is for jobs that no longer hold out for something closer.
  JobId next_extension;       ///< Of an elastic gang that grows.
  std::set<JobId> nominated;  ///< Others are leaving for them.
  std::set<JobId> honoured;   ///< They started where others have left for them.
  std::set<JobId> preempted;  ///< They leave within their grace.
  InLine in_line;

  const Orders& orders() const { return view.orders(); }
  const Capacity& capacity() const { return trial.capacity(); }
  const Quotas& quotas() const { return trial.quotas(); }
  /// Time alone may change an answer at that moment.
  void change_at(Time when);
  /// The job waits: those behind it in a strict order wait as well.
  void block(const Served& served);
  /// Holds a request against the nodes of a partition: a step of the budget.
  Placement place(const PartitionFacts& partition, const model::Request& request, const PlacementOptions& options);
};

/// A limit longer than the partition's keeps a job out of it, unless no partition that it names is long enough: then an
/// administrator let it in.
bool allows_time(const Capacity& capacity, const PendingJob& job, const PartitionFacts& partition);

/// May the served job start in this partition at all, as far as the partition and a strict order go?
bool is_open(const Session& session, const Served& served, const std::string& partition);

/// The circumstances under which a job is placed now for so long. nullopt: not now, whatever is free: it is outside its
/// reservation's time.
std::optional<PlacementOptions> options_for(Session& session, const Served& served, const PendingJob& job,
                                            const PartitionFacts& partition, Duration length);

/// Likewise of one part of the served job, which it may be as a whole: how close together it must be is its own.
std::optional<PlacementOptions> options_for(Session& session, const Served& served, const Component& part,
                                            const PartitionFacts& partition, Duration length);

/// Of the length what the job's reservation leaves of it, and its deadline where it may run shorter than its limit.
Duration cut_length(const Session& session, const PendingJob& job, Duration length);

/// Would the job miss its deadline if it began so much later than now, run as short as it may?
bool misses_deadline(const Session& session, const PendingJob& job, Duration later);

/// What of the quotas keeps so much of the served job out.
std::optional<Binding> binding_of(const Session& session, const Served& served, const Quantities& amounts);

/// Where the served job, which has no components, would be placed in the partition now. `only`, `grace`: as of given().
std::optional<model::Allocation> place_now(Session& session, const Served& served, const PartitionFacts& partition,
                                           const std::vector<NodeId>* only = nullptr, Duration grace = {});

/// What the served job would be given in the partition now; nullopt: it has no place there. `only`: on no other nodes
/// than these; null: anywhere in the partition. `grace`: the place is kept for it for so long before it starts.
std::optional<Quantities> given(Session& session, const Served& served, const PartitionFacts& partition,
                                const std::vector<NodeId>* only = nullptr, Duration grace = {});

/// Would it start there now, by nodes and quotas?
bool fits(Session& session, const Served& served, const PartitionFacts& partition,
          const std::vector<NodeId>* only = nullptr, Duration grace = {});

/// It waits for nothing but a closeness that it prefers: farther apart it would start now.
bool only_holds_out(Session& session, const Served& served);

}  // namespace gw::sched
