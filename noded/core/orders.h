// What the controller orders of the runs of jobs.
// Invariants: an order may come twice, late, or for a run that is not here; each case has an answer that changes
// nothing. Runs of two states may have the same number: no order of one controller touches a run of another state but
// by an administrator's word, which comes as Stop.
#pragma once

#include "noded/core/core.h"

namespace gw::noded {

void on_prepare(Core& core, const wire::Prepare& message);
void on_go(Core& core, const wire::Go& message);
/// Of a step, too.
void on_stop(Core& core, const wire::Stop& message);
/// Likewise.
void on_signal(Core& core, const wire::Signal& message);
/// A line for the standard error of a script or for the client of a step.
void on_notice(Core& core, const wire::Notice& message);
void on_resize(Core& core, const wire::Resize& message);
/// The controller knows of the end, of a step, too.
void on_ack(Core& core, const wire::Ack& message);

}  // namespace gw::noded
