// Placement of one gang. A gang of one goes straight to the node where it does least damage; a larger one picks a
// domain of the network and nodes within it; tasks and GPUs are dealt out, and each node's cores, GPUs and memory
// chosen.
#include "sched/place/place.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>

#include "sched/place/feasible_nodes.h"
#include "sched/place/neighbours.h"
#include "sched/place/resume.h"
#include "sched/units/unit_table.h"

namespace gw::sched {
namespace {

using model::Fit;
using model::GpuCounting;
using model::Locality;
using model::NodeShare;
using model::Request;

/// What speaks for a group, best first: small is good.
struct Merit {
  bool not_required = false;
  uint32_t weight = 0;
  Locality level = Locality::kGpu;
  double score = 0;     ///< Turned round: of the policy that says so itself.
  int64_t harm = 0;     ///< Growth of fragmentation.
  uint32_t spared = 0;  ///< GPUs of a node that the job would not use: jobs without GPUs keep off.
  int64_t gpus = 0, cores = 0, mem_mb = 0;
  uint32_t position = 0;
  auto tie() const {
    return std::tuple(not_required, weight, spared, level, score, harm, gpus, cores, mem_mb, position);
  }
  bool operator<(const Merit& o) const { return tie() < o.tie(); }
};

class Placer {
 public:
  Placer(const Capacity& capacity, const PartitionFacts& partition, const Request& request,
         const PlacementOptions& options)
      : partition_(partition),
        request_(request),
        options_(options),
        filter_(request, partition, std::min(options.level, Locality::kNode)),
        groups_(capacity, partition, filter_, options) {}

  Placement run();

 private:
  const PartitionFacts& partition_;
  const Request& request_;
  const PlacementOptions& options_;
  const NodeFilter filter_;
  FeasibleNodes groups_;
  std::vector<FeasibleGroup> all_;        // filled for gangs of several nodes
  std::vector<FeasibleGroup*> by_merit_;  // of all_
  std::optional<Neighbours> neighbours_;  // of all_, where they are asked for

