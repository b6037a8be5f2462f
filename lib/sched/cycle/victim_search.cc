// See victim_search.h.
#include "sched/cycle/victim_search.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "sched/ledger/node_index.h"
#include "sched/place/node_filter.h"

namespace gw::sched {
namespace {

/// So many jobs that are evicted on trial count as much as a request that is held against the nodes.
constexpr size_t kEvictedInAStep = 2;
/// Likewise so many of which it is looked at what they would leave on their nodes.
constexpr size_t kNamedInAStep = 8;

/// From the last on each is spared if the job still fits without it. Where a whole stride can be spared, so can each of
/// it in turn. `only`: it is to fit on these nodes; null: anywhere.
void spare_the_unneeded(const VictimSearch& search, std::vector<JobId>& victims,
                        const std::vector<NodeId>* only = nullptr) {
  Trial& trial = search.session.trial;
  std::vector<JobId> needed;
  for (size_t stride = 1; !victims.empty();) {
    stride = std::min(stride, victims.size());
    const std::vector<JobId> tried(victims.end() - static_cast<ptrdiff_t>(stride), victims.end());
    for (JobId id : tried) trial.spare(id);
    const bool may_stay = std::all_of(tried.begin(), tried.end(), [&trial](JobId id) { return trial.may_stay(id); });
    if (may_stay && fits(search.session, search.served, search.partition, only)) {
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

/// Which nodes could hold a part of the served job once those that were named have left them. Nobody is evicted for
/// that. What it says of the amounts is no more than there could be: whether the job fits is for others to say.
class Clearing {
 public:
  explicit Clearing(const VictimSearch& search)
      : trial_(search.session.trial),
        capacity_(search.session.capacity()),
        index_(*capacity_.index(search.partition.name)),
        filter_(search.served.job.request, search.partition),
        is_one_node_(filter_.is_one_node()),
        least_nodes_(std::max(search.served.job.request.min_nodes, 1U)),
        needs_gpus_(filter_.is_shared() ? 0 : (*search.served.amounts)[kGpu] / model::kWholeGpu),
        needs_on_node_(least_gpus_on_node()) {
    for (const auto& [state, group] : index_.groups()) {
      if (!could_hold(*group.sample, group.sample->free)) continue;
      nodes_ += group.nodes.count();
      gpus_ += uint64_t{group.nodes.count()} * filter_.count_gpus(*group.sample->node_class, group.sample->free);
    }
  }

  /// It would leave. Those who are to be evicted now: whoever stands on a node that could hold a part then.
  std::vector<JobId> add(JobId victim) {
    leaving_.insert(victim);
    std::vector<JobId> out;
    for (const JobId part : trial_.parts_left(victim)) {
      if (part != victim) leaving_.insert(part);
      for (const NodeId id : capacity_.holdings().at(part).nodes) look_at(id, part, victim, out);
    }
    return out;
  }
  /// Are there so many such nodes, with so many GPUs in all, that it may be enough?
  bool may_be_enough() const { return nodes_ >= least_nodes_ && gpus_ >= needs_gpus_; }

 private:
  struct Node {
    uint64_t freed = 0;  // GPUs, by those who were named
    uint64_t gpus = 0;   // that are counted of it
    bool is_counted = false;
    std::vector<JobId> waiting;  // named, but not evicted, since it could not hold a part
  };
  const Trial& trial_;
  const Capacity& capacity_;
  const NodeIndex& index_;
  const NodeFilter filter_;
  const bool is_one_node_;
  const uint64_t least_nodes_, needs_gpus_, needs_on_node_;
  uint64_t nodes_ = 0, gpus_ = 0;  // that could hold a part, and their GPUs
  std::unordered_set<JobId> leaving_;
  std::unordered_map<NodeId, Node> by_id_;

  bool could_hold(const NodeAccount& account, const FreeResources& room) const {
    if (!account.facts.usable || filter_.failed_static_filter(account.facts, *account.node_class)) return false;
    return is_one_node_ ? !filter_.failed_filter(account, room, filter_.all_tasks(1), filter_.all_gpus())
                        : !filter_.failed_filter(account, room, filter_.least_tasks());
  }

  uint64_t least_gpus_on_node() const {
    if (filter_.is_shared()) return 0;
    if (!is_one_node_) return filter_.least_gpus();
    return filter_.all_gpus() != UINT32_MAX ? filter_.all_gpus() : filter_.gpus_for(filter_.all_tasks(1), UINT32_MAX);
  }

  void look_at(NodeId id, JobId part, JobId victim, std::vector<JobId>& out) {
    const NodeAccount* account = capacity_.node(id);
    if (account == nullptr || index_.position(id) == UINT32_MAX) return;
    const auto [known, is_new] = by_id_.try_emplace(id);
    Node& node = known->second;
    if (is_new && could_hold(*account, account->free)) {
      node.is_counted = true;
      node.gpus = filter_.count_gpus(*account->node_class, account->free);
    }
    node.waiting.push_back(victim);
    for (const Occupant& there : account->occupants)
      if (there.job == part) node.freed += there.gpus.size();
    if (account->free.gpus.size() + node.freed < needs_on_node_) return;  // which spares most of the work
    const FreeResources room = Capacity::free_without(*account, [this](JobId job) { return leaving_.contains(job); });
    if (!could_hold(*account, room)) return;
    const uint64_t gpus = filter_.count_gpus(*account->node_class, room);
    nodes_ += node.is_counted ? 0 : 1;
    gpus_ += gpus - std::min(gpus, node.gpus);
    node.is_counted = true;
    node.gpus = std::max(gpus, node.gpus);
    out.insert(out.end(), node.waiting.begin(), node.waiting.end());
    node.waiting.clear();
  }
};

/// The job fits: whoever is on none of the nodes where it does stays, and of the others who is not needed.
void spare_beside_the_place(const VictimSearch& search, std::vector<JobId>& victims) {
  Trial& trial = search.session.trial;
  const auto place = place_now(search.session, search.served, search.partition);
  std::vector<NodeId> nodes;
  for (size_t i = 0; place && i < place->shares.size(); ++i) nodes.push_back(place->shares[i].node);
  const std::set<NodeId> there(nodes.begin(), nodes.end());
  const auto is_there = [&](JobId victim) {
    const std::vector<JobId> parts = trial.evicted_with(victim);
    return std::any_of(parts.begin(), parts.end(), [&](JobId part) {
      const std::vector<NodeId>& on = trial.holding_of(part).nodes;
      return std::any_of(on.begin(), on.end(), [&](NodeId node) { return there.contains(node); });
    });
  };
  const Trial::Mark mark = trial.mark();
  std::vector<JobId> left;
  for (const JobId victim : victims) {
    if (is_there(victim))
      left.push_back(victim);
    else
      trial.spare(victim);
  }
  if (fits(search.session, search.served, search.partition, &nodes)) {
    victims = std::move(left);
    spare_the_unneeded(search, victims, &nodes);
  } else {
    trial.rollback(mark);  // others are needed for a quota
  }
  spare_the_unneeded(search, victims);  // another place may do with fewer
}

}  // namespace

std::optional<std::vector<JobId>> find_victims_by_node(VictimSearch& search, const NextVictim& next) {
  Session& session = search.session;
  const Trial::Mark mark = session.trial.mark();
  Clearing clearing(search);
  std::unordered_map<JobId, size_t> places;  // in the order in which they were named
  std::vector<JobId> victims;
  std::unordered_set<JobId> evicted;
  size_t tried = 0;  // so many were evicted when it was last tried whether the job fits
  bool is_bound = false;
  const auto fits_now = [&] {
    tried = victims.size();
    const auto amounts = given(session, search.served, search.partition);
    const bool has_place = amounts && !binding_of(session, search.served, *amounts);
    is_bound |= amounts && !has_place;
    return has_place;
  };
  bool is_found = false;
  for (auto victim = next(); victim && !is_found; victim = is_found ? std::nullopt : next()) {
    places.try_emplace(*victim, places.size());
    if (places.size() % kNamedInAStep == 0) ++session.plan.placements;
    for (const JobId job : clearing.add(*victim)) {
      if (!evicted.insert(job).second) continue;
      session.trial.evict(job);
      victims.push_back(job);
      if (victims.size() % kEvictedInAStep == 0) ++session.plan.placements;
    }
    // In growing strides from the first time on, since each try looks at all nodes.
    const bool is_due = victims.size() > tried && (tried == 0 || victims.size() >= 2 * tried);
    is_found = is_due && clearing.may_be_enough() && fits_now();
  }
  if (!is_found && victims.size() > tried && clearing.may_be_enough()) is_found = fits_now();
  if (!is_found) {
    session.trial.rollback(mark);
    return is_bound ? std::nullopt : std::optional(std::vector<JobId>());
  }
  std::sort(victims.begin(), victims.end(), [&](JobId a, JobId b) { return places.at(a) < places.at(b); });
  spare_beside_the_place(search, victims);
  return victims;
}

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
      if (victims.size() % kEvictedInAStep == 0) ++search.session.plan.placements;
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
