// Extension by extension; see grow.h.
#include "sched/cycle/grow.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

namespace gw::sched {
namespace {

/// Not while the gang is being made smaller, and not where somebody of its own QOS waits.
bool may_grow(const Session& session, JobId gang) {
  const Holding& holding = session.capacity().holdings().at(gang);
  const PartitionFacts* partition = session.capacity().partition(holding.partition);
  if (partition == nullptr || !partition->is_up || holding.expected_end <= session.now) return false;
  const std::set<JobId>& extensions = session.view.extensions_of(gang);
  if (std::any_of(extensions.begin(), extensions.end(), [&session](JobId extension) {
        return session.trial.is_evicted(extension) || session.told_to_go.contains(extension);
      }))
    return false;
  return !session.first_blocked.contains({session.view.quota().holder(gang)->leaf, holding.partition});
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

/// Adds one extension: a task, or what of at most `tasks` tasks one more node holds. Returns the tasks of it; 0: no
/// place.
uint32_t grow_by_extension(Session& session, const PendingJob& gang, uint32_t tasks, std::vector<std::string>& nodes,
                           Group& group) {
  const bool is_fixed = gang.request.nodes_given && !gang.request.tasks_given;
  const uint32_t each = gang.request.tasks_per_node;
  uint32_t size = is_fixed ? std::max(each, 1U) : 1;
  if (gang.grows_by_node && !is_fixed) size = each > 0 ? std::min(tasks, each) : tasks;
  if (size > tasks) return 0;
  const QuotaTree& tree = session.quotas().tree();
  for (;; size /= 2) {
    const PendingJob extension = extension_of(gang, session.next_extension, size);
    if (auto allocation = place_extension(session, extension, gang, nodes)) {
      const Holding holding = session.capacity().holdings().at(gang.id);
      if (!session.trial.place(extension.id, holding.partition, *allocation, session.now, holding.expected_end))
        return 0;
      session.trial.count(tree.leaf_of(gang.qos), tree.count_extension(*allocation, session.capacity()), true,
                          gang.uid);
      nodes.push_back(allocation->shares.front().name);
      group.decisions.emplace_back(Grow{gang.id, extension.id, std::move(*allocation)});
      session.next_extension = JobId(session.next_extension.value + 1);
      return size;
    }
    if (is_fixed || size <= 1) return 0;
  }
}

/// Until it is as large as it may be or nothing more fits.
void grow(Session& session, JobId id) {
  if (!may_grow(session, id)) return;
  const PendingJob& gang = *session.view.running().at(id);
  std::vector<std::string> nodes;
  for (JobId part : session.trial.parts_left(id))
    for (NodeId node : session.capacity().holdings().at(part).nodes)
      nodes.push_back(session.capacity().node(node)->facts.name);
  Group group;
  for (uint32_t present = session.view.present_tasks(id); present < gang.most_tasks;) {
    const uint32_t more = grow_by_extension(session, gang, gang.most_tasks - present, nodes, group);
    if (more == 0 || session.plan.placements >= session.budget.placements) break;
    present += more;
  }
  if (!group.decisions.empty()) session.plan.groups.push_back(std::move(group));
}

}  // namespace

/// Those that hold the least of what they are due first.
void grow_gangs(Session& session) {
  std::vector<std::pair<std::tuple<Ratio, int64_t, JobId>, JobId>> ranked;
  for (const auto& [gang, extensions] : session.view.gangs()) {
    const auto running = session.view.running().find(gang);
    const QuotaLedger::Holder* holder = session.view.quota().holder(gang);
    if (running == session.view.running().end() || holder == nullptr || holder->is_leaving) continue;
    if (session.told_to_go.contains(gang) || !session.capacity().holdings().contains(gang)) continue;
    ranked.push_back({{session.quotas().dominant(holder->leaf), -running->second->priority, gang}, gang});
  }
  std::sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [rank, gang] : ranked) grow(session, gang);
}

}  // namespace gw::sched
