// Partitions and what administrators change: node states, single GPUs, partitions, the configuration.
#include <fmt/format.h>

#include <algorithm>

#include "base/counted.h"
#include "base/text.h"
#include "ctld/core/controller.h"
#include "ctld/core/names.h"
#include "wire/convert.h"

namespace gw::ctld {

using model::Node;
using model::NodeAdmin;

void Controller::configure_pools() {
  std::map<std::string, model::Partition> before = std::move(partitions_);
  partitions_.clear();
  for (const auto& [name, own] : made_partitions_) {
    model::KeyNames said;
    for (const auto& [key, by] : said_[name]) said.insert(key);
    partitions_[name] = over_defaults(own, said);
  }
  for (const model::Partition& configured : settings_.partitions) {
    if (gone_partitions_.contains(configured.name)) continue;
    model::Partition& p = partitions_[configured.name] = configured;
    // An administrator's word on the state outlives a reload; limits come from the file.
    SaidKeys& said = said_[p.name];
    std::erase_if(said, [](const auto& key) { return key.first != "state"; });
    const bool was_made = made_partitions_.erase(p.name) > 0;  // the file has it now
    if (const auto it = before.find(p.name); it != before.end() && said.contains("state")) p.state = it->second.state;
    if (was_made) store_partition(p);
  }
  for (const auto& [name, p] : partitions_) publish_partition(p);
  for (const auto& [name, p] : before) {
    if (partitions_.contains(name)) continue;
    withdraw_partition(name);
    said_.erase(name);
  }
}

void Controller::configure_scheduler() {
  if (!settings_.policy.order) settings_.policy.order = *sched::make_order("fifo_skip");
  settings_.policy.grace = std::max(settings_.policy.grace, base::seconds(1));
  feed_.tell(sched::PolicySet{settings_.policy});
  ledger_.set_network(settings_.network);
}

void Controller::update_node(Time now, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  const wire::UpdateNodeRequest& u = request.update_node();
  if (u.names().empty()) return out_.refuse(conn, request.id(), {base::ErrorCode::kInvalid, "no node named", ""});
  std::vector<std::string> names(u.names().begin(), u.names().end());
  base::drop_duplicates(names);
  for (const std::string& name : names) {
    if (nodes_.find(name) != nullptr) continue;
    return out_.refuse(conn, request.id(), invalid_name(base::ErrorCode::kNotFound, "node name", name, nodes_.names()));
  }
  // All of them or none: a refusal must not leave half of the list changed.
  for (const std::string& name : names)
    if (const base::Status fit = check_node_update(*nodes_.find(name), u); !fit)
      return out_.refuse(conn, request.id(), fit.error());
  for (const std::string& name : names) update_one_node(now, caller, *nodes_.find(name), u);
  wire::ApiReply out;
  out.mutable_ok();
  reply_change(now, conn, caller, request, std::move(out));
}

base::Status Controller::check_node_update(const Node& node, const wire::UpdateNodeRequest& u) const {
  const std::string& name = node.config.name;
  switch (u.action()) {
    case wire::kNodeDrain:
    case wire::kNodeDown:
      if (u.reason().empty() && !u.dead() && node.reason.empty())
        return base::invalid("a reason is needed to drain or down node " + name, "add Reason=\"...\"");
      if (u.dead() && node.connected)
        return base::fail(base::ErrorCode::kConflict, "node " + name + " is connected: it is not dead",
                          "stop its gnoded first, or use State=DRAIN");
      return {};
    case wire::kNodeResume:
      return {};
    case wire::kEndForeign:
      if (foreign_.on(node.id).empty())
        return base::invalid("node " + name + " has no run that the state does not know");
      if (!node.connected)
        return base::fail(base::ErrorCode::kUnavailable, "node " + name + " is out of reach",
                          "say it again when it is back");
      return {};
    case wire::kGpuOffline:
    case wire::kGpuOnline: {
      const size_t have = node.topology ? node.topology->gpus.size() : 0;
      for (uint32_t g : u.gpus())
        if (g >= have) return base::invalid(fmt::format("node {} has no GPU {}; it has {}", name, g, have));
      if (u.gpus().empty()) return base::invalid("no GPU named", "add Gpu=INDEX");
      if (u.action() == wire::kGpuOffline && u.reason().empty())
        return base::invalid("a reason is needed to take a GPU offline", "add Reason=\"...\"");
      return {};
    }
    default:
      return base::invalid("unknown node action");
  }
}

/// What check_node_update() let pass.
void Controller::update_one_node(Time now, const Caller& caller, Node& node, const wire::UpdateNodeRequest& u) {
  const std::string& name = node.config.name;
  if (u.action() == wire::kEndForeign) {
    out_.node_event(now, node, "foreign runs",
                    fmt::format("{} are ended by {}", foreign_.text_on(node.id), caller.user), caller.uid);
    for (const ForeignRun& run : foreign_.on(node.id)) stop_foreign(run);
    return;
  }
  switch (u.action()) {
    case wire::kNodeDrain:
    case wire::kNodeDown:
      node.admin = u.action() == wire::kNodeDrain ? NodeAdmin::kDrain : NodeAdmin::kDown;
      if (!u.reason().empty())
        node.reason = base::printable(u.reason(), 1000);
      else if (u.dead())
        node.reason = "declared dead";
      node.reason_uid = caller.uid;
      node.reason_user = caller.user;
      node.reason_time = now;
      break;
    case wire::kNodeResume:
      node.admin = NodeAdmin::kUp;
      node.reason.clear();
      node.reason_user.clear();
      node.reason_time = {};
      launch_faults_.erase(node.id);
      break;
    default:
      for (uint32_t g : u.gpus()) {
        if (u.action() == wire::kGpuOffline)
          node.offline_gpus[g] = base::printable(u.reason(), 1000);
        else
          node.offline_gpus.erase(g);
      }
  }
  static const std::map<wire::NodeAction, std::string> kNames = {{wire::kNodeDrain, "drained"},
                                                                 {wire::kNodeDown, "set down"},
                                                                 {wire::kNodeResume, "resumed"},
                                                                 {wire::kGpuOffline, "GPU offline"},
                                                                 {wire::kGpuOnline, "GPU online"}};
  nodes_.changed(node);
  out_.node_event(now, node, kNames.at(u.action()),
                  fmt::format("by {}: {}", caller.user, base::printable(u.reason(), 1000)), caller.uid);
  publish_node(node);
  if (u.action() == wire::kNodeDown && u.dead())
    node_dead(now, node, "node " + name + " was declared dead by " + caller.user);
}

/// It was taken out of the configuration.
void Controller::withdraw_node(const Node& node, wire::ApiReply& told) {
  const NodeId id = node.id;
  if (!placements_.on(id).empty()) {
    told.mutable_reconfigure()->add_warnings(fmt::format("node {} still has {}: it stays until then", node.config.name,
                                                         base::counted(placements_.on(id).size(), "job")));
    return;
  }
  if (const auto link = nodes_.link_of(id)) out_.send(CloseLink{*link, "the node was taken out of the configuration"});
  ledger_.remove_node(id);
  foreign_.set(id, {});
  nodes_.erase(id);
}

void Controller::on_reconfigured(Time now, Settings settings, const Reload& reply_to,
                                 const std::vector<std::string>& changes, const std::vector<std::string>& warnings) {
  wire::ApiReply out;
  for (const std::string& c : changes) out.mutable_reconfigure()->add_changes(c);
  for (const std::string& w : warnings) out.mutable_reconfigure()->add_warnings(w);
  out.mutable_reconfigure();
  // Nodes that left the file keep their record while jobs hold them.
  std::set<std::string> kept;
  for (const model::NodeConfig& n : settings.nodes) kept.insert(n.name);
  for (const std::string& name : nodes_.names())
    if (!kept.contains(name)) withdraw_node(*nodes_.find(name), out);
  if (settings.qos != settings_.qos)
    out.mutable_reconfigure()->add_warnings(
        "qos: is read at the first start only, since then the tree is changed by gacctmgr: nothing of it was taken "
        "over");
  settings_ = std::move(settings);
  kept_replies_.set_limits({settings_.per_user.kept_replies, settings_.per_user.kept_reply_bytes});
  usage_.set_half_life(settings_.usage_half_life, now);
  configure_scheduler();
  publish_usage(now);
  configure_nodes(now);
  configure_pools();
  std::map<std::string, size_t> stranded;
  for (const auto& [id, job] : jobs_.all()) {
    if (job.waiting() == nullptr) continue;
    for (const std::string& name : job.spec.partitions) stranded[name] += !partitions_.contains(name);
  }
  for (const auto& [name, count] : stranded)
    if (count > 0)
      out.mutable_reconfigure()->add_warnings(
          fmt::format("partition {} is gone, but {} for it: gcontrol update moves them", name,
                      count == 1 ? "1 job waits" : fmt::format("{} jobs wait", count)));
  for (const std::string& c : changes) out_.note("reconfigured: " + c);
  if (reply_to.conn != 0) out_.reply(reply_to.conn, reply_to.request_id, std::move(out));
}

}  // namespace gw::ctld
