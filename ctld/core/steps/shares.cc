// Dividing the allocation of a job among its steps.
#include "ctld/core/steps/shares.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "base/text.h"
#include "model/sentences.h"
#include "model/sockets.h"

namespace gw::ctld {
namespace {

using base::IndexSet;
using model::NodeShare;
using model::StepRequest;

constexpr uint32_t kMostCpus = 65'536;  // of one node

/// A node of the job that the step may use.
struct Candidate {
  const NodeShare* share = nullptr;
  IndexSet cores, gpus;                // not taken
  std::map<uint32_t, uint32_t> parts;  // of cores that small steps share: threads that are left
  bool is_named = false;
  uint32_t most = 0;   // tasks, if no other step were there
  uint32_t room = 0;   // tasks now
  uint32_t tasks = 0;  // given
};

/// How far a core is from the nearest of GPUs: 0 on its NUMA node, 1 on its socket, 2 elsewhere.
uint32_t distance(const model::NodeTopology& node, uint32_t core, const std::vector<uint32_t>& gpus) {
  uint32_t best = 2;
  for (const uint32_t g : gpus) {
    if (g >= node.gpus.size() || core >= node.cores.size()) continue;
    if (node.gpus[g].socket == node.cores[core].socket) best = std::min(best, 1U);
    if (node.gpus[g].numa == node.cores[core].numa) best = 0;
  }
  return best;
}

/// `count` of the free cores for tasks that have the GPUs in their order, each its part of both. In rounds, so that no
/// task takes from afar what is near to another.
IndexSet cores_near(const model::NodeTopology& node, IndexSet free, const std::vector<uint32_t>& gpus, uint32_t tasks,
                    uint32_t count) {
  const size_t each = gpus.size() / std::max(tasks, 1U);
  std::vector<std::vector<uint32_t>> gpus_of;  // of the task that the core is for
  for (uint64_t i = 0; i < count; ++i) {
    const auto first = gpus.begin() + static_cast<ptrdiff_t>(i * tasks / count * each);
    gpus_of.emplace_back(first, first + static_cast<ptrdiff_t>(each));
  }
  IndexSet chosen;
  std::vector<bool> has(count);
  for (uint32_t reach = 0; reach <= 2; ++reach)
    for (size_t i = 0; i < count; ++i)
      for (uint32_t c = has[i] ? UINT32_MAX : free.next(0); c != UINT32_MAX; c = free.next(c + 1)) {
        if (distance(node, c, gpus_of[i]) > reach) continue;
        free.erase(c);
        chosen.insert(c);
        has[i] = true;
        break;
      }
  return chosen;
}

class Division {
 public:
  Division(const model::Allocation& job, const StepRequest& request, const Taken& taken, const TopologyOf& topology_of)
      : job_(job),
        request_(request),
        topology_of_(topology_of),
        named_(request.nodelist.begin(), request.nodelist.end()) {
    for (const std::string& host : request.hosts) ++hosts_[host];
    if (!hosts_.empty()) named_.clear();
    for (const auto& [host, tasks] : hosts_) named_.insert(host);
    const std::set<std::string_view> excluded(request.exclude.begin(), request.exclude.end());
    for (const NodeShare& share : job.shares) {
      if (excluded.contains(share.name)) continue;
      if (!named_.empty() && !named_.contains(share.name) && !adds_nodes()) continue;
      candidates_.push_back(candidate(share, taken));
    }
  }

  base::Result<std::vector<NodeShare>> run() {
    GW_TRY_STATUS(check_nodes());
    if (cpus_per_task() > kMostCpus)
      return base::with_sentence(base::invalid(fmt::format("no node has {} CPUs for a task", cpus_per_task())),
                                 model::kTooManyCpusSentence);
    GW_TRY_STATUS(hosts_.empty() ? check_tasks() : check_hosts());
    if (give(&Candidate::room)) return shares();
    if (!give(&Candidate::most)) return too_small();
    return std::vector<NodeShare>{};
  }

