// Places of tasks: GPUs first, then the cores near them, then what the words of the binding say otherwise.
#include "bind/places.h"

#include <algorithm>
#include <map>
#include <optional>

#include "bind/dealer.h"
#include "model/nics.h"
#include "model/sockets.h"

namespace gw::bind {
namespace {

using base::IndexSet;

std::vector<uint32_t> indices(const std::string& text) {
  const auto set = IndexSet::parse(text);
  return set ? set->to_vector() : std::vector<uint32_t>{};
}

std::vector<uint32_t> with(const std::vector<uint32_t>& cores, IndexSet more) {
  for (const uint32_t c : cores) more.insert(c);
  return more.to_vector();
}

template <typename Device>
model::DeviceSpot spot_of(const Device& d) {
  return {d.pcie_switch(), d.host_bridge(), d.numa(), d.socket()};
}

class Binder {
 public:
  Binder(const wire::NodeTopology& node, const wire::NodeShare& share, const wire::StepRequest& request,
         const IndexSet& unclaimed_cores, bool is_begun)
      : node_(node),
        share_(share),
        request_(request),
        is_begun_(is_begun),
        claimed_(node, indices(share.cores()), indices(share.gpus())),
        dealer_(node, with(claimed_.cores(), unclaimed_cores), claimed_.gpus()),
        all_(dealer_.all_pus()) {}

  Binding bind() {
    b_.places.resize(share_.tasks());
    // What a claim leaves of its last core is among them.
    if (all_.size() > claimed_.all_pus().size()) b_.unclaimed_cpus = all_.size() - share_.cpus();
    if (const base::Status read = read_words(); !read) {
      for (Place& place : b_.places) place.problem = read.error().text();
      return std::move(b_);
    }
    deal_gpus();
    deal_cores();
    for (size_t t = 0; t < b_.places.size(); ++t) {
      Place& place = b_.places[t];
      if (b_.gpu.way == GpuWay::kClosest) place.gpus = closest_gpus(place.pus);
      place.mems = near_memory(place);
      bind_cpus(t, place);
      bind_memory(t, place);
    }
    add_nics();
    return std::move(b_);
  }

 private:
  const wire::NodeTopology& node_;
  const wire::NodeShare& share_;
  const wire::StepRequest& request_;
  const bool is_begun_;
  Dealer claimed_;
  Dealer dealer_;  // of what the tasks may run on
  IndexSet all_;   // processors of it
  Binding b_;

  base::Status read_words() {
    GW_TRY(cpu, parse_cpu(request_.cpu_bind()));
    GW_TRY(gpu, parse_gpu(request_.gpu_bind()));
    GW_TRY(mem, parse_mem(request_.mem_bind()));
    if (gpu.way == GpuWay::kAuto && request_.gpus_per_task() > 0) {
      gpu.way = GpuWay::kPerTask;
      gpu.count = request_.gpus_per_task();
    }
    b_.binds_gpus = gpu.way != GpuWay::kAuto && gpu.way != GpuWay::kNone && !dealer_.gpus().empty();
    b_.binds_cpus = cpu.way != CpuWay::kNone && !(cpu.way == CpuWay::kAuto && request_.overcommit());
    b_.binds_memory = mem.way != MemWay::kAuto && mem.way != MemWay::kNone;
    b_.cpu = std::move(cpu);
    b_.gpu = std::move(gpu);
    b_.mem = std::move(mem);
    return {};
  }

  // --- GPUs

  void deal_gpus() {
    const std::vector<uint32_t>& gpus = dealer_.gpus();
    if (gpus.empty()) return;
    if (b_.gpu.way == GpuWay::kMap || b_.gpu.way == GpuWay::kMask) return take_listed_gpus();
    const bool is_single = b_.gpu.way == GpuWay::kSingle;
    if (!is_single && b_.gpu.way != GpuWay::kPerTask) return;
    const std::vector<IndexSet> groups = dealer_.gpu_groups(is_single ? 1 : b_.gpu.count);
    for (size_t t = 0; t < b_.places.size(); ++t)
      b_.places[t].gpus = groups[(is_single ? t / b_.gpu.count : t) % groups.size()];
  }

