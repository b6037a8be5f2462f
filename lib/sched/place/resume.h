// Where a suspended job can resume: on the cores and GPUs that it had, when they are free again, and nowhere else.
// Called by place() and earliest() where a request says so; see there.
#pragma once

#include "sched/place/earliest.h"

namespace gw::sched {

Placement place_exactly(const Capacity& capacity, const model::Request& request, const PlacementOptions& options);
std::optional<FutureStart> earliest_exactly(const Capacity& capacity, const model::Request& request,
                                            const PlacementOptions& options, base::Time now, base::Duration length);

}  // namespace gw::sched
