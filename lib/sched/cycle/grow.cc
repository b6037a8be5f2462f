// Extension by extension; see grow.h.
#include "sched/cycle/grow.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "sched/cycle/preempt.h"
#include "sched/cycle/victim_search.h"

namespace gw::sched {
namespace {

/// Not while the gang is being made smaller, and not where somebody of its own QOS waits.
bool may_grow(const Session& session, JobId gang) {
  const Holding& holding = session.capacity().holdings().at(gang);
  const PartitionFacts* partition = session.capacity().partition(holding.partition);
  if (partition == nullptr || !partition->is_up || holding.expected_end <= session.now) return false;
  const std::set<JobId>& extensions = session.view.extensions_of(gang);
  if (std::any_of(extensions.begin(), extensions.end(), [&session](JobId extension) {
        return session.trial.is_evicted(extension) || session.preempted.contains(extension);
      }))
    return false;
  return !session.in_line.first_blocked.contains({session.view.quota().holder(gang)->leaf, holding.partition});
}

/// On one of the nodes where the gang is rather than elsewhere, if it may have more there at all.
std::optional<model::Allocation> place_extension(Session& session, const PendingJob& extension, const PendingJob& gang,
                                                 const std::vector<std::string>& nodes) {
  const Holding& holding = session.capacity().holdings().at(gang.id);
  const PartitionFacts& partition = *session.capacity().partition(holding.partition);
  const QuotaTree& tree = session.quotas().tree();
  const uint32_t leaf = tree.leaf_of(gang.qos);
  const Quantities least = tree.count_growth(gang.request, extension.request.tasks);
  if (session.quotas().limit_in_way(leaf, least, gang.uid)) return std::nullopt;
  const bool has_end = holding.expected_end != Time::never();
  const Served served{extension, leaf, nullptr, session.quotas().is_guaranteed(leaf, least)};
  if (session.limits.in_way(session, served, least, holding.expected_end) != nullptr) return std::nullopt;
  auto options = options_for(session, served, extension, partition,
                             has_end ? holding.expected_end - session.now : base::kUnlimited);
  if (!options) return std::nullopt;
  model::Request request = extension.request;
  const auto try_placing = [&]() -> std::optional<model::Allocation> {
    auto placed = session.place(partition, request, *options);
    if (!placed.allocation) return std::nullopt;
    const Quantities amounts = tree.count_extension(*placed.allocation, session.capacity());
    if (session.quotas().limit_in_way(leaf, amounts, gang.uid)) return std::nullopt;
    return std::move(placed.allocation);
  };
  if (gang.grows_by_node) {
    request.exclude.insert(request.exclude.end(), nodes.begin(), nodes.end());
    return try_placing();
  }
  if (options->inside == nullptr) {
    options->inside = &nodes;
    if (auto here = try_placing()) return here;
    options->inside = nullptr;
  }
  return try_placing();
}

/// Tasks of the smallest extension.
uint32_t smallest_extension(const PendingJob& gang) {
  const bool is_fixed = gang.request.nodes_given && !gang.request.tasks_given;
  return is_fixed ? std::max(gang.request.tasks_per_node, 1U) : 1;
}

/// Adds one extension: a task, or what of at most `tasks` tasks one more node holds. Returns the tasks of it; 0: no
/// place.
uint32_t grow_by_extension(Session& session, const PendingJob& gang, uint32_t tasks, std::vector<std::string>& nodes,
                           Group& group) {
  const bool is_fixed = gang.request.nodes_given && !gang.request.tasks_given;
  const uint32_t each = gang.request.tasks_per_node;
  uint32_t size = smallest_extension(gang);
  if (gang.grows_by_node && !is_fixed) size = each > 0 ? std::min(tasks, each) : tasks;
  if (size > tasks) return 0;
  const QuotaTree& tree = session.quotas().tree();
  for (;; size /= 2) {
    const PendingJob extension = extension_of(gang, session.next_extension, size);
    if (auto allocation = place_extension(session, extension, gang, nodes)) {
      const Holding holding = session.capacity().holdings().at(gang.id);
      if (!session.trial.place(extension.id, holding.partition, *allocation, session.now, holding.expected_end))
        return 0;
      const Quantities amounts = tree.count_extension(*allocation, session.capacity());
      const uint32_t leaf = tree.leaf_of(gang.qos);
      session.trial.count(leaf, amounts, true, gang.uid);
      session.limits.take(session, Served{extension, leaf}, amounts, holding.expected_end);
      nodes.push_back(allocation->shares.front().name);
      group.decisions.emplace_back(Grow{gang.id, extension.id, std::move(*allocation)});
      session.next_extension = JobId(session.next_extension.value + 1);
      return size;
    }
    if (is_fixed || size <= 1) return 0;
  }
}

/// A gang in the course of the pass.
struct Growing {
  const PendingJob& gang;
  uint32_t leaf = 0;
  uint32_t present = 0;            ///< Tasks.
  const Order& order;              ///< Says what another is worth.
  std::vector<std::string> nodes;  ///< Where it is.
  Group group;
};

/// Who grows next: those within their guarantee, who could take it from the others; then the one whose QOS holds least
/// of what it is due, then the higher priority, then the one to which it is worth most (Order::gain()).
using GrowthRank = std::tuple<bool, Ratio, int64_t, double, JobId>;

GrowthRank rank_of(const Session& session, const Growing& g) {
  const Quantities least = session.quotas().tree().count_growth(g.gang.request, smallest_extension(g.gang));
  const double gain = g.order.gain(g.gang, g.present);
  return {!session.quotas().is_guaranteed(g.leaf, least), session.quotas().dominant(g.leaf), -g.gang.priority,
          -comparable(gain), g.gang.id};
}

/// Some time in this pass.
bool is_taken(const Session& session, JobId gang) {
  return session.trial.is_evicted(gang) || session.preempted.contains(gang);
}

std::map<JobId, Growing> growing_gangs(const Session& session) {
  std::map<JobId, Growing> out;
  for (const auto& [id, extensions] : session.view.gangs()) {
    const auto running = session.view.running().find(id);
    const QuotaLedger::Holder* holder = session.view.quota().holder(id);
    if (running == session.view.running().end() || holder == nullptr || holder->is_leaving) continue;
    if (session.preempted.contains(id) || !session.capacity().holdings().contains(id)) continue;
    const PendingJob& gang = *running->second;
    const uint32_t present = session.view.present_tasks(id);
    if (present >= gang.most_tasks || !may_grow(session, id)) continue;
    const std::string& partition = session.capacity().holdings().at(id).partition;
    Growing g{gang, holder->leaf, present, session.orders().in(partition, gang.qos), {}, {}};
    for (JobId part : session.trial.parts_left(id))
      for (NodeId node : session.capacity().holdings().at(part).nodes)
        g.nodes.push_back(session.capacity().node(node)->facts.name);
    out.emplace(id, std::move(g));
  }
  return out;
}

/// By rule 5, as a job that waits would take: for an extension within the guarantee. Returns its tasks; 0: nobody may
/// be taken, or what those leave who were told before is enough.
uint32_t take_for_growth(Session& session, Growing& g) {
  const Policy& policy = session.view.policy();
  const QuotaTree& tree = session.quotas().tree();
  const uint32_t size = smallest_extension(g.gang);
  const Quantities least = tree.count_growth(g.gang.request, size);
  if (policy.reclaim == Reclaim::kNone || size > g.gang.most_tasks - g.present ||
      !session.quotas().is_guaranteed(g.leaf, least) ||
      !session.quotas().may_take_from_any(g.leaf, least, policy.reclaim))
    return 0;
  const Holding holding = session.capacity().holdings().at(g.gang.id);
  const PartitionFacts& partition = *session.capacity().partition(holding.partition);
  PendingJob extension = extension_of(g.gang, session.next_extension, size);
  if (holding.expected_end != Time::never()) extension.time_limit = holding.expected_end - session.now;
  if (g.gang.grows_by_node)
    extension.request.exclude.insert(extension.request.exclude.end(), g.nodes.begin(), g.nodes.end());
  const Served served{extension, g.leaf, &least};
  if (fits_soon(session, served, partition)) return 0;
  const Trial::Mark mark = session.trial.mark();
  Preemptor preemptor{g.leaf, least, g.gang.priority, policy.reclaim, false};
  preemptor.may_move_others = false;
  preemptor.is_growth = true;
  const Evicted evicted = victims_by_rules(session, served, partition, preemptor);
  Duration grace = {};
  for (JobId id : evicted.victims) grace = std::max(grace, grace_of(session, id));
  Group placed;
  if (evicted.victims.empty() || grow_by_extension(session, g.gang, size, g.nodes, placed) != size) {
    session.trial.rollback(mark);
    return 0;
  }
  Group group;
  const Taking taking{g.leaf, least, g.gang.priority, policy.reclaim};
  for (Preempt& victim : told_to_go(session, g.gang.id, taking, evicted, [](JobId) { return 5; }))
    if (session.trial.may_stay(victim.job)) group.decisions.emplace_back(std::move(victim));
  if (grace.us == 0) {
    group.decisions.push_back(std::move(placed.decisions.front()));
  } else {
    model::Allocation& grown = std::get<Grow>(placed.decisions.front()).allocation;
    session.trial.rollback(mark);
    send_off(session, evicted);
    session.trial.count(g.leaf, tree.count_extension(grown, session.capacity()), true, g.gang.uid);
    session.backfill.keep(extension, FutureStart{session.now, std::move(grown)}, true);
  }
  session.plan.groups.push_back(std::move(group));
  return size;
}

/// One extension more, from idle room or from borrowers. False: that was all.
bool grow_once(Session& session, Growing& g) {
  // Somebody may have taken it, or a part of it, since it was listed.
  if (is_taken(session, g.gang.id) || !may_grow(session, g.gang.id)) return false;
  uint32_t more = grow_by_extension(session, g.gang, g.gang.most_tasks - g.present, g.nodes, g.group);
  if (more == 0) more = take_for_growth(session, g);
  g.present += more;
  // Each has one try at least, however little is left of the budget.
  return more > 0 && g.present < g.gang.most_tasks && session.plan.placements < session.budget.placements;
}

}  // namespace

void grow_gangs(Session& session) {
  std::map<JobId, Growing> gangs = growing_gangs(session);
  std::set<GrowthRank> ranks;
  for (const auto& [id, g] : gangs) ranks.insert(rank_of(session, g));
  while (!ranks.empty()) {
    const GrowthRank rank = ranks.extract(ranks.begin()).value();
    Growing& g = gangs.at(std::get<JobId>(rank));
    if (const GrowthRank now = rank_of(session, g); rank < now) {  // another gang of its QOS has grown meanwhile
      ranks.insert(now);
    } else if (grow_once(session, g)) {
      ranks.insert(rank_of(session, g));
    }
  }
  for (auto& [id, g] : gangs)
    if (!g.group.decisions.empty() && !is_taken(session, id)) session.plan.groups.push_back(std::move(g.group));
}

namespace {

/// Leaves of the tree of quotas, and partitions in which some of their jobs wait.
using Waiting = std::set<std::pair<uint32_t, std::string>>;

/// The extensions within the guarantees for which there would be a place now, of gangs of QOS that let nobody wait;
/// they are left in the trial. Ids are given anew afterwards.
std::vector<std::pair<PendingJob, model::Allocation>> next_extensions(Session& session, const Waiting& waiting) {
  std::vector<std::pair<PendingJob, model::Allocation>> out;
  const JobId first = session.next_extension;
  for (auto& [id, g] : growing_gangs(session)) {
    if (waiting.contains({g.leaf, session.capacity().holdings().at(id).partition})) continue;
    const QuotaTree& tree = session.quotas().tree();
    while (g.present < g.gang.most_tasks && session.plan.placements < session.budget.placements &&
           session.quotas().is_guaranteed(g.leaf, tree.count_growth(g.gang.request, smallest_extension(g.gang)))) {
      const uint32_t more = grow_by_extension(session, g.gang, g.gang.most_tasks - g.present, g.nodes, g.group);
      if (more == 0) break;
      g.present += more;
    }
    for (Decision& d : g.group.decisions)
      out.emplace_back(extension_of(g.gang, std::get<Grow>(d).extension, 1), std::move(std::get<Grow>(d).allocation));
  }
  session.next_extension = first;
  return out;
}

}  // namespace

void keep_places_for_growth(Session& session) {
  const QuotaTree& tree = session.quotas().tree();
  if (tree.is_flat() || session.view.policy().reclaim == Reclaim::kNone || session.view.gangs().empty()) return;
  const Trial::Mark mark = session.trial.mark();
  const uint64_t spent = session.plan.placements;
  for (JobId part : session.victims.leaving(session))
    if (!session.trial.is_evicted(part)) session.trial.let_leave(part);
  Waiting waiting;
  for (const auto& [key, job_class] : session.queue.classes())
    for (const std::string& name : job_class.shape().partitions)
      waiting.emplace(tree.leaf_of(job_class.shape().qos), name);
  const auto kept = next_extensions(session, waiting);
  session.trial.rollback(mark);
  session.plan.placements = spent;  // what is spent here would be missing in each pass where it is used, in growth
  // Borrowers see it, those within their guarantee do not.
  for (const auto& [job, allocation] : kept) session.backfill.keep(job, FutureStart{session.now, allocation}, false);
}

}  // namespace gw::sched
