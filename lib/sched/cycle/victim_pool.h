// The running jobs that a pass may preempt or move, listed once and kept true as decisions take them: by the leaf of
// the tree of quotas where they run, in the order of rule 8 (docs/quotas.md).
#pragma once

#include <optional>
#include <vector>

#include "sched/quota/victims.h"

namespace gw::sched {

struct PendingJob;
struct Session;

class VictimPool {
 public:
  /// Everybody who could be preempted, the rules aside.
  const Candidates& candidates(const Session& session);
  /// Those that were told to go before this pass and still hold something.
  const std::vector<JobId>& leaving(const Session& session);
  /// A decision took them: they, and what goes with them, are nobody's candidates for the rest of the pass.
  void strike(const Session& session, const std::vector<JobId>& gone);

 private:
  std::optional<Candidates> candidates_;
  std::optional<std::vector<JobId>> leaving_;
};

/// Could anybody preempt this running job, the rules aside?
bool is_preemptible(const Session& session, JobId id, const PendingJob& running);

}  // namespace gw::sched
