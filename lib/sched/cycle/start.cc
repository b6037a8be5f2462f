// A gang starts with all its components or not at all; see start.h.
#include "sched/cycle/start.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "sched/place/fragmentation.h"

namespace gw::sched {

std::optional<std::string> missed_deadline(Session& session, const PendingJob& job) {
  if (!job.deadline) return std::nullopt;
  const Duration least = job.time_min.us > 0 ? job.time_min : job.time_limit;
  if (least == base::kUnlimited) {
    if (session.now < job.deadline) return session.change_at(job.deadline), std::nullopt;
    return "its deadline passed before it could start";
  }
  const Time latest = job.deadline - least;
  if (session.now <= latest) return session.change_at(latest + base::microseconds(1)), std::nullopt;
  return fmt::format("it can no longer end by its deadline {}: it would have had to start by {}",
                     base::format_time(job.deadline), base::format_time(latest));
}

bool place_part(Session& session, Served& served, const Component& part, const std::string& partition, Duration length,
                Group& group) {
  const PartitionFacts& facts = *session.capacity().partition(partition);
  auto options = options_for(session, served, part, facts, length);
  if (!options) return false;
  length = cut_length(session, served.job, length);
  options->span.to = session.now + length;
  if (part.request.fit != model::Fit::kDefault) {
    options->fit = part.request.fit;
    options->score = nullptr;
  }
  Placement placement = session.place(facts, part.request, *options);
  if (!placement.allocation) {
    if (part.id == served.job.id) served.failed[partition] = std::move(placement.diagnosis);
    return false;
  }
  if (!session.trial.place(part.id, partition, *placement.allocation, session.now, session.now + length)) return false;
  if (part.request.own_gpu) session.trial.set_own_gpu(part.id);
  group.decisions.emplace_back(Start{part.id, partition, std::move(*placement.allocation), length});
  return true;
}

namespace {

/// What a job really gets may be more than it asks for: whole cores, a node's memory.
bool count_gang(Session& session, Served& served, Group& group) {
  const QuotaTree& tree = session.quotas().tree();
  Quantities amounts = tree.none();
  Start* first = nullptr;
  for (Decision& d : group.decisions)
    if (auto* start = std::get_if<Start>(&d)) {
      if (first == nullptr) first = start;
      add_to(amounts, tree.count(start->allocation, session.capacity()));
    }
  add_to(amounts, tree.count_licenses(served.job));
  served.refused = binding_of(session, served, amounts);
  if (served.refused) return false;
  if (first != nullptr) first->borrows = borrowing_of(session.quotas(), served.leaf, amounts);
  session.trial.count(served.leaf, amounts, served.job.preemptible, served.job.uid);
  return true;
}

bool start_for(Session& session, Served& served, Duration length) {
  for (const std::string& name : served.job.partitions) {
    if (!is_open(session, served, name)) continue;
    const Trial::Mark mark = session.trial.mark();
    Group group;
    if (place_gang(session, served, name, length, group)) {
      decide_start(session, std::move(group));
      return true;
    }
    session.trial.rollback(mark);
  }
  return false;
}

bool place_in_order(Session& session, Served& served, const std::vector<Component>& order, const std::string& partition,
                    Duration length, Group& group) {
  return std::all_of(order.begin(), order.end(), [&](const Component& c) {
    if (c.id == served.job.id) return place_part(session, served, c, partition, length, group);
    return std::any_of(c.partitions.begin(), c.partitions.end(), [&](const std::string& name) {
      return is_open(session, served, name) && place_part(session, served, c, name, length, group);
    });
  });
}

/// The starts in the group, from `first` on, as the parts are listed.
void list_starts(const PendingJob& job, Group& group, size_t first) {
  const auto position = [&job](const Decision& d) {
    const auto is_it = [&d](const Component& c) { return c.id == std::get<Start>(d).job; };
    const auto at = std::find_if(job.components.begin(), job.components.end(), is_it) - job.components.begin();
    return std::get<Start>(d).job == job.id ? -1 : at;
  };
  std::sort(group.decisions.begin() + static_cast<ptrdiff_t>(first), group.decisions.end(),
            [&](const Decision& a, const Decision& b) { return position(a) < position(b); });
}

/// Most of a node's GPUs, then of its cores, then of its memory.
bool needs_more_of_a_node(const Component& a, const Component& b) {
  const TaskShape of_a = Workload::shape_of(a.request), of_b = Workload::shape_of(b.request);
  return std::tuple(of_a.gpus, of_a.cpus, of_a.mem_mb) > std::tuple(of_b.gpus, of_b.cpus, of_b.mem_mb);
}

bool is_same_order(const std::vector<Component>& a, const std::vector<Component>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) { return x.id == y.id; });
}

}  // namespace

