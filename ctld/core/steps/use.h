// What running steps use now, asked of their nodes.
// Invariants: a request is answered once: when every node has said it, or after a limit with what is there, naming the
// nodes that gave none; the number of requests under way is bounded, and a client that has gone is forgotten.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// Asks the nodes of a job or a step what it uses; answered when all have said it, or after a while.
void ask_use(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request);
/// What a node says of use.
void on_use(Core& core, NodeId node, const wire::Usage& m);
/// The answer goes out with what is known by now.
void answer_use(Core& core, uint64_t id);

}  // namespace gw::ctld
