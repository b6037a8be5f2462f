// See kept_places.h.
#include "sched/cycle/kept_places.h"

#include <utility>
#include <vector>

#include "sched/cycle/grow.h"
#include "sched/cycle/start.h"

namespace gw::sched {
namespace {

/// So many jobs with components are looked at in a pass, in the order of their classes.
constexpr size_t kMostTogether = 16;

using Kept = std::vector<std::pair<PendingJob, model::Allocation>>;

/// Borrowers see it, those within their guarantee do not: also the job itself, when it is served.
void keep_from_borrowers(Session& session, const Kept& kept) {
  for (const auto& [job, allocation] : kept) session.backfill.keep(job, FutureStart{session.now, allocation}, false);
}

/// Places the job with all its components; what is found stays in the trial.
void add_together(Session& session, const PendingJob& job, uint32_t leaf, const Quantities& amounts, Kept& kept) {
  Served served{job, leaf, &amounts};
  const Trial::Mark mark = session.trial.mark();
  for (const std::string& name : job.partitions) {
    Group group;
    if (is_open(session, served, name) && place_gang(session, served, name, job.time_limit, group)) {
      for (Decision& d : group.decisions) kept.emplace_back(job, std::move(std::get<Start>(d).allocation));
      return;
    }
    session.trial.rollback(mark);
  }
}

}  // namespace

void keep_places_for_guarantees(Session& session) {
  const QuotaTree& tree = session.quotas().tree();
  if (tree.is_flat() || session.view.policy().reclaim == Reclaim::kNone) return;
  const Trial::Mark mark = session.trial.mark();
  const uint64_t spent = session.plan.placements;
  const std::vector<JobId>& leaving = session.victims.leaving(session);
  if (leaving.empty() && session.view.gangs().empty()) return;
  for (JobId part : leaving)
    if (!session.trial.is_evicted(part)) session.trial.let_leave(part);
  Kept kept;
  Waiting waiting;
  size_t looked_at = 0;
  for (const auto& [key, job_class] : session.queue.classes()) {
    const PendingJob& job = job_class.shape();
    const uint32_t leaf = tree.leaf_of(job.qos);
    if (!session.view.gangs().empty())
      for (const std::string& name : job.partitions) waiting.emplace(leaf, name);
    // Under a strict order who comes first is not known yet.
    if (job.components.empty() || leaving.empty() || session.order().is_strict() || looked_at == kMostTogether)
      continue;
    const PendingJob& first = job_class.members.begin()->second;
    const Quantities amounts = tree.count(first);
    if (!session.quotas().is_guaranteed(leaf, amounts) || session.quotas().limit_in_way(leaf, amounts, first.uid))
      continue;
    ++looked_at;
    add_together(session, first, leaf, amounts, kept);
  }
  if (!session.view.gangs().empty())
    for (auto& extension : next_extensions(session, waiting)) kept.push_back(std::move(extension));
  session.trial.rollback(mark);
  session.plan.placements = spent;  // what is spent here would be missing in each pass where it is used, in growth
  keep_from_borrowers(session, kept);
}

}  // namespace gw::sched