std::vector<std::vector<Component>> placing_orders(const PendingJob& job) {
  std::vector<Component> listed = {{job.id, job.request, job.partitions}};
  listed.insert(listed.end(), job.components.begin(), job.components.end());
  std::vector<std::vector<Component>> out = {listed};
  std::vector<Component> largest = listed;
  std::stable_sort(largest.begin(), largest.end(), needs_more_of_a_node);
  for (auto& other : {std::move(largest), std::vector<Component>(listed.rbegin(), listed.rend())})
    if (std::none_of(out.begin(), out.end(), [&](const auto& known) { return is_same_order(known, other); }))
      out.push_back(other);
  return out;
}

bool place_gang(Session& session, Served& served, const std::string& partition, Duration length, Group& group) {
  const PendingJob& job = served.job;
  if (job.components.empty())
    return place_part(session, served, Component{job.id, job.request, {}}, partition, length, group) &&
           count_gang(session, served, group);
  const Trial::Mark mark = session.trial.mark();
  const size_t first = group.decisions.size();
  std::optional<decltype(served.failed)> failed;  // as the listed order tells it
  for (const std::vector<Component>& order : placing_orders(job)) {
    if (place_in_order(session, served, order, partition, length, group)) {
      list_starts(job, group, first);
      return count_gang(session, served, group);
    }
    session.trial.rollback(mark);
    if (!failed && group.decisions.size() == first) return false;  // its own part alone has no place
    group.decisions.erase(group.decisions.begin() + static_cast<ptrdiff_t>(first), group.decisions.end());
    if (!failed) failed = served.failed;
    served.failed = *failed;
  }
  return false;
}

namespace {

/// Are nodes of its partition kept for somebody who was served before it?
bool is_backfilled(Session& session, const Group& group) {
  const std::vector<PlannedStart>& planned = session.plan.planned_starts;
  for (; session.in_line.kept_seen < planned.size(); ++session.in_line.kept_seen)
    session.in_line.kept_in.insert(planned[session.in_line.kept_seen].partition);
  const auto* start = group.decisions.empty() ? nullptr : std::get_if<Start>(&group.decisions.front());
  return start != nullptr && session.in_line.kept_in.contains(start->partition);
}

}  // namespace

void count_exchange(Session& session, const Group& group) {
  for (const Decision& d : group.decisions) {
    if (const auto* start = std::get_if<Start>(&d))
      session.standings.add(session.queue.find(start->job), start->partition, start->allocation);
    if (const auto* kept = std::get_if<Nomination>(&d))
      session.standings.add(session.queue.find(kept->job), kept->partition, kept->allocation);
    if (const auto* victim = std::get_if<Preempt>(&d); victim != nullptr && !victim->is_move)
      session.standings.remove(victim->job);
  }
}

void decide_start(Session& session, Group group) {
  count_exchange(session, group);
  session.plan.backfilled += is_backfilled(session, group) ? 1 : 0;
  session.plan.groups.push_back(std::move(group));
  ++session.starts;
}

bool start_now(Session& session, Served& served) { return start_for(session, served, served.job.time_limit); }

bool start_shortened(Session& session, Served& served) {
  const PendingJob& job = served.job;
  const Timeline& planned = session.backfill.seen_by(served.is_guaranteed);
  if (job.time_min.us <= 0 || job.time_min >= job.time_limit || planned.empty()) return false;
  if (!start_for(session, served, job.time_min)) return false;
  const Time now = session.now;
  Time until = now + job.time_limit;
  if (job.deadline) until = std::min(until, job.deadline);
  const AdvanceReservations& reservations = session.view.reservations();
  if (const auto r = reservations.find(job.reservation); r != reservations.end())
    until = std::min(until, r->second.at(now).to);
  Group& group = session.plan.groups.back();
  for (const Decision& d : group.decisions)
    for (const model::NodeShare& share : std::get<Start>(d).allocation.shares)
      until = std::min(until, planned.next_booking(share.node, {now + job.time_min, until}, job.reservation));
  for (Decision& d : group.decisions) {
    std::get<Start>(d).time_limit = until - now;
    session.trial.set_end(std::get<Start>(d).job, until);
  }
  return true;
}

}  // namespace gw::sched
