// See node_allocation.h.
#include "noded/core/node_allocation.h"

#include <set>
#include <utility>

#include "base/bitset.h"
#include "model/job.h"

namespace gw::noded {

namespace {

base::Status check_indices(const std::string& text, int count, const std::string& what) {
  GW_TRY(set, base::IndexSet::parse(text));
  for (uint32_t i = set.next(0); i != UINT32_MAX; i = set.next(i + 1))
    if (i >= static_cast<uint32_t>(count))
      return base::invalid("the controller gave " + what + " " + std::to_string(i) + ", but this node has " +
                           std::to_string(count));
  return {};
}

base::IndexSet index_set(const std::string& text) {
  auto set = base::IndexSet::parse(text);
  return set ? std::move(*set) : base::IndexSet{};
}

std::string pus_of(const wire::NodeTopology& topology, const std::string& cores) {
  base::IndexSet pus;
  for (uint32_t core : index_set(cores).to_vector())
    for (uint32_t pu : topology.cores(static_cast<int>(core)).pus()) pus.insert(pu);
  return pus.text();
}

// All NUMA nodes: the kernel takes the nearest memory first anyway, and a job whose memory is more than that of its own
// sockets must not be killed while the node has enough.
std::string all_mems(const wire::NodeTopology& topology) {
  base::IndexSet mems;
  for (const wire::NumaNode& numa : topology.numa_nodes()) mems.insert(numa.os_index());
  return mems.text();
}

void add_devices(const NodeFacts& node, const wire::NodeShare& share, wire::Containment& c) {
  std::set<std::string> all, allowed;
  for (const wire::Gpu& gpu : node.topology.gpus()) all.insert(gpu.devices().begin(), gpu.devices().end());
  for (uint32_t i : index_set(share.gpus()).to_vector()) {
    const auto& devices = node.topology.gpus(static_cast<int>(i)).devices();
    allowed.insert(devices.begin(), devices.end());
  }
  for (const std::string& device : all) c.add_all_devices(device);
  for (const std::string& device : allowed) c.add_allow_devices(device);
}

}  // namespace

bool runs_script(const wire::Prepare& prepare) {
  if (prepare.spec().kind() != static_cast<uint32_t>(model::JobKind::kBatch)) return false;
  return prepare.gang().node_id() == 0 && prepare.spec().het_offset() == 0;
}

base::Status check_share(const NodeFacts& node, const wire::NodeShare& share) {
  if (share.node() != node.name)
    return base::invalid("the share is that of node \"" + share.node() + "\", not of " + node.name);
  GW_TRY_STATUS(check_indices(share.cores(), node.topology.cores_size(), "core"));
  GW_TRY_STATUS(check_indices(share.gpus(), node.topology.gpus_size(), "GPU"));
  return {};
}

std::string job_group(const NodeFacts& node, const RunKey& run) {
  return "gangway/" + node.cluster + "/" + node.name + "/job_" + run.own().text();
}

wire::Containment make_containment(const NodeFacts& node, const wire::Prepare& prepare) {
  const wire::NodeShare& share = prepare.share();
  wire::Containment c;
  c.set_kind(node.containment);
  c.set_group(job_group(node, {prepare.job(), prepare.attempt(), 0}));
  c.set_mem_limit_mb(share.mem_mb());
  c.set_max_pids(node.max_processes);
  if (node.is_emulated) return c;
  c.set_cpus(pus_of(node.topology, share.cores()));
  if (!c.cpus().empty()) c.set_mems(all_mems(node.topology));
  if (node.constrain_devices) add_devices(node, share, c);
  return c;
}

wire::Containment step_containment(const NodeFacts& node, const RunKey& step, const std::string& kind) {
  wire::Containment c;
  c.set_kind(kind.empty() ? node.containment : kind);
  c.set_parent(job_group(node, step));
  c.set_group(c.parent() + "/step_" + step.step_name());
  return c;
}

}  // namespace gw::noded
