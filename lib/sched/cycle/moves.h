// Moves: a running job leaves its place for another's sake and starts again in a new one, which is kept for it. To the
// job a move is a preemption; to its QOS nothing is lost by it. Consolidation moves jobs where nobody has to be
// preempted (consolidate.h), reclaim those that are covered by a guarantee (relocation.h).
#pragma once

#include "sched/cycle/session.h"
#include "sched/quota/permission.h"

namespace gw::sched {

constexpr size_t kMostMoves = 8;  ///< For one job.

/// So many jobs may still be moved within the hour. What a dry run only tells counts among itself.
size_t moves_left(Session& session, const PartitionFacts& partition);

/// Can it start again elsewhere in the partition? Not parts of a heterogeneous job, nor elastic gangs with extensions.
bool can_be_moved(const Session& session, const Candidate& candidate, const PartitionFacts& partition);

/// Finds a place for a job that was evicted to be moved, counts it there, and adds its Start to the group. `served`:
/// for whom it moves.
bool place_again(Session& session, const Served& served, JobId mover, Group& group);

/// Nobody has left yet: the movers stand where they stood, and what everybody in `placed` will have is kept for them.
void keep_places(Session& session, const Served& served, Duration grace, const Group& placed, Group& group);

}  // namespace gw::sched
