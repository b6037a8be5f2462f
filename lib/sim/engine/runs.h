// Runs of jobs: they begin, must go, are preempted, end; and what they held and lost.
// Invariant: what a job holds is counted and told once when it is given, and once when it is released.
#pragma once

#include <string>

#include "sim/engine/world.h"

namespace gw::sim {

/// Gives a job, or the component of that id, its allocation.
void give(World& world, base::JobId id, const model::Allocation& allocation, const std::string& partition,
          Duration limit);
/// The job and its components have been given what they start with.
void begin_run(World& world, uint32_t job, Duration limit);
/// It runs, or continues to, since then, and may for so long.
void run_from(World& world, uint32_t job, Time since, Duration limit);
/// How a preempted job leaves: it gives all back, gets another place, or is suspended.
enum class Going : uint8_t { kPreempted, kMoved, kSuspended, kTurnIsOver };
/// It must be gone after the grace period, and comes back to the queue.
void preempt_run(World& world, uint32_t job, Duration grace, Going how);
/// The grace period is over.
void make_way(World& world, uint32_t job);
/// Gives everything back, and counts what is lost with it.
void take_off(World& world, uint32_t job);
/// Its work is done, or its time is over.
void end_run(World& world, uint32_t job);
/// A job that waits has been given up.
void reject(World& world, uint32_t job, std::string why);
/// Likewise one of which the scheduler has never heard.
void leave_unheard(World& world, uint32_t job, std::string why);

/// For what is a part of a run: releases what the id holds.
void release(World& world, base::JobId id, const model::Allocation& allocation);
/// Accounts for what the job held since its size last changed, and how much of its work is lost.
void account_for(World& world, uint32_t job, Duration lost);

/// Endings that come next are of runs that are still there.
void drop_stale_endings(World& world);

}  // namespace gw::sim
