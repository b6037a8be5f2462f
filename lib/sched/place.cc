// Placement of one gang. Each node is asked what it could hold (an Offer); offers are then picked, tasks and GPUs dealt
// out, and the indices chosen.
#include "sched/place.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <variant>

namespace gw::sched {
namespace {

using model::GpuCounting;
using model::NodeShare;
using model::Request;

/// What one node could hold of a request.
struct Offer {
  const NodeAccount* account = nullptr;
  uint32_t max_tasks = 0;
  uint32_t gpus = 0;         ///< Free ones of the right type.
  bool is_required = false;  ///< Named by -w.
};

/// One request held against one partition.
class Placer {
 public:
  Placer(const Capacity& capacity, const PartitionFacts& partition, const Request& request, Against against)
      : capacity_(capacity), partition_(partition), request_(request), against_(against) {}

  Placement run();

 private:
  const Capacity& capacity_;
  const PartitionFacts& partition_;
  const Request& request_;
  const Against against_;
  Census census_;

  bool is_exclusive() const { return request_.exclusive || partition_.exclusive; }
  base::IndexSet free_cores(const NodeAccount& a) const {
    return against_ == Against::kEmpty ? a.facts.cores : a.free_cores;
  }
  base::IndexSet free_gpus(const NodeAccount& a) const {
    // One that is offline comes back: it is no reason to refuse a job for ever.
    return against_ == Against::kEmpty ? base::IndexSet::first(static_cast<uint32_t>(a.facts.topology->gpus.size()))
                                       : a.free_gpus;
  }
  uint64_t free_mem_mb(const NodeAccount& a) const {
    return against_ == Against::kEmpty ? a.facts.mem_mb : a.free_mem_mb();
  }
  std::variant<Clause, Offer> ask(const NodeAccount& account) const;
  std::optional<Clause> ask_static(const NodeAccount& account) const;
  uint32_t gpus_for(const Offer& offer, uint32_t tasks) const;
  uint32_t cpus_for(const NodeAccount& account, uint32_t tasks, uint32_t gpus) const;
  uint64_t mem_for(const NodeAccount& account, uint32_t cpus, uint32_t gpus) const;
  std::optional<Clause> misfit(const Offer& offer, uint32_t tasks) const;
  std::vector<Offer> offers();
  std::optional<std::vector<Offer>> pick(const std::vector<Offer>& offers) const;
  std::optional<std::vector<Offer>> pick_exactly(const std::vector<Offer>& offers, uint32_t nodes) const;
  bool holds(const std::vector<Offer>& chosen) const;
  std::vector<uint32_t> deal(const std::vector<uint32_t>& room, uint32_t amount, bool even) const;
  std::optional<model::Allocation> allocate(const std::vector<Offer>& chosen) const;
  NodeShare share(const Offer& offer, uint32_t tasks, uint32_t gpus) const;
};

bool has_features(const NodeAccount& account, const std::vector<model::FeatureSet>& any_of) {
  if (any_of.empty()) return true;
  const auto& have = account.facts.features;
  return std::any_of(any_of.begin(), any_of.end(), [&](const model::FeatureSet& all) {
    return std::all_of(all.begin(), all.end(),
                       [&](const std::string& f) { return std::find(have.begin(), have.end(), f) != have.end(); });
  });
}

bool names(const std::vector<std::string>& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

uint32_t count_type(const NodeAccount& account, const base::IndexSet& gpus, const std::string& type) {
  if (type.empty()) return gpus.size();
  uint32_t n = 0;
  for (uint32_t g = gpus.next(0); g != UINT32_MAX; g = gpus.next(g + 1))
    n += g < account.facts.topology->gpus.size() && account.facts.topology->gpus[g].type == type;
  return n;
}

std::optional<Clause> Placer::ask_static(const NodeAccount& account) const {
  if (names(request_.exclude, account.facts.name)) return Clause::kExcluded;
  // With -w and a fixed size the gang is exactly the named nodes.
  if (!request_.nodelist.empty() && request_.nodelist.size() >= request_.max_nodes && request_.nodes_given &&
      !names(request_.nodelist, account.facts.name))
    return Clause::kNodeList;
  if (!has_features(account, request_.features)) return Clause::kFeatures;
  if (!account.facts.topology) return Clause::kUnregistered;
  if (request_.gpus > 0 && !request_.gpu_type.empty()) {
    const auto& gpus = account.facts.topology->gpus;
    if (std::none_of(gpus.begin(), gpus.end(), [&](const model::Gpu& g) { return g.type == request_.gpu_type; }))
      return Clause::kGpuType;
  }
  if (against_ == Against::kFreeNow && !account.facts.usable) return Clause::kUnusable;
  return std::nullopt;
}

uint32_t Placer::gpus_for(const Offer& offer, uint32_t tasks) const {
  switch (request_.gpu_counting) {
    case GpuCounting::kNone:
      return 0;
    case GpuCounting::kPerNode:
      return request_.gpus;
    case GpuCounting::kPerTask:
      return tasks * request_.gpus;
    case GpuCounting::kPerJob:
      return std::min(1U, offer.gpus);
  }
  return 0;
}

uint32_t Placer::cpus_for(const NodeAccount& account, uint32_t tasks, uint32_t gpus) const {
  const uint64_t asked =
      std::max<uint64_t>(uint64_t{tasks} * request_.cpus_per_task, uint64_t{gpus} * partition_.default_cpus_per_gpu);
  const uint64_t threads = account.threads();
  const uint64_t whole_cores = (asked + threads - 1) / threads * threads;
  return static_cast<uint32_t>(std::min<uint64_t>(whole_cores, UINT32_MAX));
}

uint64_t Placer::mem_for(const NodeAccount& account, uint32_t cpus, uint32_t gpus) const {
  if (request_.mem_all) return account.facts.mem_mb;
  if (request_.mem_per_node_mb > 0) return request_.mem_per_node_mb;
  if (request_.mem_per_cpu_mb > 0) return request_.mem_per_cpu_mb * cpus;
  const uint64_t by_partition =
      std::max(partition_.default_mem_per_cpu_mb * cpus, partition_.default_mem_per_gpu_mb * gpus);
  if (by_partition > 0) return by_partition;
  // Nobody said: the cores' share of the node's memory, with GPUs nine tenths of theirs if that is more (a tenth stays
  // for jobs without GPUs), so that no job can take memory out of proportion unasked.
  const uint64_t cores = std::max<uint32_t>(account.facts.cores.size(), 1);
  const uint64_t by_cores = account.facts.mem_mb * (cpus / account.threads()) / cores;
  const uint64_t all_gpus = account.facts.topology->gpus.size();
  const uint64_t by_gpus = all_gpus == 0 ? 0 : account.facts.mem_mb * gpus / all_gpus * 9 / 10;
  return std::max(by_cores, by_gpus);
}

std::optional<Clause> Placer::misfit(const Offer& offer, uint32_t tasks) const {
  const NodeAccount& account = *offer.account;
  const uint32_t gpus = gpus_for(offer, tasks);
  if (request_.gpus > 0 && (offer.gpus < gpus || offer.gpus == 0)) return Clause::kGpus;
  const uint32_t cpus = cpus_for(account, tasks, gpus);
  if (cpus / account.threads() > free_cores(account).size()) return Clause::kCores;
  if (mem_for(account, cpus, gpus) > free_mem_mb(account)) return Clause::kMemory;
  return std::nullopt;
}

std::variant<Clause, Offer> Placer::ask(const NodeAccount& account) const {
  if (auto clause = ask_static(account)) return *clause;
  if (is_exclusive() && against_ == Against::kFreeNow && !account.is_idle()) return Clause::kExclusive;
  Offer offer{&account, 0, 0, names(request_.nodelist, account.facts.name)};
  offer.gpus = request_.gpus == 0 ? 0 : count_type(account, free_gpus(account), request_.gpu_type);
  const uint32_t cap = request_.tasks_per_node > 0 ? request_.tasks_per_node : request_.tasks;
  const uint32_t least = request_.tasks_per_node > 0 && !request_.tasks_given ? request_.tasks_per_node : 1;
  if (auto clause = misfit(offer, least)) return *clause;
  uint32_t low = least, high = std::max(cap, least);
  while (low < high) {  // the largest number of tasks that fits; fitting is monotone
    const uint32_t middle = low + (high - low + 1) / 2;
    if (misfit(offer, middle))
      high = middle - 1;
    else
      low = middle;
  }
  offer.max_tasks = low;
  return offer;
}

std::vector<Offer> Placer::offers() {
  std::vector<Offer> out;
  for (NodeId id : capacity_.partition_nodes(partition_.name)) {
    const NodeAccount* account = capacity_.node(id);
    ++census_.nodes;
    const auto answer = ask(*account);
    if (const Offer* offer = std::get_if<Offer>(&answer)) {
      ++census_.fitting;
      out.push_back(*offer);
      continue;
    }
    const Clause clause = std::get<Clause>(answer);
    ++census_.ruled_out[clause];
    if (clause == Clause::kUnusable) ++census_.unusable_why[account->facts.unusable_why];
  }
  // Required nodes first; then cheap ones; jobs without GPUs keep off GPU nodes; then the fullest.
  const auto key = [&](const Offer& o) {
    const uint32_t spared = request_.gpus == 0 ? o.account->facts.gpus.size() : 0;
    return std::tuple(!o.is_required, o.account->facts.weight, spared, free_gpus(*o.account).size(),
                      free_cores(*o.account).size(), o.account->facts.id.value);
  };
  std::sort(out.begin(), out.end(), [&](const Offer& a, const Offer& b) { return key(a) < key(b); });
  return out;
}

bool Placer::holds(const std::vector<Offer>& chosen) const {
  uint64_t tasks = 0, gpus = 0;
  for (const Offer& o : chosen) {
    tasks += o.max_tasks;
    gpus += o.gpus;
  }
  const uint64_t need = request_.tasks_given ? request_.tasks : std::max<uint64_t>(chosen.size(), request_.tasks);
  return tasks >= need && (request_.gpu_counting != GpuCounting::kPerJob || gpus >= request_.gpus);
}

std::optional<std::vector<Offer>> Placer::pick_exactly(const std::vector<Offer>& offers, uint32_t nodes) const {
  if (offers.size() < nodes || nodes == 0) return std::nullopt;
  if (nodes == 1) {  // the first, hence fullest, that holds all of it
    for (const Offer& o : offers)
      if (holds({o})) return std::vector<Offer>{o};
    return std::nullopt;
  }
  std::vector<Offer> chosen(offers.begin(), offers.begin() + nodes);
  if (holds(chosen)) return chosen;
  // The fullest do not hold it together: the roomiest do, if any.
  std::vector<Offer> roomiest = offers;
  std::stable_sort(roomiest.begin(), roomiest.end(), [](const Offer& a, const Offer& b) {
    return std::tuple(!a.is_required, ~a.gpus, ~a.max_tasks) < std::tuple(!b.is_required, ~b.gpus, ~b.max_tasks);
  });
  roomiest.resize(nodes);
  if (holds(roomiest)) return roomiest;
  return std::nullopt;
}

std::optional<std::vector<Offer>> Placer::pick(const std::vector<Offer>& offers) const {
  for (const std::string& name : request_.nodelist)
    if (std::none_of(offers.begin(), offers.end(), [&](const Offer& o) { return o.account->facts.name == name; }))
      return std::nullopt;
  const auto available = static_cast<uint32_t>(offers.size());
  const uint32_t least = std::max<uint32_t>({request_.min_nodes, static_cast<uint32_t>(request_.nodelist.size()), 1});
  uint32_t most = request_.nodes_given ? request_.max_nodes : available;
  if (partition_.max_nodes > 0) most = std::min(most, partition_.max_nodes);
  most = std::min(most, available);
  if (request_.nodes_given) {  // as many as there are, up to the maximum
    for (uint32_t n = most; n >= least; --n)
      if (auto chosen = pick_exactly(offers, n)) return chosen;
    return std::nullopt;
  }
  // As few nodes as hold it: holding is monotone in the number of nodes, so search by halves.
  if (least > most) return std::nullopt;
  if (auto chosen = pick_exactly(offers, least)) return chosen;
  uint32_t low = least + 1, high = most;
  if (low > high || !pick_exactly(offers, high)) return std::nullopt;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (pick_exactly(offers, middle))
      high = middle;
    else
      low = middle + 1;
  }
  return pick_exactly(offers, low);
}

std::vector<uint32_t> Placer::deal(const std::vector<uint32_t>& room, uint32_t amount, bool even) const {
  std::vector<uint32_t> out(room.size(), 0);
  uint32_t left = amount;
  for (size_t i = 0; i < room.size() && left > 0; ++i) {  // one each first: no node of a gang is empty
    if (room[i] == 0) continue;
    out[i] = 1;
    --left;
  }
  while (left > 0) {
    bool progress = false;
    for (size_t i = 0; i < room.size() && left > 0; ++i) {
      const uint32_t step = even ? std::min(1U, room[i] - out[i]) : std::min(left, room[i] - out[i]);
      out[i] += step;
      left -= step;
      progress |= step > 0;
    }
    if (!progress) break;
  }
  return out;
}

NodeShare Placer::share(const Offer& offer, uint32_t tasks, uint32_t gpus) const {
  const NodeAccount& account = *offer.account;
  const model::NodeTopology& topology = *account.facts.topology;
  NodeShare out;
  out.node = account.facts.id;
  out.name = account.facts.name;
  out.tasks = tasks;
  const uint32_t cpus = cpus_for(account, tasks, gpus);
  if (is_exclusive()) {
    out.gpus = free_gpus(account);
    out.cores = free_cores(account);
  } else {
    out.gpus = choose_gpus(topology, free_gpus(account), gpus, request_.gpu_type);
    out.cores = choose_cores(topology, free_cores(account), cpus / account.threads(), out.gpus);
  }
  for (uint32_t c = out.cores.next(0); c != UINT32_MAX; c = out.cores.next(c + 1))
    out.cpus += static_cast<uint32_t>(topology.cores[c].pus.size());
  out.mem_mb = mem_for(account, cpus, gpus);
  return out;
}

std::optional<model::Allocation> Placer::allocate(const std::vector<Offer>& chosen) const {
  std::vector<uint32_t> task_room, gpu_room;
  for (const Offer& o : chosen) {
    task_room.push_back(o.max_tasks);
    gpu_room.push_back(o.gpus);
  }
  const auto nodes = static_cast<uint32_t>(chosen.size());
  const uint32_t tasks = request_.tasks_given ? request_.tasks : std::max(nodes, request_.tasks);
  const std::vector<uint32_t> dealt = deal(task_room, tasks, request_.nodes_given);
  std::vector<uint32_t> gpus(nodes, 0);
  if (request_.gpu_counting == GpuCounting::kPerJob) gpus = deal(gpu_room, request_.gpus, request_.nodes_given);
  model::Allocation out;
  for (uint32_t i = 0; i < nodes; ++i) {
    if (request_.gpu_counting != GpuCounting::kPerJob) gpus[i] = gpus_for(chosen[i], dealt[i]);
    const uint32_t cpus = cpus_for(*chosen[i].account, dealt[i], gpus[i]);
    if (dealt[i] == 0 || mem_for(*chosen[i].account, cpus, gpus[i]) > free_mem_mb(*chosen[i].account) ||
        cpus / chosen[i].account->threads() > free_cores(*chosen[i].account).size())
      return std::nullopt;
    out.shares.push_back(share(chosen[i], dealt[i], gpus[i]));
  }
  // The script runs on the first node: in the order in which people list nodes, not in the order of choice.
  std::sort(out.shares.begin(), out.shares.end(),
            [](const NodeShare& a, const NodeShare& b) { return a.node < b.node; });
  return out;
}

Placement Placer::run() {
  Placement out;
  const std::vector<Offer> all = offers();
  if (auto chosen = pick(all)) out.allocation = allocate(*chosen);
  census_.needed_nodes = std::max<uint32_t>(request_.min_nodes, 1);
  out.census = std::move(census_);
  return out;
}

}  // namespace

Placement place(const Capacity& capacity, const PartitionFacts& partition, const Request& request, Against against) {
  return Placer(capacity, partition, request, against).run();
}

}  // namespace gw::sched
