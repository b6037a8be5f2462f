// Places of extensions of elastic gangs within their guarantee, for which no place is stored while others leave for
// them. What those who were told to go leave is kept from borrowers, anew in each pass, until it is taken; others
// within their guarantee may take it, and whoever lacks it then takes from borrowers again.
#pragma once

#include "sched/cycle/session.h"

namespace gw::sched {

void keep_places_for_growth(Session& session);

}  // namespace gw::sched
