// What the scheduler decided is carried out, one group of decisions after the other: all of a group, or nothing of it.
// Invariants: every start is checked against the ledger as it is now, which may have changed since the plan was made;
// while the state cannot be written nothing new is begun.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// Carries a plan out, as far as it still holds; the scheduler thinks again about the rest.
void on_plan(Core& core, const sched::Plan& plan);

}  // namespace gw::ctld
