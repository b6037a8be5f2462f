// Elastic gangs grow into what is idle once everybody has been served: docs/quotas.md, "Elastic gangs". Nobody is kept
// waiting by it: planned starts are kept, an extension is the first thing to be taken back, and where a job of the same
// QOS, which could not take it back, is blocked, gangs of that QOS do not grow. Within its guarantee a gang takes from
// borrowers as a job does that waits (rule 5).
#pragma once

#include <set>
#include <utility>
#include <vector>

#include "sched/cycle/session.h"

namespace gw::sched {

/// Leaves of the tree of quotas, and partitions in which some of their jobs wait.
using Waiting = std::set<std::pair<uint32_t, std::string>>;

/// Evenly: extension by extension, those first that hold the least of what they are due.
void grow_gangs(Session& session);

/// The extensions within the guarantees for which there would be a place now, of gangs of QOS that let nobody wait;
/// they are left in the trial. Ids are given anew afterwards.
std::vector<std::pair<PendingJob, model::Allocation>> next_extensions(Session& session, const Waiting& waiting);

}  // namespace gw::sched
