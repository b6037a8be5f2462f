// Why a run is ended from outside, as its own output says it: in Slurm's words, which people and programs look for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.h"
#include "model/job.h"

namespace gw::model {

enum class StopCause : uint8_t { kNone, kCancelled, kTimeLimit, kPreempted, kNodeFailure, kRequeued };
constexpr StopCause kLastStopCause = StopCause::kRequeued;

/// kNone: it ended by itself.
StopCause stop_cause(const Outcome& outcome);

/// "*** JOB 7 ON n0 CANCELLED AT 2027-01-20T12:34:56 DUE TO TIME LIMIT ***"; `what`: "JOB 7", "STEP 7.0".
std::string stop_words(std::string_view what, std::string_view node, base::Time at, StopCause cause);
/// "slurmstepd: error: " and these words, as a line.
std::string stop_line(std::string_view speaker, std::string_view words);

/// "Detected 1 oom_kill event in StepId=7.batch. Some of the step tasks have been OOM Killed."
std::string oom_words(std::string_view step);

}  // namespace gw::model
