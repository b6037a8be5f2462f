// What clients ask of steps: to create, reach, list and signal them; and clients that have gone.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// Create, ticket, end of an allocation, signal, list.
void step_request(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request);
/// What a job that is one step has to run, told with the job: nobody waits for the answer yet.
base::Result<std::optional<StepWait>> accept_first_step(ConnId conn, const model::JobSpec& spec,
                                                        const wire::SubmitRequest& submit);
/// A client has gone: what it waited for is not begun, or ended, and others may have its place.
void forget_step_waiters(Core& core, ConnId conn);

}  // namespace gw::ctld
