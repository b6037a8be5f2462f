// See cluster_json.h.
#include "webd/core/cluster_json.h"

#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/bitset.h"
#include "client/show/node_view.h"
#include "client/show/show_json.h"

namespace gw::webd {
namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const Json& j) { return j.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"; }

std::string offline_of(const wire::Node& node) {
  base::IndexSet out;
  for (const auto& [index, reason] : node.offline_gpus()) out.insert(index);
  return out.text();
}

Json topology_of(const wire::NodeTopology& t) {
  Json j;
  j["product"] = t.product();
  j["link_name"] = t.link_name();
  j["gpus"] = Json::array();
  for (const wire::Gpu& gpu : t.gpus())
    j["gpus"].push_back({{"type", gpu.type()},
                         {"model", gpu.model()},
                         {"numa", gpu.numa()},
                         {"socket", gpu.socket()},
                         {"pcie_switch", gpu.pcie_switch()},
                         {"memory_mb", gpu.memory_mb()}});
  j["nics"] = Json::array();
  for (const wire::Nic& nic : t.nics())
    j["nics"].push_back({{"name", nic.name()}, {"numa", nic.numa()}, {"pcie_switch", nic.pcie_switch()}});
  j["links"] = Json::array();
  for (const wire::GpuLink& link : t.links()) j["links"].push_back({link.a(), link.b(), link.mbps()});
  return j;
}

}  // namespace

std::string cluster_json(const wire::PingReply& ping, const wire::ListNodesReply& nodes) {
  Json j{{"schema_version", client::kSchemaVersion}, {"cluster", ping.cluster()}, {"version", ping.version()}};
  j["jobs"] = {{"pending", ping.pending()}, {"running", ping.running()}};
  uint32_t total = 0, used = 0, offline = 0, free = 0;
  std::map<std::string, size_t> numbers;
  std::vector<std::string> states;
  Json list = Json::array();
  for (const wire::Node& node : nodes.nodes()) {
    const client::GpuCounts gpus = client::gpu_counts(node);
    total += node.total_gpus();
    used += gpus.used;
    offline += gpus.offline;
    free += gpus.free;
    const auto [state, is_new] = numbers.try_emplace(node.state(), states.size());
    if (is_new) states.push_back(node.state());
    list.push_back({node.name(), state->second, node.total_gpus(), node.alloc_gpus(), offline_of(node)});
  }
  j["gpus"] = {{"total", total}, {"in_use", used}, {"free", free}, {"offline", offline}};
  j["states"] = states;
  j["nodes"] = std::move(list);
  j["last_update"] = nodes.now_us() / 1'000'000;
  return text_of(j);
}

std::string me_json(const wire::Token* token) {
  Json j{{"schema_version", client::kSchemaVersion}};
  j["user"] = token == nullptr ? Json(nullptr) : Json(token->user());
  j["read_only"] = token == nullptr || token->read_only();
  j["expires"] = token == nullptr ? Json(nullptr) : Json(token->expires_us() / 1'000'000);
  return text_of(j);
}

std::string node_json(const wire::ListNodesReply& nodes) {
  Json j = Json::parse(client::nodes_json(nodes));
  for (int i = 0; i < nodes.nodes_size(); ++i)
    j["nodes"][static_cast<size_t>(i)]["topology"] = topology_of(nodes.nodes(i).topology());
  return text_of(j);
}

}  // namespace gw::webd
