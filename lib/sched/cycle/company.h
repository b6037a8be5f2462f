// Jobs on one GPU that slow each other down are parted: rule 14 of docs/quotas.md. Who told that beside others it keeps
// less of its own rate than its partition asks for has a GPU of its own from then on (Request::own_gpu); this pass
// takes off whoever shares it still. Source: packing, and its end once the measured rate falls, of Xiao et al.,
// "Gandiva: Introspective Cluster Scheduling for Deep Learning", OSDI 2018, section 3.2. Invariant: each parting leaves
// one job more that is never put beside another, so that it comes to an end.
#pragma once

#include "sched/cycle/session.h"

namespace gw::sched {

/// Of those on a GPU that can be preempted the last that came makes room, once the min_runtime of its QOS is over.
void part_company(Session& session);

}  // namespace gw::sched