 private:
  const model::Allocation& job_;
  const StepRequest& request_;
  const TopologyOf& topology_of_;
  std::map<std::string_view, uint32_t> hosts_;  // where each task has its node: how many each has
  std::set<std::string_view> named_;
  std::vector<Candidate> candidates_;
  uint32_t tasks_ = 0;
  uint32_t nodes_ = 0;  // exactly so many

  uint32_t cpus_per_task() const { return std::max(request_.cpus_per_task, 1U); }
  /// Where each of its CPUs is a core: the threads of all of them.
  uint64_t threads_per_task(const NodeShare& share) const {
    return uint64_t{cpus_per_task()} * (request_.whole_cores ? threads_per_core(share) : 1);
  }
  /// Nodes beside those of the list may be needed.
  bool adds_nodes() const { return hosts_.empty() && request_.min_nodes > named_.size(); }
  static uint32_t threads_per_core(const NodeShare& share) {
    return share.cores.empty() ? 1 : std::max(share.cpus / share.cores.size(), 1U);
  }

  /// How its tasks are dealt to sockets; nullopt: the step does not say, or nobody knows what the node looks like.
  std::optional<model::SocketLayout> layout_on(const NodeShare& share) const {
    if (request_.tasks_per_socket == 0 || request_.overcommit || !topology_of_ || topology_of_(share.node) == nullptr)
      return std::nullopt;
    return model::SocketLayout{request_.tasks_per_socket,
                               model::cores_of_task(threads_per_task(share), threads_per_core(share))};
  }

  model::SocketCores sockets_of(const NodeShare& share) const {
    model::SocketCores sockets;
    const model::NodeTopology& node = *topology_of_(share.node);
    for (uint32_t c = share.cores.next(0); c < node.cores.size(); c = share.cores.next(c + 1))
      sockets[node.cores[c].socket].insert(c);
    return sockets;
  }

  /// Of these tasks as many as find room on the sockets of the cores.
  uint32_t at_most_by_sockets(uint32_t tasks, const NodeShare& share, const IndexSet& cores) const {
    const auto layout = layout_on(share);
    if (!layout) return tasks;
    const model::NodeTopology& node = *topology_of_(share.node);
    std::map<uint32_t, uint32_t> cores_on;  // by socket; counted, since every step asks this of every node of its job
    for (uint32_t c = cores.next(0); c < node.cores.size(); c = cores.next(c + 1)) ++cores_on[node.cores[c].socket];
    uint64_t room = 0;
    for (const auto& [socket, count] : cores_on) room += model::tasks_in(count, *layout);
    return static_cast<uint32_t>(std::min<uint64_t>(tasks, room));
  }

  IndexSet cores_of_sockets(const Candidate& c, const IndexSet& free, const IndexSet& gpus,
                            model::SocketLayout layout) const {
    const model::SocketCores sockets = sockets_of(*c.share);
    const model::NodeTopology& node = *topology_of_(c.share->node);
    const auto gpus_on = [&](uint32_t socket) {
      uint32_t there = 0;
      for (uint32_t g = gpus.next(0); g < node.gpus.size(); g = gpus.next(g + 1))
        there += node.gpus[g].socket == socket;
      return there;
    };
    IndexSet chosen;
    for (const model::SocketTasks& part : model::deal_to_sockets(sockets, free, layout, c.tasks, gpus_on)) {
      IndexSet there = free;
      there &= sockets.at(part.socket);
      chosen |= first_of(there, part.tasks * layout.each);
    }
    return chosen;
  }

  uint32_t most_tasks_in(const NodeShare& share, uint32_t cpus, uint32_t gpus) const {
    uint32_t most = request_.overcommit ? kMostTasksOnNode : static_cast<uint32_t>(cpus / threads_per_task(share));
    if (request_.gpus_per_task > 0) most = std::min(most, gpus / request_.gpus_per_task);
    if (request_.tasks_per_node > 0) most = std::min(most, request_.tasks_per_node);
    return share.tasks == 0 && share.cores.empty() ? 0 : std::min(most, kMostTasksOnNode);
  }

