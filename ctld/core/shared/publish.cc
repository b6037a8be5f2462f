// See publish.h.
#include "ctld/core/shared/publish.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/counted.h"
#include "sched/quota/quota_tree.h"

namespace gw::ctld {

using model::Node;

namespace {

/// What may run there although its row cannot be read.
std::string why_held(const Core& core, const std::string& node) {
  const std::string jobs = core.stored.held.text_on(node);
  return jobs.empty() ? "" : fmt::format("; it may run {}, whose stored row cannot be read", jobs);
}

sched::NodeFacts facts_of(const Core& core, const Node& node) {
  sched::NodeFacts facts;
  facts.id = node.id;
  facts.name = node.config.name;
  facts.topology = node.topology;
  facts.features = node.config.features;
  facts.weight = node.config.weight;
  facts.gres = node.config.gres;
  facts.tmp_mb = node.config.tmp_mb;
  facts.version = model::parse_version(node.version);
  if (node.topology) {
    const auto cores = static_cast<uint32_t>(node.topology->cores.size());
    // The first cores are kept for the system.
    for (uint32_t c = std::min(node.config.reserved_cores, cores); c < cores; ++c) facts.cores.insert(c);
    for (uint32_t g = 0; g < node.topology->gpus.size(); ++g)
      if (!node.offline_gpus.contains(g)) facts.gpus.insert(g);
    facts.mem_mb = node.topology->memory_mb - std::min(node.config.reserved_mem_mb, node.topology->memory_mb);
  }
  if (!node.topology)
    facts.unusable_why = "not registered yet";
  else if (node.admin == model::NodeAdmin::kDown)
    facts.unusable_why = "down" + (node.reason.empty() ? "" : ": " + node.reason);
  else if (node.admin == model::NodeAdmin::kDrain)
    facts.unusable_why = "drained" + (node.reason.empty() ? "" : ": " + node.reason);
  else if (!node.connected)
    facts.unusable_why = "out of reach" + why_held(core, node.config.name);
  else if (!core.watch.foreign.on(node.id).empty())
    facts.unusable_why = "kept for runs that the state does not know: " + core.watch.foreign.text_on(node.id) +
                         why_held(core, node.config.name);
  else if (core.watch.heard_by)
    facts.unusable_why =
        "unused until all nodes have said what they run, since the state was restored from an older copy";
  facts.usable = facts.unusable_why.empty();
  return facts;
}

}  // namespace

void withdraw_node(Core& core, const Node& node, wire::ApiReply& told) {
  const NodeId id = node.id;
  if (!core.placements.on(id).empty()) {
    told.mutable_reconfigure()->add_warnings(fmt::format("node {} still has {}: it stays until then", node.config.name,
                                                         base::counted(core.placements.on(id).size(), "job")));
    return;
  }
  if (const auto link = core.nodes.link_of(id))
    core.out.send(CloseLink{*link, "the node was taken out of the configuration"});
  core.ledger.remove_node(id);
  core.watch.foreign.set(id, {});
  core.nodes.erase(id);
}

void configure_nodes(Core& core) {
  for (const model::NodeConfig& config : core.settings.nodes) {
    Node* known = core.nodes.find(config.name);
    if (known == nullptr) {
      known = &core.nodes.add(config.name);
      known->config = config;
      known->since = core.now;
      core.timers.set({core.now + core.settings.node_timeout, TimerKind::kNodeDown, known->id.value, 0});
    } else {
      known->config = config;
    }
    publish_node(core, *known);
  }
}

void publish_node(Core& core, const Node& node) { core.ledger.set_node(facts_of(core, node)); }

}  // namespace gw::ctld
