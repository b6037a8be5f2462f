// See victim_search.h.
#include "sched/cycle/victim_search.h"

#include <algorithm>
#include <utility>

#include "sched/ledger/node_index.h"
#include "sched/place/node_filter.h"

namespace gw::sched {
namespace {

/// From the last on each is spared if the job still fits without it. Where a whole stride can be spared, so can each of
/// it in turn.
void spare_the_unneeded(const VictimSearch& search, std::vector<JobId>& victims) {
  Trial& trial = search.session.trial;
  std::vector<JobId> needed;
  for (size_t stride = 1; !victims.empty();) {
    stride = std::min(stride, victims.size());
    const std::vector<JobId> tried(victims.end() - static_cast<ptrdiff_t>(stride), victims.end());
    for (JobId id : tried) trial.spare(id);
    const bool may_stay = std::all_of(tried.begin(), tried.end(), [&trial](JobId id) { return trial.may_stay(id); });
    if (may_stay && fits(search.session, search.served, search.partition)) {
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
}

}  // namespace

std::vector<JobId> find_victims(VictimSearch& search, const NextVictim& next) {
  Trial& trial = search.session.trial;
  const Trial::Mark mark = trial.mark();
  std::vector<JobId> victims;
  for (size_t stride = 1;; stride *= 2) {
    const size_t before = victims.size();
    for (size_t i = 0; i < stride; ++i) {
      const auto victim = next();
      if (!victim) break;
      trial.evict(*victim);
      victims.push_back(*victim);
    }
    if (victims.size() == before) break;
    if (fits(search.session, search.served, search.partition)) {
      spare_the_unneeded(search, victims);
      return victims;
    }
  }
  trial.rollback(mark);
  return {};
}

NextVictim one_after_the_other(const std::vector<JobId>& list) {
  return [&list, at = size_t{0}]() mutable { return at < list.size() ? std::optional(list[at++]) : std::nullopt; };
}

bool is_ripe(Session& session, const Candidate& candidate) {
  if (!is_preemptible(session, candidate.job, *session.view.running().at(candidate.job))) return false;
  const Time started = candidate.gang ? session.capacity().holdings().at(candidate.gang).started : candidate.started;
  const Time free_from = started + session.quotas().tree().qos(candidate.leaf).min_runtime;
  if (session.now >= free_from) return true;
  session.change_at(free_from);
  return false;
}

namespace {

/// Does it hold something on a node that could serve a request in one of the partitions?
bool is_in_way(const Session& session, const model::Request& request, const PartitionFacts& partition,
               const Candidate& candidate) {
  const Capacity& capacity = session.capacity();
  const NodeIndex& index = *capacity.index(partition.name);
  const NodeFilter filter(request, partition);
  const auto& exactly = request.exactly;
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

}  // namespace

bool is_of_use(Session& session, const Served& served, const Candidate& candidate, const PartitionFacts& partition) {
  if (!is_ripe(session, candidate)) return false;
  if (is_in_way(session, served.job.request, partition, candidate)) return true;
  const auto& parts = served.job.components;
  return std::any_of(parts.begin(), parts.end(), [&](const Component& part) {
    return std::any_of(part.partitions.begin(), part.partitions.end(), [&](const std::string& name) {
      const PartitionFacts* p = session.capacity().partition(name);
      return p != nullptr && is_in_way(session, part.request, *p, candidate);
    });
  });
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
