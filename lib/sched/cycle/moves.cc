// See moves.h.
#include "sched/cycle/moves.h"

#include <algorithm>
#include <utility>

#include "sched/cycle/start.h"
#include "sched/cycle/victim_search.h"

namespace gw::sched {

using model::Consolidate;

size_t moves_left(Session& session, const PartitionFacts& partition) {
  const std::vector<Time>& moves = session.view.moves();
  const auto recent =
      std::find_if(moves.begin(), moves.end(), [&session](Time t) { return session.now < t + base::hours(1); });
  size_t used = static_cast<size_t>(moves.end() - recent) + session.moved;
  if (partition.consolidate == Consolidate::kDryRun)
    for (const WouldMove& told : session.plan.would_move) used += told.moves.size();
  const size_t most = session.view.policy().moves_per_hour;
  if (used >= most && recent != moves.end()) session.change_at(*recent + base::hours(1));
  return most - std::min(used, most);
}

bool can_be_moved(const Session& session, const Candidate& c, const PartitionFacts& partition) {
  const PendingJob& running = *session.view.running().at(c.job);
  return running.may_move && session.trial.holding_of(c.job).partition == partition.name &&
         running.components.empty() && running.reservation.empty() && session.view.extensions_of(c.job).empty();
}

bool place_again(Session& session, const Served& served, JobId mover, Group& group) {
  const PendingJob& running = *session.view.running().at(mover);
  if (missed_deadline(session, running)) return false;  // it begins anew
  const std::string partition = session.trial.holding_of(mover).partition;
  const PartitionFacts& facts = *session.capacity().partition(partition);
  const Duration grace = grace_of(session, mover);
  const Duration limit = cut_length(session, running, running.time_limit);
  const Duration length = limit == base::kUnlimited ? base::kUnlimited : grace + limit;
  const QuotaLedger::Holder& holder = *session.view.quota().holder(mover);
  if (session.quotas().limit_in_way(holder.leaf, holder.amounts, holder.uid)) return false;  // made smaller meanwhile
  const auto options = options_for(session, served, running, facts, length);
  if (!options) return false;
  Placement placement = session.place(facts, running.request, *options);
  if (!placement.allocation ||
      !session.trial.place(mover, partition, *placement.allocation, session.now, session.now + length))
    return false;
  if (running.request.own_gpu) session.trial.set_own_gpu(mover);
  session.trial.count(holder);
  group.decisions.emplace_back(Start{mover, partition, std::move(*placement.allocation), limit});
  return true;
}

void keep_places(Session& session, const Served& served, Duration grace, const Group& placed, Group& group) {
  const PendingJob& job = served.job;
  for (const Decision& d : placed.decisions) {
    const Start& start = std::get<Start>(d);
    const bool is_mover = start.job != job.id;
    if (!is_mover) {
      const QuotaTree& tree = session.quotas().tree();
      Quantities amounts = tree.count(start.allocation, session.capacity());
      add_to(amounts, tree.count_licenses(job));
      session.trial.count(served.leaf, amounts, job.preemptible, job.uid);
    }
    session.backfill.keep(is_mover ? *session.view.running().at(start.job) : job,
                          FutureStart{session.now, start.allocation}, true);  // nobody takes it
    session.plan.planned_starts.push_back(
        PlannedStart{start.job, start.partition, session.now + grace, start.allocation.node_names()});
    group.decisions.emplace_back(Nomination{start.job, start.partition, start.allocation, session.now + grace});
  }
}

}  // namespace gw::sched
