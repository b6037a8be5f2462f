// The life of a job as one table {from, event, to}; checked at compile time.
// Invariants: no pair (from, event) stands twice; every state reaches an end; nothing leaves an end but a job that is
// requeued after it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace gw::model {

/// Slurm's states, as users see them.
enum class JobState : uint8_t {
  kPending,
  kConfiguring,
  kRunning,
  kSuspended,
  kCompleting,
  kCompleted,
  kFailed,
  kCancelled,
  kTimeout,
  kNodeFail,
  kOutOfMemory,
  kPreempted,
  kDeadline,
  kBootFail,
};
constexpr int kJobStateCount = 14;

/// What happens to a job. The kEnd* events say how it ends.
enum class JobEvent : uint8_t {
  kPlace,  ///< Resources were given; every node prepares.
  kGo,     ///< Every node has prepared; the script starts.
  kSuspend,
  kResume,
  kStop,     ///< It is over or being ended: nodes clean up.
  kRequeue,  ///< Nodes are clean; it waits again.
  kRevive,   ///< It had ended, and waits again.
  kEndCompleted,
  kEndFailed,
  kEndCancelled,
  kEndTimeout,
  kEndNodeFail,
  kEndOutOfMemory,
  kEndPreempted,
  kEndDeadline,
  kEndBootFail,
};

struct Transition {
  JobState from;
  JobEvent event;
  JobState to;
};

inline constexpr std::array kTransitions = {
    Transition{JobState::kPending, JobEvent::kPlace, JobState::kConfiguring},
    Transition{JobState::kPending, JobEvent::kEndCancelled, JobState::kCancelled},
    Transition{JobState::kPending, JobEvent::kEndDeadline, JobState::kDeadline},
    Transition{JobState::kPending, JobEvent::kEndFailed, JobState::kFailed},
    Transition{JobState::kConfiguring, JobEvent::kGo, JobState::kRunning},
    Transition{JobState::kConfiguring, JobEvent::kStop, JobState::kCompleting},
    Transition{JobState::kRunning, JobEvent::kSuspend, JobState::kSuspended},
    Transition{JobState::kRunning, JobEvent::kStop, JobState::kCompleting},
    Transition{JobState::kSuspended, JobEvent::kResume, JobState::kRunning},
    Transition{JobState::kSuspended, JobEvent::kStop, JobState::kCompleting},
    Transition{JobState::kCompleting, JobEvent::kRequeue, JobState::kPending},
    Transition{JobState::kCompleting, JobEvent::kEndCompleted, JobState::kCompleted},
    Transition{JobState::kCompleting, JobEvent::kEndFailed, JobState::kFailed},
    Transition{JobState::kCompleting, JobEvent::kEndCancelled, JobState::kCancelled},
    Transition{JobState::kCompleting, JobEvent::kEndTimeout, JobState::kTimeout},
    Transition{JobState::kCompleting, JobEvent::kEndNodeFail, JobState::kNodeFail},
    Transition{JobState::kCompleting, JobEvent::kEndOutOfMemory, JobState::kOutOfMemory},
    Transition{JobState::kCompleting, JobEvent::kEndPreempted, JobState::kPreempted},
    Transition{JobState::kCompleting, JobEvent::kEndDeadline, JobState::kDeadline},
    Transition{JobState::kCompleting, JobEvent::kEndBootFail, JobState::kBootFail},
    Transition{JobState::kCompleted, JobEvent::kRevive, JobState::kPending},
    Transition{JobState::kFailed, JobEvent::kRevive, JobState::kPending},
    Transition{JobState::kCancelled, JobEvent::kRevive, JobState::kPending},
    Transition{JobState::kTimeout, JobEvent::kRevive, JobState::kPending},
    Transition{JobState::kNodeFail, JobEvent::kRevive, JobState::kPending},
    Transition{JobState::kOutOfMemory, JobEvent::kRevive, JobState::kPending},
    Transition{JobState::kPreempted, JobEvent::kRevive, JobState::kPending},
    Transition{JobState::kDeadline, JobEvent::kRevive, JobState::kPending},
    Transition{JobState::kBootFail, JobEvent::kRevive, JobState::kPending},
};

