// The earliest start of a job, alone or of all its components together; see backfill.h.
#include "sched/cycle/backfill.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "sched/cycle/lend.h"
#include "sched/cycle/patience.h"
#include "sched/cycle/session.h"
#include "sched/cycle/start.h"

namespace gw::sched {
namespace {

/// A component's start foreseen.
struct PartStart {
  JobId part;
  std::string partition;
  FutureStart start;
};

void add_start(Timeline& timeline, const PendingJob& job, const FutureStart& start) {
  for (const model::NodeShare& share : start.allocation.shares)
    timeline.add(share.node, Booking{{start.when, start.when + job.time_limit},
                                     job.id,
                                     job.reservation,
                                     share.cores,
                                     share.gpus,
                                     job.request.own_gpu ? model::kWholeGpu : share.gpu_milli,
                                     share.mem_mb,
                                     false,
                                     share.gres});
}

/// The partition of that name, if a start of the job can be foreseen there.
const PartitionFacts* open_partition(const Session& session, const PendingJob& job, const std::string& name) {
  const PartitionFacts* p = session.capacity().partition(name);
  return p != nullptr && p->is_up && allows_time(session.capacity(), job, *p) ? p : nullptr;
}

std::optional<PartStart> earliest_part(Session& session, const Served& served, const Component& component, Time from,
                                       const Timeline& timeline) {
  std::optional<PartStart> best;
  const PendingJob& job = served.job;
  for (const std::string& name : component.partitions) {
    const PartitionFacts* p = open_partition(session, job, name);
    if (p == nullptr) continue;
    auto options = options_for(session, served, component, *p, job.time_limit);
    if (!options) continue;
    options->timeline = &timeline;
    ++session.plan.placements;
    auto start = earliest(session.capacity(), *p, component.request, *options, from, job.time_limit);
    if (start && (!best || start->when < best->start.when)) best = PartStart{component.id, name, std::move(*start)};
  }
  return best;
}

/// First moment at which all components fit beside each other, as far as it is found: each is placed at the earliest
/// moment that suits those before it, and where it is later they move there.
std::optional<std::vector<PartStart>> earliest_in_order(Session& session, const Served& served,
                                                        const std::vector<Component>& order) {
  Time at = session.now;
  constexpr int kMoves = 64;
  for (int move = 0; move < kMoves; ++move) {
    Timeline timeline = session.backfill.seen_by(served.is_guaranteed);
    std::vector<PartStart> parts;
    for (const Component& c : order) {
      auto part = earliest_part(session, served, c, at, timeline);
      if (!part) return std::nullopt;
      if (part->start.when > at) {
        at = part->start.when;
        break;
      }
      add_start(timeline, served.job, part->start);
      parts.push_back(std::move(*part));
    }
    if (parts.size() == order.size()) return parts;
  }
  return std::nullopt;
}

/// Of all orders; of equally early ones the first.
std::optional<std::vector<PartStart>> earliest_together(Session& session, const Served& served) {
  std::optional<std::vector<PartStart>> best;
  for (const std::vector<Component>& order : placing_orders(served.job)) {
    auto parts = earliest_in_order(session, served, order);
    if (parts && (!best || parts->front().start.when < best->front().start.when)) best = std::move(parts);
  }
  return best;
}

void plan_together(Session& session, const Served& served) {
  for (const std::string& name : served.job.partitions) session.backfill.count_planned(name, served.job.id);
  const auto parts = earliest_together(session, served);
  if (!parts) return;
  PlannedStart kept{served.job.id, {}, parts->front().start.when, {}};
  for (const PartStart& part : *parts) {
    if (part.part == served.job.id) kept.partition = part.partition;
    session.backfill.keep(served.job, part.start, served.is_guaranteed);
    for (const std::string& node : part.start.allocation.node_names()) kept.nodes.push_back(node);
  }
  session.change_at(kept.start);
  session.plan.planned_starts.push_back(std::move(kept));
}

}  // namespace

void Backfill::open(const AdvanceReservations& reservations, const Capacity& capacity, Time now, bool has_quotas) {
  add_reservations(reservations, capacity, now, reserved_);
  all_ = reserved_;
  has_quotas_ = has_quotas;
  if (has_quotas_) firm_ = all_;
}

void Backfill::keep(const PendingJob& job, const FutureStart& start, bool is_guaranteed) {
  add_start(all_, job, start);
  without_.clear();
  if (is_guaranteed && has_quotas_) add_start(firm_, job, start);
}

const Timeline& Backfill::without(const std::set<JobId>& jobs) {
  const auto [it, is_new] = without_.try_emplace(jobs);
  if (!is_new) return it->second;
  for (const auto& [node, bookings] : all_.all())
    for (const Booking& b : bookings)
      if (!jobs.contains(b.job)) it->second.add(node, b);
  return it->second;
}

uint32_t Backfill::planned_in(const std::string& partition) const {
  const auto it = planned_in_.find(partition);
  return it == planned_in_.end() ? 0 : it->second;
}

namespace {

/// Those in which a start of the served job may be planned; it counts in them from now on.
std::vector<const PartitionFacts*> partitions_to_plan(Session& session, const Served& served) {
  std::vector<const PartitionFacts*> out;
  for (const std::string& name : served.job.partitions) {
    const PartitionFacts* p = open_partition(session, served.job, name);
    if (p == nullptr || session.backfill.planned_in(name) >= session.view.policy().max_planned_starts) continue;
    session.backfill.count_planned(name, served.job.id);
    out.push_back(p);
  }
  return out;
}

/// The earliest start in one of them. `remembers`: what was found is kept for the next pass, since it is true of the
/// cluster as it is.
std::optional<PartStart> foresee(Session& session, const Served& served,
                                 const std::vector<const PartitionFacts*>& partitions, bool remembers) {
  const PendingJob& job = served.job;
  std::optional<PartStart> best;
  for (const PartitionFacts* p : partitions) {
    auto options = options_for(session, served, job, *p, job.time_limit);
    if (!options) continue;
    ++session.plan.placements;
    // A wait for locality ends some time: what was found under it is not kept.
    const bool is_plain = remembers && options->level == model::Locality::kAny && options->reservation.empty();
    ReadyTimes* const known = is_plain ? &session.queue.ready_times(job, p->name) : nullptr;
    auto start = earliest(session.capacity(), *p, job.request, *options, session.now, job.time_limit, known);
    if (start && (!best || start->when < best->start.when)) best = PartStart{served.job.id, p->name, std::move(*start)};
  }
  return best;
}

}  // namespace

bool may_plan(Session& session, const Served& served) {
  // Where nothing has an end nothing can be foreseen.
  if (session.capacity().jobs_with_end() == 0 && session.backfill.seen_by(served.is_guaranteed).empty() &&
      !has_lost_patience(session, served))
    return false;
  const std::vector<std::string>& names = served.job.partitions;
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    const PartitionFacts* p = session.capacity().partition(name);
    return p != nullptr && p->is_up && session.backfill.planned_in(name) < session.view.policy().max_planned_starts;
  });
}