  /// Numbers count within the GPUs of the step.
  void take_listed_gpus() {
    const std::vector<uint32_t>& gpus = dealer_.gpus();
    for (size_t t = 0; t < b_.places.size(); ++t) {
      Place& place = b_.places[t];
      const IndexSet& wanted = b_.gpu.list[t % b_.gpu.list.size()];
      for (const uint32_t i : wanted.to_vector()) {
        if (i < gpus.size())
          place.gpus.insert(gpus[i]);
        else
          place.problem = "--gpu-bind: there is no GPU " + std::to_string(i) + ": the step has " +
                          std::to_string(gpus.size()) + " on this node, counted from 0 (mask " + mask_text(wanted) +
                          ")";
      }
    }
  }

  IndexSet closest_gpus(const IndexSet& pus) const {
    IndexSet numa, socket, all;
    for (const uint32_t g : dealer_.gpus()) {
      all.insert(g);
      for (const uint32_t c : dealer_.cores()) {
        if (!dealer_.pus_of(c).intersects(pus)) continue;
        if (dealer_.gpu(g).numa() == dealer_.core(c).numa()) numa.insert(g);
        if (dealer_.gpu(g).socket() == dealer_.core(c).socket()) socket.insert(g);
      }
    }
    return !numa.empty() ? numa : !socket.empty() ? socket : all;
  }

  // --- processors

  void deal_cores() {
    std::vector<IndexSet> gpus;
    for (const Place& place : b_.places) gpus.push_back(place.gpus);
    const uint32_t threads = request_.whole_cores() ? claimed_.threads() : 1;
    const std::vector<IndexSet> dealt = deal(gpus, request_.cpus_per_task() * threads);
    for (size_t t = 0; t < dealt.size(); ++t) b_.places[t].pus = dealt[t];
  }

  std::vector<IndexSet> deal(const std::vector<IndexSet>& gpus, uint32_t cpus) const {
    if (b_.cpu.way == CpuWay::kRank) return claimed_.deal_in_order(gpus.size(), cpus);
    if (b_.cpu.way == CpuWay::kThreads) return claimed_.deal_cores(gpus, cpus, false);
    if (request_.tasks_per_socket() > 0 && !request_.overcommit())
      if (auto dealt = deal_by_sockets(gpus, cpus); !dealt.empty()) return dealt;
    return cpus == 0 ? dealer_.share_out(gpus) : claimed_.deal_cores(gpus, cpus, true);
  }

  /// What is dealt to the tasks of each socket is its own. Nothing where the sockets have no room for all of them.
  std::vector<IndexSet> deal_by_sockets(const std::vector<IndexSet>& gpus, uint32_t cpus) const {
    const Dealer& from = cpus == 0 ? dealer_ : claimed_;
    const model::SocketLayout layout{request_.tasks_per_socket(), model::cores_of_task(cpus, from.threads())};
    std::map<uint32_t, std::vector<uint32_t>> claimed_on, cores_on;
    for (const uint32_t c : claimed_.cores()) claimed_on[claimed_.core(c).socket()].push_back(c);
    for (const uint32_t c : from.cores()) cores_on[from.core(c).socket()].push_back(c);
    std::map<uint32_t, std::vector<size_t>> tasks_on;
    for (size_t t = 0; t < gpus.size(); ++t) {
      // Where its step claimed cores a task stays, whatever becomes free elsewhere.
      std::optional<uint32_t> socket = socket_for(gpus[t], claimed_on, tasks_on, layout);
      if (!socket) socket = socket_for(gpus[t], cores_on, tasks_on, layout);
      if (!socket) return {};
      tasks_on[*socket].push_back(t);
    }
    std::vector<IndexSet> dealt(gpus.size());
    for (const auto& [socket, tasks] : tasks_on) {
      std::vector<IndexSet> gpus_here;
      for (const size_t t : tasks) gpus_here.push_back(gpus[t]);
      const Dealer here(node_, cores_on[socket], from.gpus());
      const auto parts = cpus == 0 ? here.share_out(gpus_here) : here.deal_cores(gpus_here, cpus, true);
      for (size_t i = 0; i < tasks.size(); ++i) dealt[tasks[i]] = parts[i];
    }
    return dealt;
  }

