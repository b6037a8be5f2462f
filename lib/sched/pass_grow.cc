// Elastic gangs grow into what is idle once everybody has been served: docs/quotas.md, "Elastic gangs". Nobody is kept
// waiting by it: promises are kept, a piece is the first thing to be taken back, and where a job of the same QOS, which
// could not take it back, is blocked, gangs of that QOS do not grow.
#include <algorithm>

#include "sched/pass.h"

namespace gw::sched {

/// Those that hold the least of what they are due first.
void Pass::grow_gangs() {
  std::vector<std::pair<std::tuple<Ratio, int64_t, JobId>, JobId>> ranked;
  for (const auto& [gang, pieces] : view_.gangs()) {
    const auto running = view_.running().find(gang);
    const QuotaLedger::Holder* holder = view_.quota().holder(gang);
    if (running == view_.running().end() || holder == nullptr || holder->is_leaving) continue;
    if (sent_off_.contains(gang) || !capacity().holdings().contains(gang)) continue;
    ranked.push_back({{quotas_.dominant(holder->leaf), -running->second->priority, gang}, gang});
  }
  std::sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [rank, gang] : ranked) grow(gang);
}

/// Not while the gang is being made smaller, and not where somebody of its own QOS waits.
bool Pass::may_grow(JobId gang) const {
  const Holding& holding = view_.capacity().holdings().at(gang);
  const PartitionFacts* partition = view_.capacity().partition(holding.partition);
  if (partition == nullptr || !partition->is_up || holding.expected_end <= now_) return false;
  const std::set<JobId>& pieces = view_.pieces_of(gang);
  if (std::any_of(pieces.begin(), pieces.end(),
                  [this](JobId p) { return taken_.contains(p) || sent_off_.contains(p); }))
    return false;
  return !first_blocked_.contains({view_.quota().holder(gang)->leaf, holding.partition});
}

/// Piece by piece, until it is as large as it may be or nothing more fits.
void Pass::grow(JobId id) {
  if (!may_grow(id)) return;
  const PendingJob& gang = *view_.running().at(id);
  std::vector<std::string> nodes;
  for (JobId part : parts_left(id))
    for (NodeId node : capacity().holdings().at(part).nodes) nodes.push_back(capacity().node(node)->facts.name);
  Group group;
  for (uint32_t present = view_.present_tasks(id); present < gang.most_tasks;) {
    const uint32_t more = grow_by_piece(gang, gang.most_tasks - present, nodes, group);
    if (more == 0 || placements_ >= budget_.placements) break;
    present += more;
  }
  if (group.decisions.empty()) return;
  turns_.refresh(served_.leaf);
  plan_.groups.push_back(std::move(group));
}

/// Adds one piece: a task, or what of at most `tasks` tasks one more node holds. Returns the tasks of it; 0: no room.
uint32_t Pass::grow_by_piece(const PendingJob& gang, uint32_t tasks, std::vector<std::string>& nodes, Group& group) {
  const bool is_fixed = gang.request.nodes_given && !gang.request.tasks_given;
  const uint32_t each = gang.request.tasks_per_node;
  uint32_t size = is_fixed ? std::max(each, 1U) : 1;
  if (gang.grows_by_node && !is_fixed) size = each > 0 ? std::min(tasks, each) : tasks;
  if (size > tasks) return 0;
  for (;; size /= 2) {
    const PendingJob piece = piece_of(gang, next_piece_, size);
    if (auto allocation = place_piece(piece, gang, nodes)) {
      const Holding& holding = view_.capacity().holdings().at(gang.id);
      if (!capacity().allocate(piece.id, holding.partition, *allocation, now_, holding.expected_end)) return 0;
      tentative_.push_back(piece.id);
      quotas_.start(served_.leaf, quotas_.tree().count_piece(*allocation, capacity()), true, gang.uid);
      nodes.push_back(allocation->shares.front().name);
      group.decisions.emplace_back(Grow{gang.id, piece.id, std::move(*allocation)});
      next_piece_ = JobId(next_piece_.value + 1);
      return size;
    }
    if (is_fixed || size <= 1) return 0;
  }
}

/// On one of the nodes where the gang is rather than elsewhere, if it may have more there at all.
std::optional<model::Allocation> Pass::place_piece(const PendingJob& piece, const PendingJob& gang,
                                                   const std::vector<std::string>& nodes) {
  const Holding& holding = view_.capacity().holdings().at(gang.id);
  const PartitionFacts& partition = *capacity().partition(holding.partition);
  const uint32_t leaf = quotas_.tree().leaf_of(gang.qos);
  const Quantities least = quotas_.tree().count_growth(gang.request, piece.request.tasks);
  served_ = Served{leaf, nullptr, nullptr, quotas_.is_guaranteed(leaf, least)};
  if (quotas_.limit_in_way(leaf, least, gang.uid)) return std::nullopt;
  const bool has_end = holding.expected_end != Time::never();
  auto look = look_for(piece, partition, has_end ? holding.expected_end - now_ : base::kUnlimited);
  if (!look) return std::nullopt;
  model::Request request = piece.request;
  const auto try_placing = [&]() -> std::optional<model::Allocation> {
    ++placements_;
    auto placed = place(capacity(), partition, request, *look);
    if (!placed.allocation) return std::nullopt;
    const Quantities amounts = quotas_.tree().count_piece(*placed.allocation, capacity());
    if (quotas_.limit_in_way(leaf, amounts, gang.uid)) return std::nullopt;
    return std::move(placed.allocation);
  };
  if (gang.grows_by_node) {
    request.exclude.insert(request.exclude.end(), nodes.begin(), nodes.end());
    return try_placing();
  }
  if (look->inside == nullptr) {
    look->inside = &nodes;
    if (auto here = try_placing()) return here;
    look->inside = nullptr;
  }
  return try_placing();
}

}  // namespace gw::sched
