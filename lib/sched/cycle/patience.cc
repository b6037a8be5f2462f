// See patience.h.
#include "sched/cycle/patience.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "sched/cycle/lend.h"
#include "sched/place/node_filter.h"

namespace gw::sched {
namespace {

/// In one pass: each costs a look at all nodes of a partition, and what is gathered stands idle.
constexpr size_t kMostGathered = 4;
/// Later ones are noticed when something else happens: one that can never start would wake the scheduler for ever.
constexpr int64_t kTurnsToWakeFor = 8;
/// Of the patience, so many times: who has run for longer without an end is not waited for. Lifetimes of jobs are
/// heavy-tailed, so whoever has run for weeks goes on for weeks, and what is gathered would stand idle until then.
constexpr int64_t kTimesToAwait = 4;

/// Is it likely that who runs there leaves soon enough?
bool will_leave(const Session& session, const Occupant& occupant, Duration most) {
  if (occupant.end != Time::never()) return occupant.end <= session.now + most;
  const auto holding = session.capacity().holdings().find(occupant.job);
  return holding == session.capacity().holdings().end() || session.now <= holding->second.started + most;
}

/// Nodes of the partition that could be part of the gang some time, the emptiest first: what is gathered only becomes
/// emptier, so the next pass finds the same.
std::vector<const NodeAccount*> by_emptiness(const Session& session, const Served& served,
                                             const PartitionFacts& partition) {
  const NodeFilter filter(served.job.request, partition);
  std::vector<const NodeAccount*> out;
  for (NodeId id : session.capacity().partition_nodes(partition.name)) {
    const NodeAccount* node = session.capacity().node(id);
    if (node != nullptr && node->facts.usable && node->node_class != nullptr &&
        !filter.failed_static_filter(node->facts, *node->node_class))
      out.push_back(node);
  }
  const auto rank = [](const NodeAccount* node) {
    return std::tuple(-int64_t{node->free.gpus.size()}, -int64_t{node->free.cores.size()}, node->facts.id);
  };
  std::stable_sort(out.begin(), out.end(), [&](const auto* a, const auto* b) { return rank(a) < rank(b); });
  return out;
}

/// Whoever was told to go counts no longer.
void make_leave(Session& session, JobId part) {
  const QuotaLedger::Holder* holder = session.view.quota().holder(part);
  if (holder == nullptr || session.trial.is_evicted(part)) return;
  if (holder->is_leaving || session.preempted.contains(part))
    session.trial.let_leave(part);
  else if (session.view.running().contains(part))
    session.trial.evict(part);
}

/// In strides that grow: whether the job fits is asked after the first node, the next two, the next four.
bool empty_until_fits(Session& session, const Served& served, const PartitionFacts& partition) {
  const std::vector<const NodeAccount*> nodes = by_emptiness(session, served, partition);
  const Duration most = patience_of(session.view, served.leaf) * kTimesToAwait;
  size_t next_try = 1;
  for (size_t i = 0; i < nodes.size(); ++i) {
    std::vector<JobId> there;
    for (const Occupant& occupant : nodes[i]->occupants)
      if (will_leave(session, occupant, most)) there.push_back(occupant.job);
    for (JobId part : there) make_leave(session, part);
    if (i + 1 < next_try && i + 1 < nodes.size()) continue;
    if (fits(session, served, partition)) return true;
    next_try = 2 * (i + 1);
  }
  return false;
}

std::optional<model::Allocation> find_nodes(Session& session, const Served& served, const PartitionFacts& partition) {
  const Trial::Mark mark = session.trial.mark();
  std::optional<model::Allocation> out;
  (void)evict_lent(session, served);  // nodes that are lent are no fuller for it
  if (empty_until_fits(session, served, partition)) {
    const auto options = options_for(session, served, served.job, partition, served.job.time_limit);
    if (options) out = session.place(partition, served.job.request, *options).allocation;
  }
  session.trial.rollback(mark);
  return out;
}

}  // namespace

bool has_lost_patience(Session& session, const Served& served) {
  const Duration patience = patience_of(session.view, served.leaf);
  const Time since = waits_since(served.job);
  if (patience.us <= 0 || !since) return false;
  const Time when = since + patience;
  if (session.now < when) return session.change_at(when), false;
  const int64_t turns = (session.now - when).us / patience.us;
  if (turns < kTurnsToWakeFor) session.change_at(when + patience * (turns + 1));
  return turns % 2 == 0;
}

bool exceeds_its_share(const Session& session, uint32_t leaf, const Quantities& amounts) {
  const Quotas& quotas = session.quotas();
  for (uint32_t q = leaf; q != 0 && q != kNoQos; q = quotas.tree().qos(q).parent)
    if (!quotas.could_stay_within(q, amounts, Reclaim::kFairShare)) return true;
  return false;
}

bool has_had_its_part(const Session& session, uint32_t leaf) {
  const Quotas& quotas = session.quotas();
  const QuotaTree& tree = quotas.tree();
  const Past& past = session.view.quota().past();
  for (uint32_t q = leaf; q != 0 && q != kNoQos; q = tree.qos(q).parent) {
    if (quotas.standing(q, tree.none()) == Standing::kBorrowing) return true;
    if (past.used.empty()) continue;
    double weights = 0, used = 0;
    for (uint32_t child : tree.qos(tree.qos(q).parent).children) {
      weights += tree.qos(child).weight;
      used += static_cast<double>(past.used[child]);
    }
    if (static_cast<double>(past.used[q]) * weights > used * tree.qos(q).weight) return true;
  }
  return false;
}

std::vector<ClassHead> take_impatient(Session& session, std::vector<ClassHead>& heads,
                                      const std::function<Served(const ClassHead&)>& served) {
  std::map<uint32_t, std::pair<Time, size_t>> first;  // by leaf
  if (session.quotas().tree().is_flat()) return {};
  for (size_t i = 0; i < heads.size(); ++i) {
    const uint32_t leaf = heads[i].leaf;
    if (!exceeds_its_share(session, leaf, *heads[i].amounts) || has_had_its_part(session, leaf)) continue;
    const Served one = served(heads[i]);
    if (!has_lost_patience(session, one)) continue;
    const auto [it, is_new] = first.try_emplace(leaf, waits_since(one.job), i);
    if (!is_new) it->second = std::min(it->second, std::pair(waits_since(one.job), i));
  }
  std::vector<std::pair<Time, size_t>> order;
  for (const auto& [leaf, one] : first) order.push_back(one);
  std::sort(order.begin(), order.end());
  std::vector<ClassHead> out;
  for (const auto& [since, i] : order) out.push_back(heads[i]);
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  for (const auto& [since, i] : order) heads.erase(heads.begin() + static_cast<ptrdiff_t>(i));
  return out;
}

bool gather_nodes(Session& session, const Served& served) {
  if (!served.job.components.empty() || session.backfill.count_gathered() > kMostGathered) return false;
  for (const std::string& name : served.job.partitions) {
    if (!is_open(session, served, name)) continue;
    auto allocation = find_nodes(session, served, *session.capacity().partition(name));
    if (!allocation) continue;
    session.plan.gathered.push_back(PlannedStart{served.job.id, name, Time{}, allocation->node_names()});
    session.backfill.keep(served.job, FutureStart{session.now, std::move(*allocation)}, served.is_guaranteed);
    if (served.is_guaranteed) offer_gathered(session, served);
    return true;
  }
  return false;
}

}  // namespace gw::sched