  /// Where there is room for one more task: where its GPUs are, else the first.
  std::optional<uint32_t> socket_for(const IndexSet& gpus, const std::map<uint32_t, std::vector<uint32_t>>& cores_on,
                                     const std::map<uint32_t, std::vector<size_t>>& tasks_on,
                                     model::SocketLayout layout) const {
    std::optional<uint32_t> first;
    for (const auto& [socket, cores] : cores_on) {
      const auto there = tasks_on.find(socket);
      const size_t tasks = there == tasks_on.end() ? 0 : there->second.size();
      if (tasks >= model::tasks_in(static_cast<uint32_t>(cores.size()), layout)) continue;
      for (const uint32_t g : gpus.to_vector())
        if (dealer_.gpu(g).socket() == socket) return socket;
      if (!first) first = socket;
    }
    return first;
  }

  template <typename SameAs>
  IndexSet widened(const IndexSet& pus, SameAs same) const {
    IndexSet wide;
    for (const uint32_t c : dealer_.cores()) {
      if (!dealer_.pus_of(c).intersects(pus)) continue;
      for (const uint32_t other : dealer_.cores())
        if (same(dealer_.core(c)) == same(dealer_.core(other))) wide |= dealer_.pus_of(other);
    }
    return wide;
  }

  void bind_cpus(size_t t, Place& place) {
    const std::vector<IndexSet>& list = b_.cpu.list;
    switch (b_.cpu.way) {
      case CpuWay::kAuto:
      case CpuWay::kThreads:
      case CpuWay::kCores:
        return;
      case CpuWay::kNone:
        place.pus = all_;
        return;
      case CpuWay::kSockets:
        place.pus = widened(place.pus, [](const wire::Core& c) { return c.socket(); });
        break;
      case CpuWay::kLdoms:
        place.pus = widened(place.pus, [](const wire::Core& c) { return c.numa(); });
        break;
      case CpuWay::kRank:
        break;
      case CpuWay::kMap:
      case CpuWay::kMask:
        take_listed_cpus(list[t % list.size()], place);
        break;
      case CpuWay::kRankLdom:
        place.pus = in_numa(nth_numa(t));
        break;
      case CpuWay::kMapLdom:
      case CpuWay::kMaskLdom:
        take_listed_ldoms(list[t % list.size()], place);
        break;
    }
    place.mems = memory_of(place.pus);
  }

  /// Of what a task that runs was bound to: what no step has claimed since.
  IndexSet left_of(IndexSet wanted) const {
    wanted &= all_;
    return wanted.empty() ? claimed_.all_pus() : wanted;
  }

  void take_listed_cpus(const IndexSet& wanted, Place& place) const {
    place.pus = is_begun_ ? left_of(wanted) : wanted;
    if (!place.pus.is_subset_of(all_))
      place.problem = "--cpu-bind: mask " + mask_text(wanted) + " (CPUs " + wanted.text() +
                      ") is not within the CPUs of the step on this node: " + all_.text() + " (mask " +
                      mask_text(all_) + ")";
  }

