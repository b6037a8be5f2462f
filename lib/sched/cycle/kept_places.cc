// See kept_places.h.
#include "sched/cycle/kept_places.h"

#include <utility>
#include <vector>

#include "sched/cycle/grow.h"

namespace gw::sched {

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