  uint32_t all_tasks(uint32_t nodes) const { return filter_.all_tasks(nodes); }
  Merit merit(const FeasibleGroup& group, uint32_t tasks, uint32_t gpus) const;
  bool looks_at_fragmentation() const;
  NodeOffer offer(const FeasibleGroup& group, uint32_t tasks, uint32_t gpus) const;
  int64_t harm(const FeasibleGroup& group, uint32_t tasks, uint32_t gpus) const;
  int64_t harm_on(const FeasibleGroup& group, uint32_t tasks, uint32_t gpus, uint32_t gpu) const;
  Leftover after(const FeasibleGroup& group, uint32_t tasks, uint32_t gpus, uint32_t gpu,
                 std::vector<SharedGpu>& shared) const;
  std::optional<model::Allocation> place_single();
  std::optional<model::Allocation> place_gang();
  std::optional<std::vector<Pick>> pick_in_network();
  std::optional<std::vector<Pick>> pick_at_level(uint32_t level, uint32_t nodes);
  std::optional<std::vector<Pick>> pick_over_switches(uint32_t nodes);
  std::optional<std::vector<Pick>> pick_segments(uint32_t nodes);
  std::optional<std::vector<Pick>> pick(const Range& range, uint32_t nodes) const;
  struct Levels {
    uint32_t top = 0, widest = 0;
  };
  Levels levels() const;
  void look_at_neighbours();
  std::vector<Range> widest_ranges() const;
  void rule_out_lonely(Diagnosis& diagnosis) const;
  std::vector<Pick> first_of(const std::vector<const FeasibleGroup*>& order, const Range& range, uint32_t nodes) const;
  bool holds(const std::vector<Pick>& picks) const;
  bool holds(const Sums& sums, uint32_t nodes) const;
  /// Tasks, and GPUs, of each of the picks.
  struct Dealt {
    std::vector<uint32_t> tasks, gpus;
  };
  /// nullopt: a node cannot hold its part. The first nodes get most, if they can hold it.
  std::optional<Dealt> deal_out(const std::vector<Pick>& picks) const;
  std::optional<Dealt> deal_out(const std::vector<Pick>& picks, bool even_tasks, bool even_gpus) const;
  /// What a node has of cores, memory and GPUs may be enough for each, and not for all that would be dealt to it.
  bool can_be_dealt(const std::vector<Pick>& picks) const { return holds(picks) && deal_out(picks).has_value(); }
  uint32_t fewest_nodes(const Range& range) const;
  std::vector<uint32_t> sizes() const;
  std::vector<uint32_t> domains_at(uint32_t level, uint32_t nodes) const;
  std::vector<uint32_t> deal(const std::vector<uint32_t>& most, uint32_t amount, bool even) const;
  FeasibleGroup of_node(const Pick& pick) const;
  std::optional<model::Allocation> allocate(const std::vector<Pick>& picks) const;
  NodeShare share(const FeasibleGroup& group, uint32_t tasks, uint32_t gpus) const;
  void choose_gpus(const FeasibleGroup& group, uint32_t tasks, uint32_t gpus, NodeShare& out) const;
  base::IndexSet choose_cores(const FeasibleGroup& group, uint32_t tasks, uint32_t count, const base::IndexSet& gpus,
                              const base::IndexSet& other_gpus) const;
  uint32_t shared_gpu(const FeasibleGroup& group, uint32_t tasks) const;
};

/// Free GPUs of a room after this job's part of it; on a shared GPU `gpu`.
Leftover Placer::after(const FeasibleGroup& group, uint32_t tasks, uint32_t gpus, uint32_t gpu,
                       std::vector<SharedGpu>& shared) const {
  const NodeClass& node_class = *group.account->node_class;
  const FreeResources& free = *group.free;
  const uint32_t cpus = filter_.cpus_for(node_class, tasks, gpus), free_cpus = free.cores.size() * node_class.threads;
  const uint64_t mem = filter_.mem_for(group.account->facts, node_class, tasks, cpus, gpus);
  Leftover out{free.gpus.size(), nullptr, 0, free_cpus - std::min(free_cpus, cpus),
               free.mem_mb - std::min(free.mem_mb, mem)};
  shared = free.shared;
  if (!filter_.is_shared()) {
    out.whole -= std::min(out.whole, gpus);
  } else if (const auto it = std::find_if(shared.begin(), shared.end(), [&](const auto& s) { return s.gpu == gpu; });
             it != shared.end()) {
    it->left -= request_.gpu_milli;
  } else {
    --out.whole;
    shared.push_back({gpu, model::kWholeGpu - request_.gpu_milli});
  }
  out.shared = shared.data();
  out.shared_count = shared.size();
  return out;
}

bool Placer::looks_at_fragmentation() const {
  return options_.workload != nullptr && options_.workload->total() > 0 && options_.score == nullptr &&
         (options_.fit == Fit::kBest || options_.fit == Fit::kDefault);
}

/// How much more of the free GPUs the usual jobs cannot use afterwards, one of them or many, in 1/64 thousandths.
int64_t Placer::harm(const FeasibleGroup& group, uint32_t tasks, uint32_t gpus) const {
  if (!looks_at_fragmentation() || group.account->node_class->gpus == 0) return 0;
  const uint32_t gpu = filter_.is_shared() ? shared_gpu(group, tasks) : UINT32_MAX;
  return harm_on(group, tasks, gpus, gpu);
}

int64_t Placer::harm_on(const FeasibleGroup& group, uint32_t tasks, uint32_t gpus, uint32_t gpu) const {
  std::vector<SharedGpu> shared;
  const Leftover left = after(group, tasks, gpus, gpu, shared);
  const Leftover before = leftover_of(*group.account, *group.free);
  const auto cost = [&](const Leftover& l) {
    return fragmented_milli(*options_.workload, *group.account, l) +
           stranded_milli(*options_.workload, *group.account, l);
  };
  return std::llround(64 * (cost(left) - cost(before)));
}

NodeOffer Placer::offer(const FeasibleGroup& group, uint32_t tasks, uint32_t gpus) const {
  const NodeAccount& a = *group.account;
  const NodeClass& kind = *a.node_class;
  const auto parts = [&](uint64_t milli, uint64_t threads, uint64_t mem_mb) {
    const auto of = [](uint64_t some, uint64_t all) {
      return all > 0 ? static_cast<double>(some) / static_cast<double>(all) : 0;
    };
    return ResourceParts{of(milli, uint64_t{kind.gpus} * model::kWholeGpu),
                         of(threads, uint64_t{kind.cores} * kind.threads), of(mem_mb, a.facts.mem_mb)};
  };
  const uint32_t cpus = filter_.cpus_for(kind, tasks, gpus);
  const uint64_t each = filter_.is_shared() ? request_.gpu_milli : model::kWholeGpu;
  const FreeResources& free = *group.free;
  uint64_t free_milli = uint64_t{free.gpus.size()} * model::kWholeGpu;
  for (const SharedGpu& shared : free.shared) free_milli += shared.left;
  return {parts(gpus * each, cpus, filter_.mem_for(a.facts, kind, tasks, cpus, gpus)),
          parts(free_milli, uint64_t{free.cores.size()} * kind.threads, free.mem_mb)};
}

Merit Placer::merit(const FeasibleGroup& group, uint32_t tasks, uint32_t gpus) const {
  const NodeAccount& a = *group.account;
  Merit m;
  m.not_required = !group.required;
  m.weight = a.facts.weight;
  m.spared = request_.gpus == 0 ? a.node_class->gpus : 0;
  m.level = filter_.level_of(*a.node_class, *group.free, gpus);
  if (options_.score != nullptr) {
    const double score = options_.score->node_score(offer(group, tasks, gpus));
    m.score = std::isnan(score) ? std::numeric_limits<double>::infinity() : -score;
  }
  m.harm = harm(group, tasks, gpus);
  const int64_t sign = options_.fit == Fit::kBest || options_.fit == Fit::kDefault ? 1 : -1;
  m.gpus = options_.fit == Fit::kSpread ? a.jobs() : sign * group.free->gpus.size();
  m.cores = sign * group.free->cores.size();
  m.mem_mb = sign * static_cast<int64_t>(group.free->mem_mb);
  m.position = group.next(0);
  return m;
}

std::optional<model::Allocation> Placer::place_single() {
  const uint32_t tasks = all_tasks(1);
  const uint32_t asked = filter_.all_gpus();
  std::optional<FeasibleGroup> best;
  Merit best_merit;
  uint32_t seen = 0;
  // Groups come fullest first, so a few good ones are enough; jobs without GPUs have to see them all to spare GPU
  // nodes.
  const bool can_stop = options_.score == nullptr && options_.candidates > 0 && request_.gpus > 0 &&
                        options_.against == Against::kNow && !groups_.asks_each_node();
  groups_.each(options_.fit == Fit::kBest || options_.fit == Fit::kDefault, [&](FeasibleGroup group) {
    if (filter_.failed_filter(*group.account, *group.free, tasks, asked)) return true;
    const Merit m = merit(group, tasks, asked == UINT32_MAX ? filter_.gpus_for(tasks, group.free->gpus.size()) : asked);
    if (!best || m < best_merit) {
      best = group;
      best_merit = m;
    }
    groups_.stop_after_weight = std::min(groups_.stop_after_weight, best_merit.weight);
    return !can_stop || ++seen < options_.candidates;
  });
  if (!best) return std::nullopt;
  if (!request_.nodelist.empty() && !best->required) return std::nullopt;
  return allocate({Pick{&*best, best->next(0)}});
}

bool Placer::holds(const std::vector<Pick>& picks) const {
  Sums sums;
  for (const Pick& p : picks) sums.add(p);
  return holds(sums, static_cast<uint32_t>(picks.size()));
}

bool Placer::holds(const Sums& sums, uint32_t nodes) const {
  return sums.required == request_.nodelist.size() && sums.tasks >= all_tasks(nodes) &&
         (request_.gpu_counting != GpuCounting::kPerJob || sums.gpus >= request_.gpus);
}

std::vector<Pick> Placer::first_of(const std::vector<const FeasibleGroup*>& order, const Range& range,
                                   uint32_t nodes) const {
  std::vector<Pick> out;
  out.reserve(nodes);
  for (const FeasibleGroup* group : order) {
    for (uint32_t p = group->next(range.first); p < range.last; p = group->next(p + 1)) {
      if (out.size() == nodes) return out;
      out.push_back({group, p});
    }
  }
  return out;
}

/// `nodes` nodes of the range that together hold the gang: the best by merit if they do, else the roomiest.
std::optional<std::vector<Pick>> Placer::pick(const Range& range, uint32_t nodes) const {
  if (nodes == 0) return std::nullopt;
  if (neighbours_) return neighbours_->pick(range, nodes);
  const uint32_t tasks_each = (all_tasks(nodes) + nodes - 1) / nodes;
  const uint32_t gpus_each = request_.gpu_counting == GpuCounting::kPerJob ? (request_.gpus + nodes - 1) / nodes : 0;
  std::vector<const FeasibleGroup*> even(by_merit_.begin(), by_merit_.end());
  std::erase_if(
      even, [&](const FeasibleGroup* l) { return !l->required && (l->max_tasks < tasks_each || l->gpus < gpus_each); });
  std::vector<Pick> picks = first_of(even, range, nodes);
  if (picks.size() == nodes && can_be_dealt(picks)) return picks;
  std::vector<const FeasibleGroup*> by_size(by_merit_.begin(), by_merit_.end());
  const bool by_gpus = request_.gpu_counting == GpuCounting::kPerJob;
  std::stable_sort(by_size.begin(), by_size.end(), [&](const FeasibleGroup* a, const FeasibleGroup* b) {
    const auto key = [&](const FeasibleGroup* l) {
      return std::tuple(!l->required, by_gpus ? ~l->gpus : 0, ~l->max_tasks);
    };
    return key(a) < key(b);
  });
  picks = first_of(by_size, range, nodes);
  if (picks.size() == nodes && can_be_dealt(picks)) return picks;
  return std::nullopt;
}

/// Fewest nodes of the range that hold the gang; UINT32_MAX: all of them do not.
uint32_t Placer::fewest_nodes(const Range& range) const {
  std::vector<const FeasibleGroup*> by_size(by_merit_.begin(), by_merit_.end());
  const bool by_gpus = request_.gpu_counting == GpuCounting::kPerJob;
  std::stable_sort(by_size.begin(), by_size.end(), [&](const FeasibleGroup* a, const FeasibleGroup* b) {
    const auto key = [&](const FeasibleGroup* l) {
      return std::tuple(!l->required, by_gpus ? ~l->gpus : 0, ~l->max_tasks);
    };
    return key(a) < key(b);
  });
  const uint64_t tasks = all_tasks(1), gpus = by_gpus ? request_.gpus : 0;
  uint64_t have_tasks = 0, have_gpus = 0, nodes = 0;
  for (const FeasibleGroup* group : by_size) {
    const uint64_t there = group->count_in(range.first, range.last);
    if (there == 0) continue;
    const auto more = [&](uint64_t filter, uint64_t have, uint64_t each) -> uint64_t {
      return filter <= have ? 0 : (each == 0 ? UINT64_MAX : (filter - have + each - 1) / each);
    };
    const uint64_t take = std::max(more(tasks, have_tasks, group->max_tasks), more(gpus, have_gpus, group->gpus));
    if (take <= there) return static_cast<uint32_t>(std::max<uint64_t>({nodes + take, request_.nodelist.size(), 1}));
    nodes += there;
    have_tasks += there * group->max_tasks;
    have_gpus += there * group->gpus;
  }
  return UINT32_MAX;
}

/// Sizes to try, best first.
std::vector<uint32_t> Placer::sizes() const {
  uint32_t available = 0;
  for (const FeasibleGroup& group : all_) available += group.count_in(0, UINT32_MAX);
  const auto named = static_cast<uint32_t>(request_.nodelist.size());
  const uint32_t least = std::max<uint32_t>({request_.min_nodes, named, 1});
  uint32_t most = request_.nodes_given ? request_.max_nodes : available;
  if (partition_.max_nodes > 0) most = std::min(most, partition_.max_nodes);
  most = std::min(most, available);
  std::vector<uint32_t> out;
  if (neighbours_) {
    const bool is_spread = options_.fit == Fit::kSpread && !request_.nodes_given;
    if (is_spread) most = std::min(most, all_tasks(1));
    const uint32_t nodes = request_.nodes_given || is_spread ? neighbours_->most_nodes(widest_ranges(), least, most)
                                                             : neighbours_->fewest_nodes(widest_ranges(), least, most);
    if (nodes > 0 || least <= 1) out.push_back(std::max(nodes, 1U));  // one alone is near itself, wherever it is
    return out;
  }
  if (request_.nodes_given) {  // as many as there are, up to the maximum
    for (uint32_t n = most; n >= least; --n) out.push_back(n);
    return out;
  }
  // As few as hold it; where kinds of nodes are mixed a few more may be needed.
  const uint32_t fewest = options_.fit == Fit::kSpread ? std::min(most, all_tasks(1)) : fewest_nodes({});
  for (uint32_t n = std::max(fewest, least); n <= most && fewest != UINT32_MAX && out.size() < 4; ++n) out.push_back(n);
  if (!out.empty() && out.back() != most) out.push_back(most);
  return out;
}

/// Domains of a level that have enough nodes, the fullest first.
std::vector<uint32_t> Placer::domains_at(uint32_t level, uint32_t nodes) const {
  const std::vector<Domain>& domains = groups_.index().domains();
  NodeBits fitting;
  for (const FeasibleGroup& group : all_) {
    if (group.nodes != nullptr)
      fitting |= *group.nodes;
    else
      fitting.insert(group.position);
  }
  std::vector<uint32_t> out;
  for (uint32_t d = 0; d < domains.size(); ++d)
    if (domains[d].level == level && fitting.count_in(domains[d].first, domains[d].last) >= nodes) out.push_back(d);
  std::stable_sort(out.begin(), out.end(), [&](uint32_t a, uint32_t b) {
    return std::tuple(domains[a].free_gpus, domains[a].free_cores) <
           std::tuple(domains[b].free_gpus, domains[b].free_cores);
  });
  return out;
}

std::optional<std::vector<Pick>> Placer::pick_at_level(uint32_t level, uint32_t nodes) {
  for (uint32_t d : domains_at(level, nodes)) {
    const Domain& domain = groups_.index().domains()[d];
    if (auto picks = pick({domain.first, domain.last}, nodes)) return picks;
  }
  return std::nullopt;
}

/// At most options_.switches leaves: those that give most nodes first.
std::optional<std::vector<Pick>> Placer::pick_over_switches(uint32_t nodes) {
  const std::vector<Domain>& domains = groups_.index().domains();
  std::vector<std::pair<uint32_t, uint32_t>> leaves;  // nodes there, domain
  for (uint32_t d = 0; d < domains.size(); ++d) {
    if (domains[d].level != 0) continue;
    uint32_t there = 0;
    for (const FeasibleGroup& group : all_) there += group.count_in(domains[d].first, domains[d].last);
    if (there > 0) leaves.emplace_back(there, d);
  }
  std::stable_sort(leaves.begin(), leaves.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<Pick> out;
  for (size_t i = 0; i < leaves.size() && i < options_.switches && out.size() < nodes; ++i) {
    const Domain& leaf = domains[leaves[i].second];
    const std::vector<const FeasibleGroup*> order(by_merit_.begin(), by_merit_.end());
    for (const Pick& p : first_of(order, {leaf.first, leaf.last}, nodes - static_cast<uint32_t>(out.size())))
      out.push_back(p);
  }
  if (out.size() == nodes && can_be_dealt(out)) return out;
  return std::nullopt;
}

/// Groups of `segment` nodes, each within one block; as few blocks as possible, of those the fullest.
std::optional<std::vector<Pick>> Placer::pick_segments(uint32_t nodes) {
  if (nodes % request_.segment != 0) return std::nullopt;
  if (auto picks = pick_at_level(1, nodes)) return picks;
  const std::vector<Domain>& domains = groups_.index().domains();
  const std::vector<const FeasibleGroup*> order(by_merit_.begin(), by_merit_.end());
  std::vector<std::pair<uint32_t, uint32_t>> blocks;  // whole segments there, domain
  for (uint32_t d : domains_at(1, request_.segment)) {
    uint32_t there = 0;
    for (const FeasibleGroup& group : all_) there += group.count_in(domains[d].first, domains[d].last);
    blocks.emplace_back(there / request_.segment, d);
  }
  std::stable_sort(blocks.begin(), blocks.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<Pick> out;
  for (const auto& [segments, d] : blocks) {
    const uint32_t missing = nodes - static_cast<uint32_t>(out.size());
    const uint32_t take = std::min(missing, segments * request_.segment);
    for (const Pick& p : first_of(order, {domains[d].first, domains[d].last}, take)) out.push_back(p);
  }
  if (out.size() == nodes && can_be_dealt(out)) return out;
  return std::nullopt;
}

/// Levels of the network, and which of them is the widest that the gang may be spread over.
Placer::Levels Placer::levels() const {
  Levels out;
  for (const Domain& d : groups_.index().domains()) out.top = std::max(out.top, d.level + 1);
  // Without a network nothing is known of distances: every node counts as near.
  out.widest = out.top + 1;
  if (out.top > 0 && options_.level <= Locality::kBlock) out.widest = options_.level == Locality::kBlock ? 2 : 1;
  return out;
}

/// Within one of them the whole gang has to be, as pick_in_network() looks for it.
std::vector<Range> Placer::widest_ranges() const {
  const auto [top, widest] = levels();
  const uint32_t highest = options_.switches > 0 ? 1 : std::min(widest, top);
  const bool is_anywhere = options_.switches > 0 ? options_.switches > 1 : widest > top;
  if (top == 0 || is_anywhere) return {Range{}};
  std::vector<Range> out;
  for (const Domain& d : groups_.index().domains())
    if (d.level + 1 == std::min(highest, top)) out.push_back({d.first, d.last});
  return out;
}

void Placer::look_at_neighbours() {
  Neighbours::Needs needs;
  needs.tasks = all_tasks(1);
  needs.gpus = request_.gpu_counting == GpuCounting::kPerJob ? request_.gpus : 0;
  needs.required = request_.nodelist.size();
  needs.leaves = levels().top > 0 ? options_.switches : 0;
  neighbours_.emplace(all_, groups_.index(), needs);
}

/// Nodes that could hold a part, but stand in too short a run of such ones.
void Placer::rule_out_lonely(Diagnosis& diagnosis) const {
  if (diagnosis.fitting < diagnosis.needed_nodes) return;  // that says more
  const uint32_t lonely = std::min(diagnosis.fitting, neighbours_->lonely(diagnosis.needed_nodes));
  if (lonely == 0) return;
  diagnosis.ruled_out[BlockerKind::kApart] += lonely;
  diagnosis.fitting -= lonely;
}

std::optional<std::vector<Pick>> Placer::pick_in_network() {
  const auto [top, widest] = levels();
  for (uint32_t nodes : sizes()) {
    if (request_.segment > 1 && top > 1) {
      if (auto picks = pick_segments(nodes)) return picks;
      continue;
    }
    const bool is_alone = nodes == 1;
    const uint32_t highest = options_.switches > 0 ? 1 : std::min(widest, top);
    for (uint32_t level = 0; level < std::min(highest, top) && !is_alone; ++level)
      if (auto picks = pick_at_level(level, nodes)) return picks;
    if (options_.switches > 0 && top > 0 && !is_alone) {
      if (options_.switches > 1)
        if (auto picks = neighbours_ ? pick({}, nodes) : pick_over_switches(nodes)) return picks;
      continue;
    }
    if (widest > top || is_alone)
      if (auto picks = pick({}, nodes)) return picks;
  }
  return std::nullopt;
}

std::optional<model::Allocation> Placer::place_gang() {
  if (all_.empty()) return std::nullopt;
  const auto required = std::count_if(all_.begin(), all_.end(), [](const FeasibleGroup& l) { return l.required; });
  if (static_cast<size_t>(required) != request_.nodelist.size()) return std::nullopt;
  std::vector<std::pair<Merit, FeasibleGroup*>> order;
  for (FeasibleGroup& group : all_) {
    const uint32_t tasks = request_.nodes_given
                               ? std::min(group.max_tasks, (all_tasks(1) + request_.max_nodes - 1) / request_.max_nodes)
                               : group.max_tasks;
    order.emplace_back(merit(group, tasks, std::min(filter_.gpus_for(tasks, group.gpus), group.gpus)), &group);
  }
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  by_merit_.clear();
  for (const auto& [m, group] : order) by_merit_.push_back(group);
  const auto picks = pick_in_network();
  return picks ? allocate(*picks) : std::nullopt;
}

std::vector<uint32_t> Placer::deal(const std::vector<uint32_t>& most, uint32_t amount, bool even) const {
  std::vector<uint32_t> out(most.size(), 0);
  uint32_t left = amount;
  for (size_t i = 0; i < most.size() && left > 0; ++i) {  // one each first: no node of a gang is empty
    if (most[i] == 0) continue;
    out[i] = 1;
    --left;
  }
  while (left > 0) {
    bool progress = false;
    for (size_t i = 0; i < most.size() && left > 0; ++i) {
      const uint32_t step = even ? std::min(1U, most[i] - out[i]) : std::min(left, most[i] - out[i]);
      out[i] += step;
      left -= step;
      progress |= step > 0;
    }
    if (!progress) break;
  }
  return out;
}

/// Which GPU a job that asks for a part of one takes: where fragmentation grows least, then with the least left. A
/// whole one only if it is better than any that is shared already. UINT32_MAX: none.
uint32_t Placer::shared_gpu(const FeasibleGroup& group, uint32_t tasks) const {
  const FreeResources& free = *group.free;
  std::vector<SharedGpu> options;
  for (const SharedGpu& s : free.shared)
    if (s.left >= request_.gpu_milli && !request_.own_gpu) options.push_back(s);
  if (const uint32_t whole = free.gpus.next(0); whole != UINT32_MAX) options.push_back({whole, model::kWholeGpu});
  std::sort(options.begin(), options.end(), [](const SharedGpu& a, const SharedGpu& b) { return a.left < b.left; });
  uint32_t best = options.empty() ? UINT32_MAX : options.front().gpu;
  if (!looks_at_fragmentation() || options.size() < 2) return best;
  int64_t least = INT64_MAX;
  for (const SharedGpu& s : options) {
    const int64_t harm = harm_on(group, tasks, 1, s.gpu);
    if (harm >= least) continue;
    least = harm;
    best = s.gpu;
  }
  return best;
}

void Placer::choose_gpus(const FeasibleGroup& group, uint32_t tasks, uint32_t gpus, NodeShare& out) const {
  if (gpus == 0) return;
  const NodeAccount& account = *group.account;
  const FreeResources& free = *group.free;
  if (filter_.is_shared()) {
    out.gpu_milli = request_.gpu_milli;
    if (const uint32_t gpu = shared_gpu(group, tasks); gpu != UINT32_MAX) out.gpus.insert(gpu);
    return;
  }
  const GpuChoice* choice = account.node_class->units->gpus(filter_.usable_gpus(*account.node_class, free.gpus), gpus);
  if (choice != nullptr) out.gpus = choice->gpus;
}

base::IndexSet Placer::choose_cores(const FeasibleGroup& group, uint32_t tasks, uint32_t count,
                                    const base::IndexSet& gpus, const base::IndexSet& other_gpus) const {
  const NodeClass& node_class = *group.account->node_class;
  const base::IndexSet& free = group.free->cores;
  if (const auto layout = filter_.sockets_of(node_class))
    return node_class.units->cores_of_sockets(free, count, tasks, *layout, gpus, other_gpus);
  return node_class.units->cores(free, count, gpus, other_gpus);
}

NodeShare Placer::share(const FeasibleGroup& group, uint32_t tasks, uint32_t gpus) const {
  const NodeAccount& account = *group.account;
  const FreeResources& free = *group.free;
  NodeShare out;
  out.node = account.facts.id;
  out.name = account.facts.name;
  out.tasks = tasks;
  const uint32_t cpus = filter_.cpus_for(*account.node_class, tasks, gpus);
  if (filter_.is_exclusive()) {
    out.gpus = free.gpus;
    out.cores = free.cores;
  } else {
    choose_gpus(group, tasks, gpus, out);
    base::IndexSet left = free.gpus;
    left -= out.gpus;
    out.cores = choose_cores(group, tasks, cpus / account.node_class->threads, out.gpus, left);
  }
  for (uint32_t c = out.cores.next(0); c != UINT32_MAX; c = out.cores.next(c + 1))
    out.cpus += static_cast<uint32_t>(account.facts.topology->cores[c].pus.size());
  out.mem_mb = filter_.mem_for(account.facts, *account.node_class, tasks, cpus, gpus);
  out.gres = request_.gres;
  return out;
}

/// A group's sample stands for its nodes in what they can hold; which cores and GPUs are free is each node's own
/// affair.
FeasibleGroup Placer::of_node(const Pick& pick) const {
  FeasibleGroup group = *pick.group;
  group.account = &groups_.index().at(pick.position);
  if (group.nodes != nullptr) group.free = &group.account->free;
  return group;
}

std::optional<Placer::Dealt> Placer::deal_out(const std::vector<Pick>& picks) const {
  auto dealt = deal_out(picks, request_.nodes_given || options_.fit == Fit::kSpread, request_.nodes_given);
  return dealt || request_.nodes_given || picks.size() == 1 ? dealt : deal_out(picks, true, true);
}

std::optional<Placer::Dealt> Placer::deal_out(const std::vector<Pick>& picks, bool even_tasks, bool even_gpus) const {
  const auto nodes = static_cast<uint32_t>(picks.size());
  const bool per_job = request_.gpu_counting == GpuCounting::kPerJob;
  Dealt out{{all_tasks(nodes)}, {per_job ? request_.gpus : 0}};
  if (nodes > 1) {
    std::vector<uint32_t> most_tasks, most_gpus;
    for (const Pick& p : picks) {
      most_tasks.push_back(p.group->max_tasks);
      most_gpus.push_back(p.group->gpus);
    }
    out.tasks = deal(most_tasks, out.tasks[0], even_tasks);
    out.gpus = per_job ? deal(most_gpus, request_.gpus, even_gpus) : std::vector<uint32_t>(nodes, 0);
  }
  for (uint32_t i = 0; i < nodes; ++i) {
    const FeasibleGroup group = of_node(picks[i]);
    if (!per_job) out.gpus[i] = filter_.gpus_for(out.tasks[i], picks[i].group->gpus);
    if (out.tasks[i] == 0 || filter_.failed_filter(*group.account, *group.free, out.tasks[i], out.gpus[i]))
      return std::nullopt;
  }
  return out;
}

std::optional<model::Allocation> Placer::allocate(const std::vector<Pick>& picks) const {
  const auto dealt = deal_out(picks);
  if (!dealt) return std::nullopt;
  model::Allocation out;
  for (size_t i = 0; i < picks.size(); ++i)
    out.shares.push_back(share(of_node(picks[i]), dealt->tasks[i], dealt->gpus[i]));
  // The script runs on the first node: in the order in which people list nodes, not in the order of choice.
  std::sort(out.shares.begin(), out.shares.end(),
            [](const NodeShare& a, const NodeShare& b) { return a.node < b.node; });
  return out;
}

Placement Placer::run() {
  Placement out;
  // A job without -N that could fit on one node may still need several.
  if (filter_.may_be_one_node()) out.allocation = place_single();
  if (out.allocation) return out;
  out.diagnosis.level = options_.level;
  out.diagnosis.needed_nodes = std::max<uint32_t>(request_.min_nodes, 1);
  all_ = groups_.all(out.diagnosis);
  if (request_.contiguous) look_at_neighbours();
  if (!filter_.is_one_node()) out.allocation = place_gang();
  if (neighbours_ && !out.allocation) rule_out_lonely(out.diagnosis);
  return out;
}

}  // namespace

Placement place(const Capacity& capacity, const PartitionFacts& partition, const Request& request,
                const PlacementOptions& options) {
  if (capacity.index(partition.name) == nullptr) return {};
  if (!request.exactly.empty()) return place_exactly(capacity, request, options);
  return Placer(capacity, partition, request, options).run();
}

}  // namespace gw::sched
