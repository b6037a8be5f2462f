// Jobs that are cancelled or signalled, also while the state cannot be written.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// Cancels or signals the jobs that a filter selects, each where the caller may.
void cancel(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request);
/// Ends or signals jobs that run; those that wait stay as they are, since nothing starts meanwhile.
void cancel_unwritten(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request);

}  // namespace gw::ctld
