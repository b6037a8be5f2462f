// What nodes say of steps: ready, failed, exited, gone. A step is kept until the last of its nodes says that nothing of
// it is left. What is to run only the client and the shepherds know.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// The step's shepherd is ready on the node.
void step_prepared(Core& core, NodeId node, const wire::Prepared& m);
/// The step cannot start there: it ends everywhere.
void step_failed(Core& core, NodeId node, const wire::PrepareFailed& m);
/// The step's tasks have ended on the node.
void step_exited(Core& core, NodeId node, const wire::BatchExited& m);
/// Nothing of the step is left on the node.
void step_done(Core& core, NodeId node, const wire::Done& m);
/// The node has nothing of the job left, so nothing of its steps either.
void steps_left(Core& core, JobId id, NodeId node);
/// Adds the steps that the node should have.
void want_steps(Core& core, NodeId node, wire::Registered& out);
/// Compares the steps that a node lists with those that it should have.
void reconcile_steps(Core& core, const model::Node& node, const wire::Register& m, bool rebooted);

}  // namespace gw::ctld
