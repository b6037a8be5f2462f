// The one door by which messages come in: bounds first, then the parser. Nothing else parses what users and nodes send.
#pragma once

#include <memory>
#include <string_view>

#include "base/result.h"
#include "wire/api.pb.h"
#include "wire/node.pb.h"
#include "wire/topologies.h"

namespace gw::wire {

/// Errors: kProtocol if the bytes are no request; else a bound is exceeded: check_bounds().
base::Result<ApiRequest> receive_request(std::string_view bytes);
base::Result<NodeToController> receive_node_message(std::string_view bytes);

/// A message of a node, and what the topology in it says. Null: there is none, or `message` says it, right or wrong.
struct NodeMessage {
  NodeToController message;
  Topologies::Ptr topology;
};
/// The same; a topology that is known is neither checked nor parsed again, and another is made known.
base::Result<NodeMessage> receive_node_message(std::string_view bytes, Topologies& known);

}  // namespace gw::wire
