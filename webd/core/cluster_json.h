// JSON that no command prints: the cluster in little, one node with its links, who asks.
#pragma once

#include <string>

#include "wire/api.pb.h"

namespace gw::webd {

/// {"schema_version", "cluster", "jobs": {...}, "gpus": {...}, "states": [...], "nodes": [[NAME, STATE, GPUS, USED,
/// OFFLINE], ...], "last_update"}: STATE is an index of "states"; USED and OFFLINE are sets of GPUs, "0-3". Nodes in
/// the order of the reply.
std::string cluster_json(const wire::PingReply& ping, const wire::ListNodesReply& nodes);

/// {"schema_version", "user", "read_only", "expires"}: whose the token is; null: nobody's.
std::string me_json(const wire::Token* token);

/// nodes_json() and of each node "topology": what lies where, and which GPUs are linked.
std::string node_json(const wire::ListNodesReply& nodes);

}  // namespace gw::webd
