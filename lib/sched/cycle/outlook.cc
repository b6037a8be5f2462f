// See outlook.h.
#include "sched/cycle/outlook.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "sched/view/standings.h"
#include "sched/view/what_if.h"

namespace gw::sched {
namespace {

/// Puts what the plan decides about the job into its outlook.
class PlanReader {
 public:
  PlanReader(const PendingJob& job, ClassKey key, Time now, Outlook& out)
      : job_(job), key_(std::move(key)), now_(now), out_(out) {}

  void read(const Plan& plan) {
    for (const Group& group : plan.groups) {
      is_of_job_ = false;
      std::vector<JobId> victims;
      for (const Decision& decision : group.decisions) {
        std::visit([this](const auto& d) { take(d); }, decision);
        if (const auto* preempt = std::get_if<Preempt>(&decision);
            preempt != nullptr && preempt->beneficiary == job_.id)
          victims.push_back(preempt->job);
      }
      if (is_of_job_ || !victims.empty()) out_.victims.insert(out_.victims.end(), victims.begin(), victims.end());
    }
    if (out_.when == When::kUnknown && !out_.victims.empty()) out_.when = When::kOnceOthersLeft;
    for (const PlannedStart& planned : plan.planned_starts)
      if (planned.job == job_.id && out_.when != When::kNow) take_planned(planned);
  }

 private:
  const PendingJob& job_;
  const ClassKey key_;
  const Time now_;
  Outlook& out_;
  bool is_of_job_ = false;

  void take(const Start& start) {
    const bool is_component = std::any_of(job_.components.begin(), job_.components.end(),
                                          [&](const Component& c) { return c.id == start.job; });
    if (start.job != job_.id && !is_component) return;
    is_of_job_ = true;
    if (start.job == job_.id) {
      out_.when = When::kNow;
      out_.start = now_;
      out_.partition = start.partition;
    }
    for (std::string& node : start.allocation.node_names()) out_.nodes.push_back(std::move(node));
    out_.starts.push_back(start);
  }
  void take(const Nomination& nomination) {
    if (nomination.job != job_.id) return;
    is_of_job_ = true;
    out_.when = When::kOnceOthersLeft;
    out_.start = nomination.when;
    out_.partition = nomination.partition;
    out_.nodes = nomination.node_names();
  }
  void take(const Wait& wait) {
    if (wait.job_class != key_) return;
    out_.reason = wait.reason;
    out_.blockers = wait.blockers;
  }
  void take(const Reject& reject) {
    if (reject.job != job_.id) return;
    out_.when = When::kNever;
    out_.reason = reject.reason;
  }
  void take(const Grow& /*grow*/) {}
  void take(const Preempt& /*preempt*/) {}  // with its group

