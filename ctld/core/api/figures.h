// The figures for monitoring, read off the state.
#pragma once

#include "ctld/core/api/metrics.h"
#include "ctld/core/core.h"

namespace gw::ctld {

Metrics metrics(const Core& core);

}  // namespace gw::ctld
