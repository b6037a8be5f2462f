// Why a job waits, as people are shown it; and a job as clients see it.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// The job as clients see it, with why it waits.
wire::Job job_to_wire(const Core& core, const model::Job& job);

}  // namespace gw::ctld
