// Elastic gangs in the daemon: a gang that runs gets more nodes, and gives some back, while its script continues.
// Invariants: an extension is one node that the gang does not need to continue; to the scheduler it is a holding of its
// own, to the gang a share like the others, behind those it started with; its script is told of every change once it
// holds: of nodes that come when they are ready, of nodes that go before they are cleaned up.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// The job holds this share under an id of its own, from `since` on.
void emit_extension(Core& core, const model::Job& job, const model::Extension& extension, const model::NodeShare& share,
                    Time since);
/// The gang gets a node more. Nothing happens if that no longer holds: the scheduler thinks again.
void commit_growth(Core& core, const sched::Grow& grow);
/// A node that was to join is ready. False: it is none of those.
bool extension_ready(Core& core, model::Job& job, NodeId node);
/// Others need a node of the gang's above its smallest size. False: it has none of that number, or that one leaves
/// already.
bool shrink(Core& core, const sched::Preempt& victim);
/// Some extension should be ready, or gone.
void extensions_due(Core& core, model::Job& job);
/// A node that reports what it has of the job is told again what it has missed. False: it is no such node.
bool repeat_to_extension(Core& core, model::Job& job, NodeId node, std::optional<wire::RunPhase> phase);
/// A node above the smallest size is lost, or has left: the gang continues without it. False: it is none of those.
bool extension_gone(Core& core, model::Job& job, NodeId node, const std::string& why);

}  // namespace gw::ctld
