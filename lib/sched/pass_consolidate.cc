// Consolidation: a blocked job that would fit if a few running ones stood elsewhere gets its room by moving them. Only
// who can be taken off is moved, each is placed anew in the same plan, and so many moves an hour are the most. A move
// takes nothing from anybody: no rule of the quotas is asked but whether the job itself may start. In a partition with
// a dry run the same is found and only told: the pass goes on as if nothing had been.
#include <algorithm>
#include <iterator>

#include "sched/pass.h"

namespace gw::sched {

using model::Consolidate;

namespace {

constexpr size_t kMostMoves = 8;     // for one job
constexpr size_t kMostSingles = 64;  // jobs tried alone

}  // namespace

/// So many jobs may still be moved within the hour. What is only told counts among itself.
size_t Pass::moves_left(const PartitionFacts& partition) {
  const std::vector<Time>& moves = view_.moves();
  const auto recent = std::find_if(moves.begin(), moves.end(), [this](Time t) { return now_ < t + base::hours(1); });
  size_t used = static_cast<size_t>(moves.end() - recent) + moved_;
  if (partition.consolidate == Consolidate::kDryRun)
    for (const WouldMove& told : plan_.would_move) used += told.moves.size();
  const size_t most = view_.policy().moves_per_hour;
  if (used >= most && recent != moves.end()) change_at(*recent + base::hours(1));
  return most - std::min(used, most);
}

/// Those that could stand elsewhere: on nodes that could take a part of the job, the emptiest node first, and there the
/// smallest job, the least work lost, the youngest.
std::vector<Candidate> Pass::movable(const PendingJob& job, const PartitionFacts& partition) {
  std::vector<std::pair<std::tuple<int64_t, uint64_t, uint64_t, int64_t, uint32_t>, Candidate>> ranked;
  for (const std::vector<Candidate>& list : candidates()) {
    for (const Candidate& c : list) {
      const PendingJob& running = *view_.running().at(c.job);
      const Holding& holding = view_.capacity().holdings().at(c.job);
      if (!running.may_move || holding.partition != partition.name || !running.components.empty() ||
          !running.reservation.empty() || !view_.pieces_of(c.job).empty())
        continue;
      if (!is_of_use(c, job, partition, std::nullopt)) continue;
      size_t free = 0;
      for (NodeId id : holding.nodes)
        if (const NodeAccount* node = capacity().node(id)) free = std::max<size_t>(free, node->free.gpus.size());
      ranked.push_back({{-static_cast<int64_t>(free), c.amounts[0], c.lost, -c.started.us, c.job.value}, c});
    }
  }
  std::sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Candidate> out;
  for (auto& [rank, c] : ranked) out.push_back(std::move(c));
  return out;
}

/// Finds a place for one that was taken off to be moved.
bool Pass::place_again(JobId mover, Group& group) {
  const PendingJob& running = *view_.running().at(mover);
  const std::string& partition = taken_holdings_.at(mover).partition;
  const PartitionFacts& facts = *capacity().partition(partition);
  const Duration grace = grace_of(mover);
  const Duration length = running.time_limit == base::kUnlimited ? base::kUnlimited : grace + running.time_limit;
  const auto look = look_for(running, facts, length);
  if (!look) return false;
  ++placements_;
  Placement placement = place(capacity(), facts, running.request, *look);
  if (!placement.allocation) return false;
  if (!capacity().allocate(mover, partition, *placement.allocation, now_, now_ + length)) return false;
  tentative_.push_back(mover);
  group.decisions.emplace_back(Start{mover, partition, std::move(*placement.allocation), running.time_limit});
  return true;
}

/// The movers are off their nodes, and the job fits: does everybody find a place?
bool Pass::rearrange(const PendingJob& job, const PartitionFacts& partition, const std::vector<JobId>& movers) {
  Group placed;
  const Quotas before = quotas_;
  bool is_done = start_parts(job, partition.name, job.time_limit, placed);
  for (JobId id : movers) is_done = is_done && place_again(id, placed);
  const bool is_dry = partition.consolidate == Consolidate::kDryRun;
  if (is_done && is_dry) tell_moves(job, partition.name, placed);
  if (!is_done || is_dry) {
    undo(placed);
    quotas_ = before;
    turns_.refresh(served_.leaf);
    return is_done;
  }
  Group group;
  Duration grace = {};
  for (JobId id : movers) {
    group.decisions.emplace_back(Preempt{id, job.id, grace_of(id), 0, true});
    grace = std::max(grace, grace_of(id));
  }
  if (grace.us > 0)
    keep_places(job, movers, grace, placed, group);
  else
    std::move(placed.decisions.begin(), placed.decisions.end(), std::back_inserter(group.decisions));
  for (JobId id : movers) {
    if (grace.us == 0) quotas_.start(*view_.quota().holder(id));  // what was taken from the sums with it
    sent_off_.insert(id);
    turns_.refresh(view_.quota().holder(id)->leaf);
  }
  turns_.refresh(served_.leaf);
  strike(movers);
  moved_ += movers.size();
  ++starts_;
  plan_.groups.push_back(std::move(group));
  return true;
}

void Pass::tell_moves(const PendingJob& job, const std::string& partition, const Group& placed) {
  WouldMove told{job.id, partition, {}, {}};
  for (const Decision& d : placed.decisions) {
    const Start& start = std::get<Start>(d);
    if (start.job == job.id)
      told.nodes = start.allocation.node_names();
    else
      told.moves.push_back({start.job, start.allocation.node_names()});
  }
  plan_.would_move.push_back(std::move(told));
}

/// Nobody has left yet: the movers stand where they stood, and what everybody will have is promised.
void Pass::keep_places(const PendingJob& job, const std::vector<JobId>& movers, Duration grace, const Group& placed,
                       Group& group) {
  undo(placed);
  for (auto it = movers.rbegin(); it != movers.rend(); ++it) give_back(*it);
  served_.is_guaranteed = true;  // nobody takes what others have to leave for
  for (const Decision& d : placed.decisions) {
    const Start& start = std::get<Start>(d);
    const PendingJob& whose = start.job == job.id ? job : *view_.running().at(start.job);
    promise(whose, FutureStart{now_, start.allocation});
    plan_.reservations.push_back(Reserve{start.job, start.partition, now_ + grace, start.allocation.node_names()});
    group.decisions.emplace_back(Claim{start.job, start.partition, start.allocation, now_ + grace});
  }
}

bool Pass::try_moving(const PendingJob& job, const PartitionFacts& partition, const std::vector<JobId>& movers) {
  for (JobId id : movers) take(id);
  const bool is_found = fits(job, partition) && rearrange(job, partition, movers);
  if (is_found && partition.consolidate == Consolidate::kOn) return true;
  for (auto it = movers.rbegin(); it != movers.rend(); ++it) give_back(*it);
  return is_found;
}

/// First each job alone, the cheapest first; then as many as it takes, node by node, without those that need not move.
bool Pass::move_out_of_the_way(const PendingJob& job, const PartitionFacts& partition) {
  const size_t most = std::min(moves_left(partition), kMostMoves);
  if (most == 0 || fits_soon(job, partition)) return false;
  const std::vector<Candidate> list = movable(job, partition);
  std::vector<Candidate> cheapest = list;
  std::sort(cheapest.begin(), cheapest.end(), [](const Candidate& a, const Candidate& b) {
    return std::tuple(a.amounts[0], a.lost, -a.started.us, ~a.job.value) <
           std::tuple(b.amounts[0], b.lost, -b.started.us, ~b.job.value);
  });
  for (size_t i = 0; i < std::min(cheapest.size(), kMostSingles); ++i)
    if (try_moving(job, partition, {cheapest[i].job})) return true;
  if (most == 1) return false;
  const auto next = [&list, at = size_t{0}]() mutable {
    return at < list.size() ? std::optional(list[at++].job) : std::nullopt;
  };
  Guest guest{job, partition};
  const std::vector<JobId> movers = make_room(guest, next);
  if (movers.empty()) return false;
  for (auto it = movers.rbegin(); it != movers.rend(); ++it) give_back(*it);
  return movers.size() <= most && try_moving(job, partition, movers);
}

bool Pass::start_by_moving(const PendingJob& job) {
  if (!job.components.empty() || view_.running().empty()) return false;
  for (const std::string& name : job.partitions) {
    if (!is_open(job, name)) continue;
    const PartitionFacts& partition = *capacity().partition(name);
    const bool is_tried = partition.consolidate == Consolidate::kOn || partition.consolidate == Consolidate::kDryRun;
    if (is_tried && move_out_of_the_way(job, partition) && partition.consolidate == Consolidate::kOn) return true;
  }
  return false;
}

}  // namespace gw::sched