  void take_planned(const PlannedStart& planned) {
    if (out_.when == When::kUnknown) out_.when = When::kPlanned;
    out_.start = planned.start;
    out_.partition = planned.partition;
    out_.nodes = planned.nodes;
  }
};

/// Running jobs on the nodes of its planned start that end by then.
std::vector<JobId> waits_for(const Capacity& capacity, const Outlook& outlook) {
  if (outlook.when != When::kPlanned) return {};
  std::map<JobId, Time> ends;
  for (const std::string& name : outlook.nodes)
    if (const NodeAccount* account = capacity.node(name))
      for (const Occupant& o : account->occupants)
        if (o.end <= outlook.start) ends.emplace(o.job, o.end);
  std::vector<std::pair<Time, JobId>> last;
  for (const auto& [job, end] : ends)
    if (job.value < kFirstHoldingId) last.emplace_back(end, job);
  std::sort(last.begin(), last.end(),
            [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
  std::vector<JobId> out;
  for (const auto& [end, job] : last) out.push_back(job);
  return out;
}

double score_of(const ClusterView& view, const Standings& standings, const PendingJob& job) {
  return view.orders().of(job).score(standings.of(job, view.quota().tree().leaf_of(job.qos)), standings.context());
}

/// An order may weigh nice: with as much of it the other would not be first.
bool is_by_nice(const ClusterView& view, const Standings& standings, const PendingJob& other, const PendingJob& job) {
  PendingJob as_nice = other;
  as_nice.nice = job.nice;
  return score_of(view, standings, as_nice) <= score_of(view, standings, job);
}

/// How the queue compares them, apart from the quotas: nothing of it puts the other first.
std::optional<AheadBy> rule_between(const ClusterView& view, const Standings& standings, const PendingJob& other,
                                    const PendingJob& job) {
  const auto first_of = [](auto a, auto b, AheadBy rule) -> std::optional<std::optional<AheadBy>> {
    if (a == b) return std::nullopt;
    return std::optional(a > b ? std::optional(rule) : std::nullopt);
  };
  // Heads of different lines are compared without what their orders say of them.
  const bool in_line = view.orders().number_of(other) == view.orders().number_of(job);
  const double score = in_line ? score_of(view, standings, other) : 0;
  const double own = in_line ? score_of(view, standings, job) : 0;
  for (const auto& found :
       {first_of(best_tier(view.capacity(), other), best_tier(view.capacity(), job), AheadBy::kTier),
        first_of(other.priority, job.priority, AheadBy::kPriority), first_of(score, own, AheadBy::kOrder),
        first_of(job.nice, other.nice, AheadBy::kNice), first_of(job.submitted, other.submitted, AheadBy::kSubmitted),
        first_of(job.id, other.id, AheadBy::kSubmitted)})
    if (found) return *found == AheadBy::kOrder && is_by_nice(view, standings, other, job) ? AheadBy::kNice : *found;
  return std::nullopt;
}

bool share_a_partition(const PendingJob& a, const PendingJob& b) {
  return std::any_of(a.partitions.begin(), a.partitions.end(), [&](const std::string& name) {
    return std::find(b.partitions.begin(), b.partitions.end(), name) != b.partitions.end();
  });
}

/// `planned`: in the order in which they were planned: who is behind the job in it is not before the job.
std::vector<Ahead> ahead_of(const ClusterView& view, const PendingJob& job, const Plan& plan) {
  std::vector<Ahead> out;
  const Standings standings(view, plan.at);
  const QuotaTree& tree = view.quota().tree();
  std::set<JobId> nominated;
  for (const auto& [made, nomination] : view.nominations()) nominated.insert(nomination.job);
  for (const PlannedStart& planned : plan.planned_starts) {
    if (planned.job == job.id) break;
    const PendingJob* other = view.queue().find(planned.job);
    if (other == nullptr || !share_a_partition(*other, job)) continue;
    Ahead ahead{planned.job, AheadBy::kNominated, planned.start, planned.partition};
    if (!nominated.contains(planned.job)) {
      const auto rule = rule_between(view, standings, *other, job);
      const bool is_elsewhere = tree.leaf_of(other->qos) != tree.leaf_of(job.qos);
      if (!rule && !is_elsewhere) continue;
      ahead.rule = is_elsewhere ? AheadBy::kQuota : *rule;
    }
    out.push_back(std::move(ahead));
  }
  std::stable_sort(out.begin(), out.end(), [](const Ahead& a, const Ahead& b) { return a.start < b.start; });
  return out;
}

/// Nobody is placed under a number that holds something.
bool is_held(const Capacity& capacity, const PendingJob& job) {
  const auto holds = [&](JobId id) { return capacity.holdings().contains(id); };
  return holds(job.id) ||
         std::any_of(job.components.begin(), job.components.end(), [&](const Component& c) { return holds(c.id); });
}

}  // namespace

Outlook look_ahead(ClusterView& view, const PendingJob& job, Time now) {
  Outlook out;
  if (is_held(view.capacity(), job)) return out;  // it has started since the question was asked
  const WhatIf if_so(view, job);
  const Plan decided = plan(view, now, Budget{.placements = kStepsOfQuestion, .starts = 1'000, .per_user = 0});
  const ClassKey key = class_key(job, view.splits_by_user(), now);
  PlanReader(job, key, now, out).read(decided);
  out.is_cut = decided.exhausted && out.when == When::kUnknown;
  const auto is_for_it = [&](const auto& n) { return n.second.job == job.id; };
  if (out.when == When::kPlanned && std::any_of(view.nominations().begin(), view.nominations().end(), is_for_it))
    out.when = When::kOnceOthersLeft;
  out.waits_for = waits_for(view.capacity(), out);
  out.room_at = view.cursor().room_at(job.id);
  if (out.when != When::kNow) out.ahead = ahead_of(view, job, decided);
  return out;
}

}  // namespace gw::sched
