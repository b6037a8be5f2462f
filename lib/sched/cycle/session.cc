// What several actions ask of a session; see session.h.
#include "sched/cycle/session.h"

#include <algorithm>

#include "sched/cycle/start.h"
#include "sched/place/closeness.h"

namespace gw::sched {

Session::Session(ClusterView& cluster, Time time, const Budget& most)
    : view(cluster),
      queue(cluster.queue()),
      now(time),
      budget(most),
      standings(cluster, time),
      trial(cluster),
      next_extension(cluster.next_extension()) {
  plan.epoch = view.epoch();
  plan.at = now;
}

void Session::change_at(Time when) {
  if (when > now) plan.next_change_at = std::min(plan.next_change_at, when);
}

void Session::block(const Served& served) {
  for (const std::string& name : served.job.partitions)
    in_line.first_blocked.try_emplace({served.leaf, name}, served.job.id);
}

Placement Session::place(const PartitionFacts& partition, const model::Request& request,
                         const PlacementOptions& options) {
  ++plan.placements;
  return sched::place(capacity(), partition, request, options);
}

bool allows_time(const Capacity& capacity, const PendingJob& job, const PartitionFacts& partition) {
  if (job.time_limit <= partition.max_time) return true;
  return std::none_of(job.partitions.begin(), job.partitions.end(), [&](const std::string& name) {
    const PartitionFacts* p = capacity.partition(name);
    return p != nullptr && job.time_limit <= p->max_time;
  });
}

bool is_open(const Session& session, const Served& served, const std::string& partition) {
  const PartitionFacts* p = session.capacity().partition(partition);
  return p != nullptr && p->is_up && allows_time(session.capacity(), served.job, *p) &&
         !(session.orders().in(partition, served.job.qos).is_strict() &&
           session.in_line.first_blocked.contains({served.leaf, partition}));
}

namespace {

/// How close together what a request asks for must be by now.
Closeness wanted_closeness(Session& session, const model::Request& request, Time eligible) {
  Closeness wanted = closeness_of(request, eligible, session.now);
  if (session.settles)
    while (wanted.until != Time::never()) wanted = closeness_of(request, eligible, wanted.until);
  if (wanted.until != Time::never()) session.change_at(wanted.until);
  return wanted;
}

/// A job that says how short it may run, or has no limit of its own, is ended at its deadline. Others start only where
/// all of their limit lies before it.
Duration cut_to_deadline(const PendingJob& job, Time now, Duration length) {
  const bool is_cut = job.deadline > now && (job.time_min.us > 0 || job.time_limit == base::kUnlimited);
  return is_cut ? std::min(length, job.deadline - now) : length;
}

}  // namespace

std::optional<PlacementOptions> options_for(Session& session, const Served& served, const PendingJob& job,
                                            const PartitionFacts& partition, Duration length) {
  PlacementOptions options;
  length = cut_to_deadline(job, session.now, length);
  options.timeline = session.lending != nullptr ? session.lending : &session.backfill.seen_by(served.is_guaranteed);
  options.span = {session.now, session.now + length};
  const Closeness close = wanted_closeness(session, job.request, job.eligible);
  options.level = close.level;
  options.switches = close.switches;
  const Policy& policy = session.view.policy();
  options.fit = partition.fit == model::Fit::kDefault ? policy.fit : partition.fit;
  if (partition.fit == model::Fit::kDefault)
    options.score = session.orders().in(partition.name, served.job.qos).nodes();
  if (options.score != nullptr) options.fit = model::Fit::kBest;
  options.candidates = policy.candidates;
  options.workload = &session.view.workload();
  if (job.reservation.empty()) return options;
  const auto r = session.view.reservations().find(job.reservation);
  if (why_closed(session.view.reservations(), job, session.now, length)) return std::nullopt;
  options.reservation = job.reservation;
  options.inside = &r->second.nodes;
  return options;
}

std::optional<PlacementOptions> options_for(Session& session, const Served& served, const Component& part,
                                            const PartitionFacts& partition, Duration length) {
  auto options = options_for(session, served, served.job, partition, length);
  if (!options || part.id == served.job.id) return options;
  const Closeness close = wanted_closeness(session, part.request, served.job.eligible);
  options->level = close.level;
  options->switches = close.switches;
  return options;
}

Duration cut_length(const Session& session, const PendingJob& job, Duration length) {
  length = cut_to_deadline(job, session.now, length);
  const auto r = session.view.reservations().find(job.reservation);
  if (r == session.view.reservations().end()) return length;
  const Time end = r->second.at(session.now).to;
  return end == Time::never() || end <= session.now ? length : std::min(length, end - session.now);
}

bool misses_deadline(const Session& session, const PendingJob& job, Duration later) {
  const Duration least = job.time_min.us > 0 ? job.time_min : job.time_limit;
  return job.deadline && least != base::kUnlimited && session.now + later + least > job.deadline;
}

std::optional<Binding> binding_of(const Session& session, const Served& served, const Quantities& amounts) {
  if (auto limit = session.quotas().limit_in_way(served.leaf, amounts, served.job.uid)) return limit;
  return served.job.preemptible ? std::nullopt : session.quotas().guarantee_in_way(served.leaf, amounts);
}

namespace {

/// With all its components.
std::optional<Quantities> given_together(Session& session, const Served& served, const PartitionFacts& partition,
                                         Duration length) {
  Served again{served.job, served.leaf, served.amounts, served.is_guaranteed};
  const Trial::Mark mark = session.trial.mark();
  Group group;
  std::optional<Quantities> out;
  if (place_gang(session, again, partition.name, length, group)) {
    out = session.quotas().tree().count_licenses(served.job);
    for (const Decision& d : group.decisions)
      add_to(*out, session.quotas().tree().count(std::get<Start>(d).allocation, session.capacity()));
  }
  session.trial.rollback(mark);
  return out;
}

Duration length_with(const Served& served, Duration grace) {
  const Duration limit = served.job.time_limit;
  return limit == base::kUnlimited ? limit : grace + limit;
}

}  // namespace

std::optional<model::Allocation> place_now(Session& session, const Served& served, const PartitionFacts& partition,
                                           const std::vector<NodeId>* only, Duration grace) {
  auto options = options_for(session, served, served.job, partition, length_with(served, grace));
  if (!options) return std::nullopt;
  options->only = only;
  return session.place(partition, served.job.request, *options).allocation;
}

std::optional<Quantities> given(Session& session, const Served& served, const PartitionFacts& partition,
                                const std::vector<NodeId>* only, Duration grace) {
  if (!served.job.components.empty()) return given_together(session, served, partition, length_with(served, grace));
  const auto allocation = place_now(session, served, partition, only, grace);
  if (!allocation) return std::nullopt;
  const QuotaTree& tree = session.quotas().tree();
  Quantities out = tree.count(*allocation, session.capacity());
  add_to(out, tree.count_licenses(served.job));
  return out;
}

bool fits(Session& session, const Served& served, const PartitionFacts& partition, const std::vector<NodeId>* only,
          Duration grace) {
  if (session.quotas().limit_in_way(served.leaf, *served.amounts, served.job.uid)) return false;
  const auto amounts = given(session, served, partition, only, grace);
  return amounts && !binding_of(session, served, *amounts);
}

bool only_holds_out(Session& session, const Served& served) {
  const PendingJob& job = served.job;
  if (Queue::next_change_of(job, session.now) == Time::never()) return false;
  session.settles = true;
  const bool would_start = std::any_of(job.partitions.begin(), job.partitions.end(), [&](const std::string& name) {
    return is_open(session, served, name) && fits(session, served, *session.capacity().partition(name));
  });
  session.settles = false;
  return would_start;
}

}  // namespace gw::sched
