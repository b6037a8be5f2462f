// Whom to move, and whether everybody finds a place; see consolidate.h.
#include "sched/cycle/consolidate.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "sched/cycle/moves.h"
#include "sched/cycle/start.h"
#include "sched/cycle/victim_search.h"

namespace gw::sched {
namespace {

using model::Consolidate;

constexpr size_t kMostSingles = 64;  // jobs tried alone

/// Is it within what its QOS, or one above it that is not the served job's, too, is guaranteed?
bool is_guaranteed_beside(const Session& session, const Served& served, const Candidate& c) {
  const Quotas& quotas = session.quotas();
  const QuotaTree& tree = quotas.tree();
  const uint32_t leaf = session.view.quota().holder(c.job)->leaf, parting = tree.common(leaf, served.leaf);
  const auto keeps_within = [&](uint32_t qos) {
    for (size_t r = 0; r < c.amounts.size(); ++r)
      if (c.amounts[r] > 0 && tree.qos(qos).has_line[r] &&
          quotas.tally().counted[qos][r] > quotas.shares().guaranteed[qos][r])
        return false;
    return true;
  };
  if (leaf == served.leaf) return keeps_within(leaf);
  for (uint32_t qos = leaf; qos != parting; qos = tree.qos(qos).parent)
    if (keeps_within(qos)) return true;
  return false;
}

/// Those that could stand elsewhere: on nodes that could take a part of the job, the emptiest node first, and there the
/// smallest job, the least work lost, the youngest.
std::vector<Candidate> movable(Session& session, const Served& served, const PartitionFacts& partition) {
  std::vector<std::pair<std::tuple<int64_t, uint64_t, uint64_t, int64_t, uint32_t>, Candidate>> ranked;
  for (const Candidate& c : session.victims.candidates(session)) {
    if (!is_of_use(session, served, c, partition) || !can_be_moved(session, c, partition)) continue;
    if (!served.is_guaranteed && is_guaranteed_beside(session, served, c)) continue;  // not for a borrower's sake
    size_t free = 0;
    for (NodeId id : session.capacity().holdings().at(c.job).nodes)
      if (const NodeAccount* node = session.capacity().node(id)) free = std::max<size_t>(free, node->free.gpus.size());
    ranked.push_back({{-static_cast<int64_t>(free), c.amounts[kGpu], c.lost, -c.started.us, c.job.value}, c});
  }
  std::sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Candidate> out;
  for (auto& [rank, c] : ranked) out.push_back(std::move(c));
  return out;
}

void tell_moves(Session& session, const Served& served, const std::string& partition, const Group& placed) {
  WouldMove told{served.job.id, partition, {}, {}};
  for (const Decision& d : placed.decisions) {
    const Start& start = std::get<Start>(d);
    if (start.job == served.job.id)
      told.nodes = start.allocation.node_names();
    else
      told.moves.push_back({start.job, start.allocation.node_names()});
  }
  session.plan.would_move.push_back(std::move(told));
}

/// The movers are evicted since `mark`, and everybody has found a place in `placed`.
void decide_moves(Session& session, const Served& served, const std::vector<JobId>& movers, Trial::Mark mark,
                  Group placed) {
  Group group;
  Duration grace = {};
  for (JobId id : movers) {
    group.decisions.emplace_back(Preempt{id, served.job.id, grace_of(session, id), 0, true});
    grace = std::max(grace, grace_of(session, id));
  }
  if (grace.us > 0) {
    session.trial.rollback(mark);
    keep_places(session, served, grace, placed, group);
  } else {
    std::move(placed.decisions.begin(), placed.decisions.end(), std::back_inserter(group.decisions));
  }
  session.preempted.insert(movers.begin(), movers.end());
  session.moved += movers.size();
  decide_start(session, std::move(group));
}

/// True: the job starts by these moves, or would in a dry run; then, and if it is false, the trial is as before.
bool try_moving(Session& session, Served& served, const PartitionFacts& partition, const std::vector<JobId>& movers) {
  const Trial::Mark mark = session.trial.mark();
  for (JobId id : movers) session.trial.evict(id);
  Group placed;
  const bool is_found =
      fits(session, served, partition) && place_gang(session, served, partition.name, served.job.time_limit, placed) &&
      std::all_of(movers.begin(), movers.end(), [&](JobId id) { return place_again(session, served, id, placed); });
  if (is_found && partition.consolidate == Consolidate::kOn) {
    decide_moves(session, served, movers, mark, std::move(placed));
    return true;
  }
  if (is_found) tell_moves(session, served, partition.name, placed);
  session.trial.rollback(mark);
  return is_found;
}

/// First each job alone, the cheapest first; then as many as it takes, node by node, without those that need not move.
bool move_others(Session& session, Served& served, const PartitionFacts& partition) {
  const size_t most = std::min(moves_left(session, partition), kMostMoves);
  if (most == 0 || fits_soon(session, served, partition)) return false;
  const std::vector<Candidate> list = movable(session, served, partition);
  std::vector<Candidate> cheapest = list;
  std::sort(cheapest.begin(), cheapest.end(), [](const Candidate& a, const Candidate& b) {
    return std::tuple(a.amounts[kGpu], a.lost, -a.started.us, ~a.job.value) <
           std::tuple(b.amounts[kGpu], b.lost, -b.started.us, ~b.job.value);
  });
  for (size_t i = 0; i < std::min(cheapest.size(), kMostSingles); ++i)
    if (try_moving(session, served, partition, {cheapest[i].job})) return true;
  if (most == 1) return false;
  std::vector<JobId> ids;
  for (const Candidate& c : list) ids.push_back(c.job);
  const Trial::Mark mark = session.trial.mark();
  VictimSearch search{session, served, partition};
  const std::vector<JobId> movers = find_victims(search, one_after_the_other(ids));
  session.trial.rollback(mark);
  return !movers.empty() && movers.size() <= most && try_moving(session, served, partition, movers);
}

}  // namespace

bool consolidate(Session& session, Served& served) {
  if (!served.job.components.empty() || session.view.running().empty()) return false;
  for (const std::string& name : served.job.partitions) {
    if (!is_open(session, served, name)) continue;
    const PartitionFacts& partition = *session.capacity().partition(name);
    const bool is_tried = partition.consolidate == Consolidate::kOn || partition.consolidate == Consolidate::kDryRun;
    if (is_tried && move_others(session, served, partition) && partition.consolidate == Consolidate::kOn) return true;
  }
  return false;
}

}  // namespace gw::sched