  Candidate candidate(const NodeShare& share, const Taken& taken) const {
    Candidate c{&share, share.cores, share.gpus, {}, named_.contains(share.name), 0, 0, 0};
    const auto other = taken.find(share.node);
    const bool is_alone = other == taken.end() || request_.overlap;
    if (!is_alone) {
      c.cores -= other->second.cores;
      c.gpus -= other->second.gpus;
      for (const auto& [core, used] : other->second.parts) {
        c.cores.erase(core);
        c.parts[core] = threads_per_core(share) - std::min(used, threads_per_core(share));
      }
    }
    c.most = at_most_by_sockets(most_tasks_in(share, share.cpus, share.gpus.size()), share, share.cores);
    c.room = most_tasks_in(share, c.cores.size() * threads_per_core(share), c.gpus.size());
    c.room = at_most_by_sockets(c.room, share, c.cores);
    if (layout_on(share)) c.parts.clear();  // its tasks have whole cores
    for (const auto& [core, left] : c.parts) c.room = std::max(c.room, most_tasks_in(share, left, c.gpus.size()));
    const bool is_touched = c.cores.size() < share.cores.size() || c.gpus.size() < share.gpus.size();
    if (request_.whole && is_touched) c.room = 0;
    return c;
  }

  base::Status check_nodes() {
    std::set<std::string_view> there;
    for (const NodeShare& share : job_.shares) there.insert(share.name);
    for (const std::string_view name : named_)
      if (!there.contains(name))
        return base::invalid(
            fmt::format("requested node {} is not in the job's allocation", base::printable(name, 100)),
            "it has " + base::join(job_.node_names(), ","));
    if (candidates_.empty()) return base::invalid("no node of the job's allocation is left for the step");
    if (!hosts_.empty()) return {};
    if (request_.max_nodes > 0 && request_.min_nodes > request_.max_nodes)
      return base::invalid(
          fmt::format("more nodes at least ({}) than at most ({})", request_.min_nodes, request_.max_nodes));
    if (request_.min_nodes > candidates_.size())
      return base::with_sentence(base::invalid(fmt::format("{} nodes asked; {} of the job's can be used",
                                                           request_.min_nodes, candidates_.size())),
                                 model::kNodeCountSentence);
    return {};
  }

  base::Status check_tasks() {
    uint32_t most_nodes = static_cast<uint32_t>(candidates_.size());
    if (request_.max_nodes > 0) most_nodes = std::min(most_nodes, request_.max_nodes);
    const uint32_t wanted = request_.min_nodes > 0 ? std::min(request_.min_nodes, most_nodes) : most_nodes;
    const uint64_t all = uint64_t{wanted} * std::max(request_.tasks_per_node, 1U);
    if (request_.tasks == 0 && all > uint64_t{kMostTasksOnNode} * wanted)
      return base::invalid(
          fmt::format("{} tasks a node asked; a step has at most {}", request_.tasks_per_node, kMostTasksOnNode));
    tasks_ = request_.tasks > 0 ? request_.tasks : static_cast<uint32_t>(all);
    nodes_ = std::min(wanted, tasks_);
    if (request_.tasks == 0 && request_.fills) fill(wanted);
    if (request_.tasks_per_node > 0)
      nodes_ = std::max(nodes_, std::min(most_nodes, (tasks_ - 1) / request_.tasks_per_node + 1));
    return {};
  }

  /// As many tasks as so many nodes have CPUs for: those that are named, then those where nobody else is. Where one of
  /// them has too few for a task the step is as large as without, and is told so.
  void fill(uint32_t nodes) {
    std::vector<const Candidate*> chosen;
    for (const Candidate& c : candidates_)
      if (c.is_named || c.most > 0) chosen.push_back(&c);
    std::stable_sort(chosen.begin(), chosen.end(), [](const Candidate* a, const Candidate* b) {
      return std::pair(!a->is_named, a->room < a->most) < std::pair(!b->is_named, b->room < b->most);
    });
    chosen.resize(std::min<size_t>(nodes, chosen.size()));
    const bool fits = std::all_of(chosen.begin(), chosen.end(), [](const Candidate* c) { return c->most > 0; });
    if (chosen.size() < nodes || !fits) return;
    std::set<const NodeShare*> there;
    tasks_ = 0;
    for (const Candidate* c : chosen) {
      tasks_ += c->most;
      there.insert(c->share);
    }
    std::erase_if(candidates_, [&](const Candidate& c) { return !there.contains(c.share); });
  }

