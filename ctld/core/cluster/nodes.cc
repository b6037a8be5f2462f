// See nodes.h.
#include "ctld/core/cluster/nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "ctld/core/names.h"
#include "ctld/core/nodes/foreign.h"
#include "ctld/core/nodes/silence.h"
#include "ctld/core/shared/publish.h"
#include "ctld/core/shared/replies.h"

namespace gw::ctld {

using model::Node;
using model::NodeAdmin;

namespace {

base::Status check_node_update(const Core& core, const Node& node, const wire::UpdateNodeRequest& u) {
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
      if (core.watch.foreign.on(node.id).empty())
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
void update_one_node(Core& core, const Caller& caller, Node& node, const wire::UpdateNodeRequest& u) {
  const std::string& name = node.config.name;
  if (u.action() == wire::kEndForeign) {
    core.out.node_event(node, "foreign runs",
                        fmt::format("{} are ended by {}", core.watch.foreign.text_on(node.id), caller.user),
                        caller.uid);
    for (const ForeignRun& run : core.watch.foreign.on(node.id)) stop_foreign(core, run);
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
      node.reason_time = core.now;
      break;
    case wire::kNodeResume:
      node.admin = NodeAdmin::kUp;
      node.reason.clear();
      node.reason_user.clear();
      node.reason_time = {};
      core.watch.launch_faults.erase(node.id);
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
  core.nodes.changed(node);
  core.out.node_event(node, kNames.at(u.action()),
                      fmt::format("by {}: {}", caller.user, base::printable(u.reason(), 1000)), caller.uid);
  publish_node(core, node);
  if (u.action() == wire::kNodeDown && u.dead())
    node_dead(core, node, "node " + name + " was declared dead by " + caller.user);
}

}  // namespace

void update_node(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  const wire::UpdateNodeRequest& u = request.update_node();
  if (u.names().empty()) return core.out.refuse(conn, request.id(), {base::ErrorCode::kInvalid, "no node named", ""});
  std::vector<std::string> names(u.names().begin(), u.names().end());
  base::drop_duplicates(names);
  for (const std::string& name : names) {
    if (core.nodes.find(name) != nullptr) continue;
    return core.out.refuse(conn, request.id(),
                           invalid_name(base::ErrorCode::kNotFound, NameOf::kNode, name, core.nodes.names()));
  }
  // All of them or none: a refusal must not leave half of the list changed.
  for (const std::string& name : names)
    if (const base::Status fit = check_node_update(core, *core.nodes.find(name), u); !fit)
      return core.out.refuse(conn, request.id(), fit.error());
  for (const std::string& name : names) update_one_node(core, caller, *core.nodes.find(name), u);
  wire::ApiReply out;
  out.mutable_ok();
  reply_change(core, conn, caller, request, std::move(out));
}

}  // namespace gw::ctld