void plan_start(Session& session, const Served& served) {
  const PendingJob& job = served.job;
  if (!job.components.empty()) return plan_together(session, served);
  const std::vector<const PartitionFacts*> partitions = partitions_to_plan(session, served);
  const Trial::Mark mark = session.trial.mark();
  const std::vector<const Candidate*> lent = evict_lent(session, served);
  std::optional<PartStart> over_loans;
  std::vector<JobId> in_its_place;
  if (!lent.empty()) {
    over_loans = foresee(session, served, partitions, false);
    if (over_loans) in_its_place = in_place(session, lent, over_loans->start.allocation);
  }
  session.trial.rollback(mark);
  std::optional<PartStart> best = foresee(session, served, partitions, true);
  const bool is_promised = over_loans &&
                           over_loans->start.when > session.now &&  // or it would have begun by preemption
                           (!best || over_loans->start.when < best->start.when) &&
                           is_guaranteed_at(session, served, over_loans->start.when) &&
                           can_be_recalled(session, lent, in_its_place, over_loans->start.when);
  if (is_promised)
    best = std::move(over_loans);
  else
    in_its_place.clear();
  if (!best) {
    if (has_lost_patience(session, served)) (void)gather_nodes(session, served);
    return;
  }
  const Time when = best->start.when;
  const bool is_due = served.is_guaranteed || is_promised || is_guaranteed_at(session, served, when);
  session.backfill.keep(job, best->start, is_due);
  session.change_at(when);
  session.plan.planned_starts.push_back(
      PlannedStart{job.id, best->partition, when, best->start.allocation.node_names()});
  if (is_due) offer_place(session, served, when, in_its_place);
}

}  // namespace gw::sched
