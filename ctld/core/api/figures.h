// The figures for monitoring, read off the state.
#pragma once

#include "ctld/core/api/metrics.h"
#include "ctld/core/core.h"

namespace gw::ctld {

Metrics metrics(const Core& core);
/// Answers show_figures. Only administrators may begin anew.
void show_figures(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request);

}  // namespace gw::ctld
