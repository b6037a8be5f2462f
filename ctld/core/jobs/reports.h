// What nodes say of runs: prepared, failed to, started, exited, nothing left. Invariant: what is said of another
// attempt, or of a stay in an elastic gang that is over, changes nothing, and is acknowledged all the same so that it
// is not said again.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// The node's share is ready; with the last one the gang goes.
void on_prepared(Core& core, NodeId node, const wire::Prepared& m);
/// A gang of one that goes by itself has gone.
void on_started(Core& core, NodeId node, const wire::Started& m);
/// The run cannot start there: it ends, and is queued again if the node is at fault.
void on_unfit(Core& core, NodeId node, const wire::Unfit& m);
void on_prepare_failed(Core& core, NodeId node, const wire::PrepareFailed& m);
/// The order to prepare never left the controller. `is_final`: no retry can mend that.
void on_prepare_unsent(Core& core, JobId id, uint32_t attempt, const std::string& why, bool is_final);
/// The script has ended on the first node: so does the run.
void on_batch_exited(Core& core, NodeId node, const wire::BatchExited& m);
/// The node has nothing of the run left.
void on_done(Core& core, NodeId node, const wire::Done& m);
/// The run is known to be over on one node, without having been told to end: the whole gang ends.
void node_lost_job(Core& core, model::Job& job, NodeId node, const std::string& why,
                   model::EndReason reason = model::EndReason::kNodeDown);

}  // namespace gw::ctld
