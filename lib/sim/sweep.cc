// See sweep.h.
#include "sim/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/counted.h"
#include "base/hostlist.h"
#include "base/text.h"

namespace gw::sim {
namespace {

using base::Result;
using config::ScenarioCluster;

/// Switches hold ranges of the order of the nodes: both shrink alike, and what is empty goes.
model::Network without(const model::Network& network, const std::set<std::string>& gone) {
  model::Network out;
  std::vector<uint32_t> before = {0};  // nodes that stay, of the first so many
  for (const std::string& name : network.order) {
    if (!gone.contains(name)) out.order.push_back(name);
    before.push_back(static_cast<uint32_t>(out.order.size()));
  }
  std::vector<uint32_t> number(network.switches.size(), UINT32_MAX);
  for (size_t i = 0; i < network.switches.size(); ++i) {
    model::Switch s = network.switches[i];
    s.first = before[s.first];
    s.last = before[s.last];
    if (s.first == s.last) continue;
    number[i] = static_cast<uint32_t>(out.switches.size());
    out.switches.push_back(std::move(s));
  }
  for (model::Switch& s : out.switches)
    if (s.parent != UINT32_MAX) s.parent = number[s.parent];
  return out;
}

void shrink(ScenarioCluster& cluster, uint32_t nodes) {
  std::set<std::string> gone;
  for (size_t i = nodes; i < cluster.nodes.size(); ++i) gone.insert(cluster.nodes[i].name);
  cluster.nodes.resize(nodes);
  const auto is_gone = [&gone](const std::string& name) { return gone.contains(name); };
  for (model::Partition& p : cluster.partitions) std::erase_if(p.nodes, is_gone);
  for (config::ScenarioReservation& r : cluster.reservations) std::erase_if(r.nodes, is_gone);
  std::erase_if(cluster.reservations, [](const auto& r) { return r.nodes.empty(); });
  cluster.network = without(cluster.network, gone);
}

/// "n7" after "n3" where n4 to n6 are taken; digits keep their number ("n008").
std::string next_name(const std::string& name, std::set<std::string>& taken) {
  const size_t digits = name.find_last_not_of("0123456789") + 1;
  constexpr size_t kMostDigits = 9;
  const bool is_numbered = digits < name.size() && name.size() - digits <= kMostDigits;
  const std::string stem = is_numbered ? name.substr(0, digits) : name + "-";
  const size_t width = is_numbered ? name.size() - digits : 1;
  uint64_t number = is_numbered ? std::stoull(name.substr(digits)) : 0;
  std::string next;
  do next = fmt::format("{}{:0{}}", stem, ++number, width);
  while (!taken.insert(next).second);
  return next;
}

void grow(ScenarioCluster& cluster, uint32_t nodes) {
  std::set<std::string> taken;
  for (const config::ScenarioNode& node : cluster.nodes) taken.insert(node.name);
  config::ScenarioNode node = cluster.nodes.back();
  std::vector<model::Partition*> joined;
  for (model::Partition& p : cluster.partitions)
    if (std::find(p.nodes.begin(), p.nodes.end(), node.name) != p.nodes.end()) joined.push_back(&p);
  while (cluster.nodes.size() < nodes) {
    node.name = next_name(node.name, taken);
    cluster.nodes.push_back(node);
    for (model::Partition* p : joined) p->nodes.push_back(node.name);
  }
}

base::Error no_sweep(std::string_view text) {
  return {base::ErrorCode::kInvalid,
          fmt::format("--sweep: \"{}\" is not a range of cluster sizes", base::printable(text)),
          "write nodes=40..60, or nodes=40..60:5 for every fifth size"};
}

}  // namespace

std::vector<uint32_t> Sweep::sizes() const {
  std::vector<uint32_t> out;
  for (uint32_t nodes = from; nodes <= to; nodes += step) out.push_back(nodes);
  return out;
}

Result<Sweep> parse_sweep(std::string_view text) {
  constexpr std::string_view kKey = "nodes=";
  if (!text.starts_with(kKey)) return tl::unexpected(no_sweep(text));
  const std::string_view range = text.substr(kKey.size());
  const size_t dots = range.find(".."), colon = range.find(':');
  if (dots == std::string_view::npos || colon < dots) return tl::unexpected(no_sweep(text));
  const auto number = [&](std::string_view digits) -> Result<uint32_t> {
    const auto parsed = base::parse_int(digits, 1, static_cast<int64_t>(base::kMaxHosts), "nodes");
    if (!parsed) return tl::unexpected(no_sweep(text));
    return static_cast<uint32_t>(*parsed);
  };
  Sweep sweep;
  GW_TRY(from, number(range.substr(0, dots)));
  GW_TRY(to, number(range.substr(dots + 2, colon == std::string_view::npos ? colon : colon - dots - 2)));
  sweep.from = from;
  sweep.to = to;
  if (colon != std::string_view::npos) {
    GW_TRY(step, number(range.substr(colon + 1)));
    sweep.step = step;
  }
  if (from > to)
    return base::invalid(fmt::format("--sweep: {} nodes are more than {}", from, to), "write the smaller size first");
  if ((to - from) / sweep.step >= kMostSizes)
    return base::invalid(fmt::format("--sweep: more than {} sizes", kMostSizes),
                         fmt::format("leave some out: nodes={}..{}:{}", from, to, (to - from) / kMostSizes + 1));
  return sweep;
}

Result<ScenarioCluster> with_nodes(const ScenarioCluster& cluster, uint32_t nodes) {
  ScenarioCluster out = cluster;
  const size_t there = cluster.nodes.size();
  if (nodes <= there) {
    shrink(out, nodes);
    return out;
  }
  if (!cluster.network.empty())
    return base::invalid(
        fmt::format("--sweep: {} wanted, but the cluster has {} and a network that says where each is",
                    base::counted(nodes, "node"), there),
        "write the nodes and switches of the largest cluster into the file: smaller ones are its first nodes");
  grow(out, nodes);
  return out;
}

SweepPoint point_of(const Replay& replay) {
  return {static_cast<uint32_t>(replay.cluster->nodes.size()),
          static_cast<double>(replay.engine->gpu_milli()) / model::kWholeGpu, summarise(*replay.engine)};
}

}  // namespace gw::sim
