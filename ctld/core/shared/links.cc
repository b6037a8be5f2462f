// See links.h.
#include "ctld/core/shared/links.h"

#include <algorithm>
#include <utility>

namespace gw::ctld {

using model::Job;

void send_to_node(Core& core, NodeId node, wire::ControllerToNode message, const Job* script_of, bool at_once) {
  const auto link = core.nodes.link_of(node);
  if (!link) return;  // reconcile() says it again when the node is back
  ToNode out{*link, std::move(message), {}, {}, at_once};
  if (script_of != nullptr) {
    out.script_hash = script_of->spec.launch.script_hash;
    out.env_hash = script_of->spec.launch.env_hash;
  }
  core.out.send(std::move(out));
}

}  // namespace gw::ctld