  base::Status check_hosts() {
    tasks_ = static_cast<uint32_t>(request_.hosts.size());
    nodes_ = static_cast<uint32_t>(hosts_.size());
    if (request_.tasks > 0 && request_.tasks != tasks_)
      return base::invalid(fmt::format("{} tasks asked, of which {} have a host", request_.tasks, tasks_));
    if (candidates_.size() < nodes_) return base::invalid("a host that tasks are for is excluded");
    return {};
  }

  bool give_by_host(uint32_t Candidate::*room) {
    for (Candidate& c : candidates_) {
      const auto host = hosts_.find(c.share->name);
      c.tasks = host == hosts_.end() ? 0 : host->second;
      if (c.tasks > c.*room) return false;
    }
    return true;
  }

  /// As the job's own tasks lie, where the step is all of them.
  bool is_like_job() const {
    const auto add = [](uint64_t sum, const NodeShare& share) { return sum + share.tasks; };
    const uint64_t all = std::accumulate(job_.shares.begin(), job_.shares.end(), uint64_t{0}, add);
    return request_.plane <= 1 && tasks_ == all && nodes_ == job_.shares.size() &&
           candidates_.size() == job_.shares.size() && request_.tasks_per_node == 0;
  }

  bool give(uint32_t Candidate::*room) {
    if (!hosts_.empty()) return give_by_host(room);
    if (is_like_job() && std::all_of(candidates_.begin(), candidates_.end(), [&](const Candidate& c) {
          return c.share->tasks > 0 && c.*room >= c.share->tasks;
        })) {
      for (Candidate& c : candidates_) c.tasks = c.share->tasks;
      return true;
    }
    std::vector<Candidate*> chosen = choose(room);
    uint64_t sum = 0;
    for (const Candidate* c : chosen) sum += c->*room;
    if (chosen.size() < nodes_ || sum < tasks_) return false;
    spread(chosen, room);
    return true;
  }

  /// The first that have room; where these are too small, those with most room. Nodes that were named come first.
  std::vector<Candidate*> choose(uint32_t Candidate::*room) {
    std::vector<Candidate*> with_room;
    for (Candidate& c : candidates_) {
      c.tasks = 0;
      if (c.*room > 0) with_room.push_back(&c);
    }
    const auto is_named = [](const Candidate* c) { return c->is_named; };
    std::stable_partition(with_room.begin(), with_room.end(), is_named);
    uint64_t sum = 0;
    for (size_t i = 0; i < std::min<size_t>(nodes_, with_room.size()); ++i) sum += with_room[i]->*room;
    if (sum < tasks_)
      std::stable_sort(with_room.begin(), with_room.end(), [&](const Candidate* a, const Candidate* b) {
        return std::pair(is_named(a), a->*room) > std::pair(is_named(b), b->*room);
      });
    with_room.resize(std::min<size_t>(nodes_, with_room.size()));
    const auto chosen_names = std::count_if(with_room.begin(), with_room.end(), is_named);
    if (static_cast<size_t>(chosen_names) < std::min<size_t>(named_.size(), nodes_))
      return {};                                    // all of them are asked for
    std::sort(with_room.begin(), with_room.end());  // in the order of the job's nodes
    return with_room;
  }

  void spread(const std::vector<Candidate*>& chosen, uint32_t Candidate::*room) const {
    uint32_t left = tasks_;
    while (left > 0 && request_.plane > 1)
      for (Candidate* c : chosen) {
        const uint32_t more = std::min({request_.plane, c->*room - c->tasks, left});
        c->tasks += more;
        left -= more;
      }
    while (left > 0) {
      const auto open = static_cast<uint32_t>(
          std::count_if(chosen.begin(), chosen.end(), [&](const Candidate* c) { return c->tasks < c->*room; }));
      const uint32_t each = std::max(left / open, 1U);
      for (Candidate* c : chosen) {
        const uint32_t more = std::min({each, c->*room - c->tasks, left});
        c->tasks += more;
        left -= more;
      }
    }
  }

