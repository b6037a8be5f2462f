// How the run of a job begins here: its user is looked up, the prolog runs, and its script is
// launched or its share is contained; and how it gets the word to go.
// Invariant: what cannot start leaves nothing but an exit that says why.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "model/job_state.h"
#include "noded/core/core.h"

namespace gw::noded {

/// Whether this daemon may run anything for the user. The errors are for users.
base::Status check_user(const AgentConfig& config, uint32_t uid, bool allow_root);

/// False: it cannot start, and is to be finished. No other run of the job may be left.
[[nodiscard]] bool begin(Core& core, Run& run);
/// Its user is known: the node's prolog comes first.
void admit(Core& core, Run& run, const UserInfo& user);
/// Nothing more is in its way.
void launch(Core& core, Run& run, const UserInfo& user);
/// It gets an exit that says why; who calls sees to the end.
void fail_start(Core& core, Run& run, model::EndReason reason, const std::string& detail, bool node_fault);
/// The gang is whole, and the run is prepared.
void go(Core& core, Run& run);

}  // namespace gw::noded
