// Moves in the course of reclaim (rule 8 of docs/quotas.md): jobs that are covered by a guarantee go too where they
// start again at once, in a place that is idle or that borrowed jobs leave as well. So a guarantee comes although jobs
// of other guarantees stand in its way, and nobody has less covered than before. Invariant: the trial is afterwards as
// it was before.
#pragma once

#include <optional>
#include <vector>

#include "sched/cycle/loss.h"
#include "sched/cycle/session.h"

namespace gw::sched {

struct Relocation {
  std::vector<const Candidate*> moved;  ///< Of those who go for the served job, in the order in which they are placed.
  std::vector<const Candidate*> more;   ///< Borrowed ones who leave the moved their places.
};

/// Of a set that makes the served job fit, and is evicted in the trial: who has to be moved so that the rules allow the
/// rest? nullopt: it cannot be done. `borrowed`: who may go besides, in the order of rule 8. `most`: moves.
std::optional<Relocation> find_relocation(Session& session, const Served& served, const PartitionFacts& partition,
                                          Permission& permission, const std::vector<const Candidate*>& gone,
                                          const std::vector<const Candidate*>& borrowed, size_t most);

}  // namespace gw::sched
