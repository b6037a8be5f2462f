// Readiness of a private cluster.
#include "cmds/gangway/dev/dev_ready.h"

#include <fmt/format.h>

#include "cmds/gangway/shared/ask_controller.h"

namespace gw::cmds {

base::Status controller_answers(const std::string& config_path) {
  wire::ApiRequest request;
  request.mutable_ping();
  GW_TRY(reply, probe_controller(config_path, request));
  static_cast<void>(reply);
  return {};
}

base::Status nodes_are_connected(const std::string& config_path, uint32_t count) {
  wire::ApiRequest request;
  request.mutable_list_nodes();
  GW_TRY(reply, probe_controller(config_path, request));
  const auto& nodes = reply.list_nodes().nodes();
  for (const wire::Node& node : nodes) {
    if (node.state().ends_with('*')) {
      return base::fail(base::ErrorCode::kUnavailable, fmt::format("node {} is {}", node.name(), node.state()));
    }
  }
  if (static_cast<uint32_t>(nodes.size()) < count) {
    return base::fail(base::ErrorCode::kUnavailable, fmt::format("{} of {} nodes are there", nodes.size(), count));
  }
  return {};
}

}  // namespace gw::cmds
