// The search for victims in a given order, by trial: they are evicted one after the other until the served job fits,
// then every one that is not needed is spared, the last evicted first, so that the set is irreducible. Both go in
// growing strides: evicting more never makes a job fit less. Preemption by the order's right and consolidation use it;
// by the rules of the quotas reclaim.h searches. Invariant: a search by node finds a set wherever the one in order
// alone does, or says that it cannot tell.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "sched/cycle/session.h"
#include "sched/quota/permission.h"

namespace gw::sched {

/// The next job to evict, or nobody.
using NextVictim = std::function<std::optional<JobId>()>;

/// For whom a place is sought.
struct VictimSearch {
  Session& session;
  const Served& served;
  const PartitionFacts& partition;
};

/// Those that were evicted so that the served job fits: they are so still. Nobody if it does not; then nothing has
/// changed.
std::vector<JobId> find_victims(VictimSearch& search, const NextVictim& next);

/// The same, but nobody is evicted from a node on which no part of the served job could be then: so only a few are
/// where those of one node stand far apart in the order. For jobs without components that do not ask for places of
/// their own. nullopt: a quota was in the way of what it would be given, so that it helps wherever somebody leaves;
/// then nothing has changed, and the other search is the one to ask.
std::optional<std::vector<JobId>> find_victims_by_node(VictimSearch& search, const NextVictim& next);

/// Those of a list, one after the other.
NextVictim one_after_the_other(const std::vector<JobId>& list);

/// Can it be preempted now: not within `min_runtime` of its start?
bool is_ripe(Session& session, const Candidate& candidate);

/// Could evicting the candidate help the served job: does it run where the job could?
bool is_of_use(Session& session, const Served& served, const Candidate& candidate, const PartitionFacts& partition);

/// Those that were told to go before, or that are being cleaned up after, leave enough: nobody has to be evicted.
bool fits_soon(Session& session, const Served& served, const PartitionFacts& partition);

/// How long a preempted job may still run.
Duration grace_of(const Session& session, JobId victim);

}  // namespace gw::sched
