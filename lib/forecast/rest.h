// When a simulation is at rest although recurring reservations would wake it for ever.
#pragma once

#include "base/time.h"
#include "sched/view/view.h"

namespace gw::forecast {

/// Nothing runs that has an end, nothing arrives, and nothing has changed since `changed`: from which moment on will
/// time alone change nothing any more? Every edge that comes but once lies before it (one-time reservations, deadlines,
/// waits for locality), and between the last of them and it the pattern of all recurring reservations has passed once;
/// `changed` itself if nothing waits. Time::never() if no reservation recurs: then the scheduler's timers run out by
/// themselves.
base::Time rest_from(const sched::ClusterView& view, base::Time changed);

}  // namespace gw::forecast
