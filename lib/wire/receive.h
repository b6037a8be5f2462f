// The one door by which messages come in: bounds first, then the parser. Nothing else parses what users and nodes send.
#pragma once

#include <string_view>

#include "base/result.h"
#include "wire/api.pb.h"
#include "wire/node.pb.h"

namespace gw::wire {

/// Errors: kProtocol if the bytes are no request; else a bound is exceeded: check_bounds().
base::Result<ApiRequest> receive_request(std::string_view bytes);
base::Result<NodeToController> receive_node_message(std::string_view bytes);

}  // namespace gw::wire