  void take_listed_ldoms(const IndexSet& wanted, Place& place) const {
    place.pus = is_begun_ ? left_of(in_numa(wanted)) : in_numa(wanted);
    if (is_begun_) return;
    for (const uint32_t numa : wanted.to_vector())
      if (in_numa(IndexSet::of({numa})).empty())
        place.problem = "--cpu-bind: mask " + mask_text(wanted) + " names NUMA node " + std::to_string(numa) +
                        ", where the step has no CPUs on this node: it has them in " + memory_of(all_).text();
  }

  // --- memory

  uint32_t os_numa(uint32_t index) const {
    return index < static_cast<uint32_t>(node_.numa_nodes_size()) ? node_.numa_nodes(static_cast<int>(index)).os_index()
                                                                  : UINT32_MAX;
  }

  void insert_numa(IndexSet& set, uint32_t index) const {
    if (os_numa(index) != UINT32_MAX) set.insert(os_numa(index));
  }

  IndexSet memory_of(const IndexSet& pus) const {
    IndexSet mems;
    for (const uint32_t c : dealer_.cores())
      if (dealer_.pus_of(c).intersects(pus)) insert_numa(mems, dealer_.core(c).numa());
    return mems;
  }

  IndexSet near_memory(const Place& place) const {
    IndexSet mems = memory_of(place.pus);
    for (const uint32_t g : place.gpus.to_vector()) insert_numa(mems, dealer_.gpu(g).numa());
    return mems;
  }

  IndexSet in_numa(const IndexSet& os) const {
    IndexSet pus;
    for (const uint32_t c : dealer_.cores())
      if (const uint32_t numa = os_numa(dealer_.core(c).numa()); numa != UINT32_MAX && os.contains(numa))
        pus |= dealer_.pus_of(c);
    return pus;
  }

  IndexSet nth_numa(size_t t) const {
    const std::vector<uint32_t> here = memory_of(all_).to_vector();
    return here.empty() ? IndexSet{} : IndexSet::of({here[t % here.size()]});
  }

  void bind_memory(size_t t, Place& place) const {
    if (b_.mem.way == MemWay::kRank) place.mems = nth_numa(t);
    if (b_.mem.way != MemWay::kMap && b_.mem.way != MemWay::kMask) return;
    place.mems = b_.mem.list[t % b_.mem.list.size()];
    IndexSet there;
    for (const wire::NumaNode& numa : node_.numa_nodes()) there.insert(numa.os_index());
    if (!place.mems.is_subset_of(there))
      place.problem = "--mem-bind: mask " + mask_text(place.mems) + " names NUMA nodes " + place.mems.text() +
                      ", but this node has " + there.text();
  }

  // --- network adapters

  void add_nics() {
    std::vector<model::DeviceSpot> gpus, nics;
    for (const wire::Gpu& gpu : node_.gpus()) gpus.push_back(spot_of(gpu));
    for (const wire::Nic& nic : node_.nics()) {
      nics.push_back(spot_of(nic));
      nics.back().is_fast = nic.kind() == "infiniband";
    }
    if (nics.empty()) return;
    const std::vector<uint32_t> of_gpus = model::nic_of_gpus(gpus, nics);
    const std::vector<uint32_t> eligible = model::eligible_nics(nics);
    for (Place& place : b_.places) {
      IndexSet near;
      for (const uint32_t g : place.gpus.to_vector())
        if (of_gpus[g] != UINT32_MAX) near.insert(of_gpus[g]);
      for (const uint32_t n : eligible)
        if (place.gpus.empty() && os_numa(nics[n].numa) != UINT32_MAX && place.mems.contains(os_numa(nics[n].numa)))
          near.insert(n);
      place.nics = near.empty() ? eligible : near.to_vector();
    }
  }
};

}  // namespace

Binding bind_tasks(const wire::NodeTopology& node, const wire::NodeShare& share, const wire::StepRequest& request,
                   const IndexSet& unclaimed_cores, bool is_begun) {
  return Binder(node, share, request, unclaimed_cores, is_begun).bind();
}

}  // namespace gw::bind
