// See stop_cause.h.
#include "model/stop_cause.h"

#include <fmt/format.h>

namespace gw::model {

StopCause stop_cause(const Outcome& outcome) {
  if (outcome.preempted_for != 0 || outcome.end == JobState::kPreempted) return StopCause::kPreempted;
  switch (outcome.end) {
    case JobState::kNodeFail:
      return StopCause::kNodeFailure;
    case JobState::kTimeout:
    case JobState::kDeadline:
      return StopCause::kTimeLimit;
    case JobState::kCancelled:
      return outcome.requeue ? StopCause::kRequeued : StopCause::kCancelled;
    default:
      return StopCause::kNone;
  }
}

std::string stop_words(std::string_view what, std::string_view node, base::Time at, StopCause cause) {
  constexpr std::string_view kWhy[] = {"",
                                       "",
                                       " DUE TO TIME LIMIT",
                                       " DUE TO PREEMPTION",
                                       " DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS",
                                       " DUE TO JOB REQUEUE"};
  return fmt::format("*** {} ON {} CANCELLED AT {}{} ***", what, node, base::format_time(at),
                     kWhy[static_cast<size_t>(cause)]);
}

std::string stop_line(std::string_view speaker, std::string_view words) {
  return fmt::format("{}: error: {}\n", speaker, words);
}

std::string oom_words(std::string_view step) {
  return fmt::format("Detected 1 oom_kill event in StepId={}. Some of the step tasks have been OOM Killed.", step);
}

}  // namespace gw::model
