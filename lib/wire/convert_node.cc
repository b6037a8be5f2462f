// Topologies and nodes.
#include <map>

#include "wire/convert.h"

namespace gw::wire {
namespace {

using base::ErrorCode;
using base::fail;

// No machine is near these; they bound what a message can make us allocate (the link matrix is GPUs squared).
constexpr int kMaxGpusPerNode = 1024;
constexpr int kMaxCores = 65'536;
constexpr int kMaxDevices = 4096;

template <typename Repeated>
std::vector<uint32_t> numbers(const Repeated& from) {
  return {from.begin(), from.end()};
}

void set_gpu(Gpu* w, const model::Gpu& g) {
  w->set_type(g.type);
  w->set_model(g.model);
  w->set_vendor(g.vendor);
  w->set_pci(g.pci);
  w->set_partition(g.partition);
  w->set_socket(g.socket);
  w->set_numa(g.numa);
  w->set_pcie_switch(g.pcie_switch);
  w->set_host_bridge(g.host_bridge);
  w->mutable_near_cores()->Assign(g.near_cores.begin(), g.near_cores.end());
  w->set_uuid(g.uuid);
  w->set_memory_mb(g.memory_mb);
  w->mutable_devices()->Assign(g.devices.begin(), g.devices.end());
}

model::Gpu gpu_from(const Gpu& w) {
  model::Gpu g;
  g.type = w.type();
  g.model = w.model();
  g.vendor = w.vendor();
  g.pci = w.pci();
  g.partition = w.partition();
  g.socket = w.socket();
  g.numa = w.numa();
  g.pcie_switch = w.pcie_switch();
  g.host_bridge = w.host_bridge();
  g.near_cores = numbers(w.near_cores());
  g.uuid = w.uuid();
  g.memory_mb = w.memory_mb();
  g.devices = {w.devices().begin(), w.devices().end()};
  return g;
}

void set_nic(Nic* w, const model::Nic& n) {
  w->set_name(n.name);
  w->set_pci(n.pci);
  w->set_kind(n.kind);
  w->set_socket(n.socket);
  w->set_numa(n.numa);
  w->set_pcie_switch(n.pcie_switch);
  w->set_host_bridge(n.host_bridge);
}

model::Nic nic_from(const Nic& w) {
  model::Nic n;
  n.name = w.name();
  n.pci = w.pci();
  n.kind = w.kind();
  n.socket = w.socket();
  n.numa = w.numa();
  n.pcie_switch = w.pcie_switch();
  n.host_bridge = w.host_bridge();
  return n;
}

void add_links(NodeTopology* w, const std::vector<std::vector<uint64_t>>& matrix) {
  for (uint32_t a = 0; a < matrix.size(); ++a)
    for (uint32_t b = a + 1; b < matrix[a].size(); ++b) {
      if (matrix[a][b] == 0) continue;
      GpuLink* link = w->add_links();
      link->set_a(a);
      link->set_b(b);
      link->set_mbps(matrix[a][b]);
    }
}

base::Status links_from(const NodeTopology& w, model::NodeTopology& t) {
  const size_t count = t.gpus.size();
  if (w.links_size() == 0) return {};
  t.gpu_links.assign(count, std::vector<uint64_t>(count, 0));
  for (const GpuLink& link : w.links()) {
    if (link.a() >= count || link.b() >= count || link.a() == link.b())
      return fail(ErrorCode::kProtocol, "a link between GPUs " + std::to_string(link.a()) + " and " +
                                            std::to_string(link.b()) + " of " + std::to_string(count));
    t.gpu_links[link.a()][link.b()] = t.gpu_links[link.b()][link.a()] = link.mbps();
  }
  return {};
}

/// "gpu:h100:8,gpu:t4:1"
std::string gres_of(const model::NodeTopology& t) {
  std::map<std::string, uint32_t> counts;
  for (const model::Gpu& g : t.gpus) ++counts[g.type];
  std::string text;
  for (const auto& [type, count] : counts)
    text += (text.empty() ? "gpu:" : ",gpu:") + (type.empty() ? "" : type + ":") + std::to_string(count);
  return text;
}

void set_summary(Node& w, const model::NodeTopology& t) {
  w.set_total_gpus(static_cast<uint32_t>(t.gpus.size()));
  w.set_gres(gres_of(t));
  w.set_sockets(t.sockets);
  w.set_cores(static_cast<uint32_t>(t.cores.size()));
  w.set_threads_per_core(t.threads_per_core());
  w.set_total_cpus(t.cpu_count());
  w.set_total_mem_mb(t.memory_mb);
}

}  // namespace

NodeTopology to_wire(const model::NodeTopology& t) {
  NodeTopology w;
  w.set_product(t.product);
  w.set_link_name(t.link_name);
  w.set_sockets(t.sockets);
  for (const model::NumaNode& n : t.numa_nodes) {
    NumaNode* m = w.add_numa_nodes();
    m->set_os_index(n.os_index);
    m->set_socket(n.socket);
    m->set_memory_mb(n.memory_mb);
  }
  for (const model::Core& c : t.cores) {
    Core* m = w.add_cores();
    m->set_socket(c.socket);
    m->set_numa(c.numa);
    m->set_l3(c.l3);
    m->mutable_pus()->Assign(c.pus.begin(), c.pus.end());
  }
  w.set_memory_mb(t.memory_mb);
  for (const model::Gpu& g : t.gpus) set_gpu(w.add_gpus(), g);
  for (const model::Nic& n : t.nics) set_nic(w.add_nics(), n);
  add_links(&w, t.gpu_links);
  return w;
}

base::Result<model::NodeTopology> from_wire(const NodeTopology& w) {
  if (w.gpus_size() > kMaxGpusPerNode || w.cores_size() > kMaxCores || w.nics_size() > kMaxDevices ||
      w.numa_nodes_size() > kMaxDevices)
    return fail(ErrorCode::kProtocol, "a node description with more devices than any machine has");
  model::NodeTopology t;
  t.product = w.product();
  t.link_name = w.link_name();
  t.sockets = w.sockets();
  for (const NumaNode& n : w.numa_nodes()) t.numa_nodes.push_back({n.os_index(), n.socket(), n.memory_mb()});
  for (const Core& c : w.cores()) t.cores.push_back({c.socket(), c.numa(), c.l3(), numbers(c.pus())});
  t.memory_mb = w.memory_mb();
  for (const Gpu& g : w.gpus()) t.gpus.push_back(gpu_from(g));
  for (const Nic& n : w.nics()) t.nics.push_back(nic_from(n));
  GW_TRY_STATUS(links_from(w, t));
  GW_TRY_STATUS(model::validate(t));
  return t;
}

NodeHost to_wire(const model::NodeHost& host) {
  NodeHost w;
  w.set_os(host.os);
  w.set_arch(host.arch);
  w.set_booted_us(host.booted.us);
  w.set_started_us(host.started.us);
  return w;
}

model::NodeHost from_wire(const NodeHost& w) { return {w.os(), w.arch(), {w.booted_us()}, {w.started_us()}}; }

Node to_wire(const model::Node& n, bool with_topology) {
  Node w;
  w.set_name(n.config.name);
  if (with_topology && n.topology) *w.mutable_topology() = to_wire(*n.topology);
  w.set_admin(static_cast<uint32_t>(n.admin));
  w.set_reason(n.reason);
  w.set_reason_uid(n.reason_uid);
  w.set_reason_user(n.reason_user);
  w.set_reason_time_us(n.reason_time.us);
  w.set_boot_id(n.boot_id);
  w.set_version(n.version);
  for (const auto& [index, reason] : n.offline_gpus) (*w.mutable_offline_gpus())[index] = reason;
  w.set_warning(n.warning);
  w.set_last_seen_us(n.last_seen.us);
  w.set_containment(n.containment);
  w.set_is_emulated(n.is_emulated);
  *w.mutable_host() = to_wire(n.host);
  w.set_connected(n.connected);
  w.set_since_us(n.since.us);
  w.set_peer_address(n.peer_address);
  w.mutable_features()->Assign(n.config.features.begin(), n.config.features.end());
  w.set_weight(n.config.weight);
  if (n.topology) set_summary(w, *n.topology);
  if (const std::string more = model::format_gres(n.config.gres); !more.empty())
    w.set_gres(w.gres() + (w.gres().empty() ? "" : ",") + more);
  w.set_tmp_mb(n.config.tmp_mb);
  return w;
}

base::Status stored_from_wire(const Node& w, model::Node& n) {
  if (w.admin() > static_cast<uint32_t>(model::NodeAdmin::kDown))
    return fail(ErrorCode::kProtocol, "unknown node state " + std::to_string(w.admin()));
  if (w.has_topology()) {
    GW_TRY(topology, from_wire(w.topology()));
    n.topology = std::make_shared<const model::NodeTopology>(std::move(topology));
  }
  n.admin = static_cast<model::NodeAdmin>(w.admin());
  n.reason = w.reason();
  n.reason_uid = w.reason_uid();
  n.reason_user = w.reason_user();
  n.reason_time.us = w.reason_time_us();
  n.boot_id = w.boot_id();
  n.version = w.version();
  n.offline_gpus.clear();
  for (const auto& [index, reason] : w.offline_gpus()) n.offline_gpus[index] = reason;
  n.warning = w.warning();
  n.last_seen.us = w.last_seen_us();
  n.containment = w.containment();
  n.is_emulated = w.is_emulated();
  n.host = from_wire(w.host());
  return {};
}

}  // namespace gw::wire
