// The components of a heterogeneous job, as they are submitted: each by itself, and all beside each other.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// The other components of a job, complete. Errors: one of them is refused, or they do not fit beside each other.
base::Result<std::vector<model::JobSpec>> accept_components(Core& core, const Caller& caller,
                                                            const wire::SubmitRequest& request,
                                                            const model::JobSpec& leader);

}  // namespace gw::ctld
