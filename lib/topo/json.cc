// A node's topology as JSON; see render.h.
#include <nlohmann/json.hpp>

#include "topo/render.h"

namespace gw::topo {
namespace {

using json = nlohmann::ordered_json;
using model::NodeTopology;

json text_or_null(const std::string& text) { return text.empty() ? json(nullptr) : json(text); }

json gpu_json(const NodeTopology& node, uint32_t i, const std::vector<GpuUse>& uses) {
  const auto& g = node.gpus[i];
  json out{{"index", i},
           {"model", g.model},
           {"type", g.type},
           {"vendor", g.vendor},
           {"pci", g.pci},
           {"partition", g.partition},
           {"numa", g.numa},
           {"socket", g.socket},
           {"pcie_switch", g.pcie_switch},
           {"host_bridge", g.host_bridge},
           {"uuid", text_or_null(g.uuid)},
           {"memory_mb", g.memory_mb},
           {"near_cores", g.near_cores},
           {"devices", g.devices}};
  json jobs = json::array();
  bool offline = false;
  for (const auto& use : uses) {
    if (use.gpu != i) continue;
    if (use.job) jobs.push_back({{"job", use.job.value}, {"label", use.label}});
    offline = offline || use.offline;
  }
  out["job"] = jobs.empty() ? json(nullptr) : jobs.front()["job"];
  out["jobs"] = std::move(jobs);
  out["offline"] = offline;
  return out;
}

json numa_json(const NodeTopology& node, uint32_t i) {
  const auto& n = node.numa_nodes[i];
  json cores = json::array();
  for (uint32_t c = 0; c < node.cores.size(); ++c) {
    if (node.cores[c].numa == i) cores.push_back(c);
  }
  return {{"index", i}, {"os_index", n.os_index}, {"socket", n.socket}, {"memory_mb", n.memory_mb}, {"cores", cores}};
}

json nics_json(const NodeTopology& node) {
  json out = json::array();
  for (const auto& n : node.nics) {
    out.push_back({{"name", n.name},
                   {"kind", n.kind},
                   {"pci", n.pci},
                   {"numa", n.numa},
                   {"socket", n.socket},
                   {"pcie_switch", n.pcie_switch},
                   {"host_bridge", n.host_bridge}});
  }
  return out;
}

json links_json(const NodeTopology& node) {
  json out = json::array();
  for (uint32_t a = 0; a < node.gpus.size(); ++a) {
    for (uint32_t b = a + 1; b < node.gpus.size(); ++b) {
      if (const auto mbps = node.link_mbps(a, b); mbps > 0) out.push_back({{"a", a}, {"b", b}, {"mbps", mbps}});
    }
  }
  return out;
}

}  // namespace

std::string to_json(const NodeTopology& node, const std::vector<GpuUse>& uses) {
  json gpus = json::array(), numa = json::array();
  for (uint32_t i = 0; i < node.gpus.size(); ++i) gpus.push_back(gpu_json(node, i, uses));
  for (uint32_t i = 0; i < node.numa_nodes.size(); ++i) numa.push_back(numa_json(node, i));
  const json out{{"schema_version", 1},
                 {"node",
                  {{"product", text_or_null(node.product)},
                   {"sockets", node.sockets},
                   {"cores", node.cores.size()},
                   {"threads", node.cpu_count()},
                   {"memory_mb", node.memory_mb},
                   {"numa_nodes", std::move(numa)},
                   {"gpus", std::move(gpus)},
                   {"nics", nics_json(node)},
                   {"link_name", text_or_null(node.link_name)},
                   {"links", links_json(node)}}}};
  // Labels come from users: bytes that are not UTF-8 are replaced, not refused.
  return out.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace gw::topo
