// Jobs without a script: allocations for steps, which end by the word of their client, with their one step, or when the
// client has gone.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// The job ends soon after this connection does, if it asked for that.
void tie_to_client(Core& core, ConnId conn, const model::Job& job);
/// The clients of these jobs have a while to come back.
void client_left(Core& core, ConnId conn);
/// After a restart of the controller clients have longer to come back.
void await_client(Core& core, const model::Job& job);
/// A job that is one step ends unless somebody asks for its step in time.
void await_step(Core& core, const model::Job& job);
/// Nobody has come back for the job: it ends.
void client_absence_due(Core& core, model::Job& job);
/// The client of an allocation says that it is done, and how it ended.
void end_allocation(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request);
/// A job that is one step comes to what its step came to.
void end_with_step(Core& core, model::Job& job, const model::Step& step);

}  // namespace gw::ctld
