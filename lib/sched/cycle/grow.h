// Elastic gangs grow into what is idle once everybody has been served: docs/quotas.md, "Elastic gangs". Nobody is kept
// waiting by it: planned starts are kept, an extension is the first thing to be taken back, and where a job of the same
// QOS, which could not take it back, is blocked, gangs of that QOS do not grow. Within its guarantee a gang takes from
// borrowers as a job does that waits (rule 5).
#pragma once

#include "sched/cycle/session.h"

namespace gw::sched {

/// Evenly: extension by extension, those first that hold the least of what they are due.
void grow_gangs(Session& session);

/// Places of extensions of elastic gangs within their guarantee, for which no place is stored while others leave for
/// them. What those who were told to go leave is kept from borrowers, anew in each pass, until it is taken; others
/// within their guarantee may take it, and whoever lacks it then takes from borrowers again.
void keep_places_for_growth(Session& session);

}  // namespace gw::sched
