// What preemption costs: each preempted run counts once, with the work that is lost, for its job and its QOS.
// Invariant: a preemption is no failure: it changes neither the count of failed launches nor the back-off.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// How a preempted job ends.
model::Outcome preempted(const model::Job& job, uint32_t beneficiary, uint32_t rule, bool is_move);
/// A job that was asked to save its work ended by itself with exit code 0: it has.
void take_exit_as_saved(Core& core, model::Job& job, const model::Outcome& reported);
/// Once for each run, when it has left its nodes; the caller saves the job.
void count_preemption(Core& core, model::Job& job, const model::Outcome& outcome);
/// A run that was suspended, and ends after all, counts once.
void count_preempted_run(Core& core, model::Job& job, uint64_t lost);
/// The figures of QOS as the store has them.
void restore_preemptions(Core& core, const store::Snapshot& snapshot);

}  // namespace gw::ctld
