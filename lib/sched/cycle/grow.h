// Elastic gangs grow into what is idle once everybody has been served: docs/quotas.md, "Elastic gangs". Nobody is kept
// waiting by it: planned starts are kept, an extension is the first thing to be taken back, and where a job of the same
// QOS, which could not take it back, is blocked, gangs of that QOS do not grow.
#pragma once

#include "sched/cycle/session.h"

namespace gw::sched {

void grow_gangs(Session& session);

}  // namespace gw::sched