  static IndexSet first_of(const IndexSet& set, uint32_t count) {
    IndexSet out;
    for (uint32_t i = set.next(0); i != UINT32_MAX && count > 0; i = set.next(i + 1), --count) out.insert(i);
    return out;
  }

  /// Less than a core is taken from one that others have a part of, where that is enough; the fullest first.
  IndexSet cores_for(const Candidate& c, const IndexSet& gpus, uint64_t cpus, uint32_t threads) const {
    const IndexSet& free = request_.overlap ? c.share->cores : c.cores;
    if (const auto layout = layout_on(*c.share)) return cores_of_sockets(c, free, gpus, *layout);
    uint32_t best = UINT32_MAX;
    for (const auto& [core, left] : c.parts)
      if (cpus < threads && left >= cpus && (best == UINT32_MAX || left < c.parts.at(best))) best = core;
    if (best != UINT32_MAX) return IndexSet::of({best});
    const uint32_t count = static_cast<uint32_t>(
        std::min<uint64_t>((cpus + threads - 1) / threads, free.size()));  // overcommit asks for more
    const model::NodeTopology* node = topology_of_ ? topology_of_(c.share->node) : nullptr;
    if (request_.gpus_per_task == 0 || node == nullptr) return first_of(free, count);
    return cores_near(*node, free, gpus.to_vector(), c.tasks, count);
  }

  std::vector<NodeShare> shares() const {
    std::vector<NodeShare> out;
    for (const Candidate& c : candidates_) {
      if (c.tasks == 0) continue;
      NodeShare share = *c.share;
      share.tasks = c.tasks;
      const uint32_t threads = threads_per_core(share);
      const uint64_t cpus = c.tasks * threads_per_task(share);
      if (request_.gpus_per_task > 0 && !request_.whole)
        share.gpus = first_of(c.gpus, c.tasks * request_.gpus_per_task);
      if (!request_.whole) share.cores = cores_for(c, share.gpus, cpus, threads);
      const bool is_part = cpus < threads && !layout_on(share);
      if (!share.cores.empty())
        share.cpus = is_part && !request_.whole ? static_cast<uint32_t>(cpus) : share.cores.size() * threads;
      out.push_back(std::move(share));
    }
    return out;
  }

  tl::unexpected<base::Error> too_small() const {
    uint64_t most = 0;
    for (const Candidate& c : candidates_) most += c.most;
    const auto refused = base::invalid(
        fmt::format(
            "more tasks requested than the allocation has room for: {} task{} of {} CPU{}{} on {} node{}; there "
            "is room for {}",
            tasks_, tasks_ == 1 ? "" : "s", cpus_per_task(), cpus_per_task() == 1 ? "" : "s",
            request_.gpus_per_task > 0 ? fmt::format(" and {} GPUs", request_.gpus_per_task) : "", nodes_,
            nodes_ == 1 ? "" : "s", most),
        "ask for fewer, or share CPUs with --overcommit");
    return base::with_sentence(refused, model::kTooManyCpusSentence);
  }
};

}  // namespace

void take(const model::Step& step, Taken& taken) {
  if (step.request.overlap) return;
  for (const model::StepNode& node : step.nodes) {
    if (node.is_gone) continue;
    TakenOnNode& t = taken[node.share.node];
    if (node.share.cores.size() == 1)
      t.parts[node.share.cores.next(0)] += node.share.cpus;
    else
      t.cores |= node.share.cores;
    if (step.request.gpus_per_task > 0 || step.request.whole) t.gpus |= node.share.gpus;
  }
}

base::Result<std::vector<model::NodeShare>> divide(const model::Allocation& job, const StepRequest& request,
                                                   const Taken& taken, const TopologyOf& topology_of) {
  return Division(job, request, taken, topology_of).run();
}

}  // namespace gw::ctld
