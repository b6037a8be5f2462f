// What time brings: the next try to connect, heartbeats, ends of leases, runs that waited too long, reports that nobody
// has acknowledged.
// Invariant: nothing but the end of a lease (leases.h) is due before next_wakeup().
#pragma once

#include "base/time.h"
#include "noded/core/core.h"

namespace gw::noded {

void on_tick(Core& core);
/// Ends of leases are counted by another clock, and left out.
base::Time next_wakeup(const Core& core);

}  // namespace gw::noded