constexpr bool is_end(JobState s) { return s >= JobState::kCompleted; }
/// Holds resources: from the placement until every node has cleaned up.
constexpr bool is_active(JobState s) { return s != JobState::kPending && !is_end(s); }
/// Where an event leads, or nothing if it does not fit the state.
constexpr std::optional<JobState> next_state(JobState from, JobEvent event) {
  for (const Transition& t : kTransitions)
    if (t.from == from && t.event == event) return t.to;
  return std::nullopt;
}
/// The event that ends a job in `end`.
constexpr JobEvent end_event(JobState end) {
  return static_cast<JobEvent>(static_cast<int>(JobEvent::kEndCompleted) + static_cast<int>(end) -
                               static_cast<int>(JobState::kCompleted));
}

/// "COMPLETING" / "CG": Slurm's long and short names.
std::string_view long_name(JobState s);
std::string_view short_name(JobState s);
/// Either form, any case. Errors: unknown, with did-you-mean.
base::Result<JobState> parse_job_state(std::string_view text);
std::string_view name(JobEvent e);

/// Why a job waits; `squeue %r`. Those that no version has produced are only read: their numbers are not given again.
enum class WaitReason : uint8_t {
  kNone,
  kPriority,
  kResources,
  kBeginTime,
  kJobHeldUser,
  kJobHeldAdmin,
  kPartitionDown,
  kPartitionInactive,  ///< Never produced: a partition that is not up is down.
  kReqNodeNotAvail,
  kQosLimit,
  kCleaning,
  kLaunchBackoff,
  kNodeUnreachable,     ///< Never produced: kReqNodeNotAvail.
  kPartitionTimeLimit,  ///< No partition that is up is long enough.
  kPartitionNodeLimit,  ///< Never produced: such a job is refused.
  kController,          ///< Never produced.
  kReservation,
  kDeadline,
  kDependency,                ///< It waits for other jobs.
  kDependencyNeverSatisfied,  ///< What it waits for can never come.
  kArrayTaskLimit,            ///< As many tasks of its array as may run do so, or are about to.
  kLicenses,                  ///< Others have the licences that it asks for.
  kBudgetSpent,               ///< A budget of GPU-hours that it counts for is spent.
};
constexpr WaitReason kLastWaitReason = WaitReason::kBudgetSpent;
/// Slurm's word: "Resources", "BeginTime", "JobHeldUser", ...
std::string_view name(WaitReason r);

/// Why a job ended as it did, beyond its state; `scontrol show job` Reason=.
enum class EndReason : uint8_t {
  kNone,
  kNonZeroExit,
  kRaisedSignal,
  kTimeLimit,
  kNodeDown,
  kOutOfMemory,
  kLaunchFailed,
  kOutputPath,
  kWorkDir,
  kUnknownUser,
  kShepherdDied,
  kCancelledByUser,
  kDeadlinePassed,
  kLeaseExpired,
  kPrologFailed,
  kDependencyNeverSatisfied,
  kPrologNotRun,  ///< That of the controller, which could not be run.
};
constexpr EndReason kLastEndReason = EndReason::kPrologNotRun;
std::string_view name(EndReason r);

namespace detail {
constexpr bool unique_pairs() {
  for (size_t i = 0; i < kTransitions.size(); ++i)
    for (size_t j = i + 1; j < kTransitions.size(); ++j)
      if (kTransitions[i].from == kTransitions[j].from && kTransitions[i].event == kTransitions[j].event) return false;
  return true;
}
constexpr bool ends_are_final() {
  for (const Transition& t : kTransitions)
    if (is_end(t.from) && (t.event != JobEvent::kRevive || t.to != JobState::kPending)) return false;
  return true;
}
constexpr bool all_reach_an_end() {
  std::array<bool, kJobStateCount> reaches{};
  for (int s = 0; s < kJobStateCount; ++s) reaches[s] = is_end(static_cast<JobState>(s));
  for (int round = 0; round < kJobStateCount; ++round)
    for (const Transition& t : kTransitions)
      if (reaches[static_cast<int>(t.to)]) reaches[static_cast<int>(t.from)] = true;
  for (bool r : reaches)
    if (!r) return false;
  return true;
}
constexpr bool every_end_is_reached() {
  for (int s = static_cast<int>(JobState::kCompleted); s < kJobStateCount; ++s)
    if (next_state(JobState::kCompleting, end_event(static_cast<JobState>(s))) != static_cast<JobState>(s))
      return false;
  return true;
}
static_assert(unique_pairs(), "a (state, event) pair stands twice");
static_assert(ends_are_final(), "a transition leaves an end state other than by kRevive");
static_assert(all_reach_an_end(), "a state cannot reach an end");
static_assert(every_end_is_reached(), "an end state is not reached from COMPLETING by its event");
}  // namespace detail

}  // namespace gw::model
