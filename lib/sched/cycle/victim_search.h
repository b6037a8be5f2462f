// The search for victims, by trial: they are evicted one after the other until the served job fits, then every one that
// is not needed is spared, the last evicted first, so that the set is irreducible. Both go in growing strides: evicting
// more never makes a job fit less, and the victims that may be evicted do not depend on what fits. Preemption by the
// rules, by the order's right, and consolidation share it: they differ in who comes next and in what must hold besides.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "sched/cycle/session.h"
#include "sched/quota/victims.h"

namespace gw::sched {

/// The next job to evict, or nobody.
using NextVictim = std::function<std::optional<JobId>()>;

/// For whom a place is sought. By the rules of the quotas if there is a preemptor.
struct VictimSearch {
  Session& session;
  const Served& served;
  const PartitionFacts& partition;
  const Preemptor* preemptor = nullptr;
  std::optional<Lines> lines = std::nullopt;  ///< To be kept if anybody goes by rule 7.
  bool is_beyond = false;                     ///< There was a place, but the lines were not kept.
};

/// Those that were evicted so that the served job fits: they are so still. Nobody if it does not; then nothing has
/// changed. Whether it fits is asked before the first goes by rule 7: up to there, and again from there on, evicting
/// more never makes it fit less.
std::vector<JobId> find_victims(VictimSearch& search, const NextVictim& next);

/// Those of a list, one after the other.
NextVictim one_after_the_other(const std::vector<JobId>& list);

/// Could evicting the candidate help the served job: does it run where the job could, or hold what a limit keeps from
/// it? `limited`: that limit.
bool is_of_use(Session& session, const Served& served, const Candidate& candidate, const PartitionFacts& partition,
               const std::optional<Binding>& limited);

/// Those that were told to go before, or that are being cleaned up after, leave enough: nobody has to be evicted.
bool fits_soon(Session& session, const Served& served, const PartitionFacts& partition);

/// How long a job that makes way may still run.
Duration grace_of(const Session& session, JobId victim);

}  // namespace gw::sched
