// See victim_search.h.
#include "sched/cycle/victim_search.h"

#include <algorithm>
#include <utility>

#include "sched/ledger/node_index.h"
#include "sched/place/node_filter.h"

namespace gw::sched {
namespace {

const QuotaLedger::Holder& holder_of(const VictimSearch& search, JobId id) {
  return *search.session.view.quota().holder(id);
}

/// Would the victim go by rule 7?
bool is_rival(const VictimSearch& search, JobId victim) {
  return search.lines && holder_of(search, victim).leaf == search.preemptor->leaf;
}

bool has_rival(const VictimSearch& search, const std::vector<JobId>& victims) {
  return std::any_of(victims.begin(), victims.end(), [&](JobId id) { return is_rival(search, id); });
}

bool is_enough(const VictimSearch& search, bool has_rivals) {
  return fits(search.session, search.served, search.partition) &&
         (!has_rivals || search.lines->are_kept(search.session.quotas()));
}

/// Would `kept` be allowed, one after the other, if `spared` stayed?
bool are_still_allowed(const VictimSearch& search, const std::vector<JobId>& kept, const std::vector<JobId>& spared) {
  const Preemptor& preemptor = *search.preemptor;
  const QuotaTree& tree = search.session.quotas().tree();
  const auto level = [&](JobId id) { return tree.common(holder_of(search, id).leaf, preemptor.leaf); };
  // Who is beside the preemptor at one level loses nothing by what others at that level, or above it, keep.
  const auto matters = [&](JobId id) {
    return std::any_of(kept.begin(), kept.end(),
                       [&](JobId other) { return tree.qos(level(other)).depth < tree.qos(level(id)).depth; });
  };
  if (std::none_of(spared.begin(), spared.end(), matters)) return true;
  std::vector<Taken> victims;
  Quotas all_run = search.session.quotas();
  for (JobId id : kept) {
    Taken& victim = victims.emplace_back(Taken{holder_of(search, id).leaf, tree.none()});
    for (JobId part : search.session.trial.evicted_with(id)) {
      const QuotaLedger::Holder& holder = holder_of(search, part);
      add_to(victim.amounts, holder.amounts);
      all_run.start(holder.leaf, holder.amounts, holder.preemptible);
    }
  }
  return are_allowed(std::move(all_run), preemptor, victims);
}

/// From the last on each is spared if the job still fits without it. Where a whole stride can be spared, so can each of
/// it in turn; only the last that goes by rule 7 is tried by itself, since without it the others need not keep the
/// lines. Then they are tried once more.
void spare_the_unneeded(const VictimSearch& search, std::vector<JobId>& victims) {
  Trial& trial = search.session.trial;
  const bool had_rivals = has_rival(search, victims);
  std::vector<JobId> needed;
  for (size_t stride = 1; !victims.empty();) {
    stride = std::min(stride, victims.size());
    const std::vector<JobId> tried(victims.end() - static_cast<ptrdiff_t>(stride), victims.end());
    for (JobId id : tried) trial.spare(id);
    std::vector<JobId> kept(victims.begin(), victims.end() - static_cast<ptrdiff_t>(stride));
    kept.insert(kept.end(), needed.rbegin(), needed.rend());
    const bool may_stay = std::all_of(tried.begin(), tried.end(), [&trial](JobId id) { return trial.may_stay(id); });
    const bool has_rivals = has_rival(search, kept) || (stride > 1 && has_rival(search, tried));
    if (may_stay && is_enough(search, has_rivals) &&
        (search.preemptor == nullptr || are_still_allowed(search, kept, tried))) {
      victims.resize(victims.size() - stride);
      stride *= 2;
      continue;
    }
    for (JobId id : tried) trial.evict(id);
    if (stride == 1) {
      needed.push_back(victims.back());
      victims.pop_back();
    }
    stride = std::max<size_t>(stride / 2, 1);
  }
  victims.assign(needed.rbegin(), needed.rend());
  if (had_rivals && !has_rival(search, victims)) spare_the_unneeded(search, victims);
}

}  // namespace

std::vector<JobId> find_victims(VictimSearch& search, const NextVictim& next) {
  Trial& trial = search.session.trial;
  const Trial::Mark mark = trial.mark();
  std::vector<JobId> victims;
  std::optional<JobId> first_rival;
  bool enough = false, has_rivals = false;
  for (size_t stride = 1; !enough; stride *= 2) {
    const size_t before = victims.size();
    for (size_t i = 0; i < stride; ++i) {
      const auto victim = first_rival ? std::exchange(first_rival, std::nullopt) : next();
      if (!victim) break;
      if (!has_rivals && is_rival(search, *victim)) {
        has_rivals = true;
        first_rival = victim;
        break;
      }
      trial.evict(*victim);
      victims.push_back(*victim);
    }
    if (victims.size() == before && !first_rival) break;
    enough = victims.size() > before && is_enough(search, has_rivals && !first_rival);
  }
  if (enough) {
    spare_the_unneeded(search, victims);
    return victims;
  }
  search.is_beyond = has_rivals && fits(search.session, search.served, search.partition);
  trial.rollback(mark);
  return {};
}

NextVictim one_after_the_other(const std::vector<JobId>& list) {
  return [&list, at = size_t{0}]() mutable { return at < list.size() ? std::optional(list[at++]) : std::nullopt; };
}

bool is_of_use(Session& session, const Served& served, const Candidate& candidate, const PartitionFacts& partition,
               const std::optional<Binding>& limited) {
  const PendingJob& running = *session.view.running().at(candidate.job);
  if (!is_preemptible(session, candidate.job, running)) return false;
  const Capacity& capacity = session.capacity();
  const QuotaTree& tree = session.quotas().tree();
  const uint32_t leaf = tree.leaf_of(running.qos);
  const Time started = candidate.gang ? capacity.holdings().at(candidate.gang).started : candidate.started;
  if (const Time free_from = started + tree.qos(leaf).min_runtime; session.now < free_from) {
    session.change_at(free_from);
    return false;
  }
  const bool is_limited = limited && (!limited->is_of_user || running.uid == served.job.uid);
  if (is_limited && tree.common(leaf, limited->side) == limited->side) return true;
  const NodeIndex& index = *capacity.index(partition.name);
  const NodeFilter filter(served.job.request, partition);
  const auto& exactly = served.job.request.exactly;
  const auto is_elsewhere = [&](NodeId id) {
    return std::none_of(exactly.begin(), exactly.end(), [&](const auto& share) { return share.node == id; });
  };
  for (JobId part : session.trial.parts_left(candidate.job)) {
    for (NodeId id : capacity.holdings().at(part).nodes) {
      const NodeAccount* node = capacity.node(id);
      if (!exactly.empty() && is_elsewhere(id)) continue;
      if (node != nullptr && index.position(id) != UINT32_MAX &&
          !filter.failed_static_filter(node->facts, *node->node_class))
        return true;
    }
  }
  return false;
}

bool fits_soon(Session& session, const Served& served, const PartitionFacts& partition) {
  const Trial::Mark mark = session.trial.mark();
  for (JobId part : session.victims.leaving(session))
    if (!session.trial.is_evicted(part)) session.trial.let_leave(part);
  if (session.trial.mark() == mark) return false;
  const bool is_enough = fits(session, served, partition);
  session.trial.rollback(mark);
  return is_enough;
}

Duration grace_of(const Session& session, JobId victim) {
  const QuotaTree& tree = session.quotas().tree();
  if (const auto& grace = tree.qos(tree.leaf_of(session.view.running().at(victim)->qos)).grace) return *grace;
  const PartitionFacts* partition = session.capacity().partition(session.trial.holding_of(victim).partition);
  return partition != nullptr && partition->grace ? *partition->grace : session.view.policy().grace;
}

}  // namespace gw::sched
