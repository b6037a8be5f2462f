// Why a run is ended, in the words of its output.
#include "model/stop_cause.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

namespace gw::model {
namespace {

StopCause cause(JobState end, bool requeue = false, uint32_t preempted_for = 0) {
  Outcome outcome;
  outcome.end = end;
  outcome.requeue = requeue;
  outcome.preempted_for = preempted_for;
  return stop_cause(outcome);
}

TEST(StopCause, FollowsFromTheOutcome) {
  EXPECT_EQ(cause(JobState::kCancelled), StopCause::kCancelled);
  EXPECT_EQ(cause(JobState::kCancelled, true), StopCause::kRequeued);
  EXPECT_EQ(cause(JobState::kTimeout), StopCause::kTimeLimit);
  EXPECT_EQ(cause(JobState::kDeadline), StopCause::kTimeLimit);
  EXPECT_EQ(cause(JobState::kNodeFail, true), StopCause::kNodeFailure);
  EXPECT_EQ(cause(JobState::kPreempted), StopCause::kPreempted);
  EXPECT_EQ(cause(JobState::kCancelled, true, 7), StopCause::kPreempted);
  EXPECT_EQ(cause(JobState::kCompleted), StopCause::kNone);
  EXPECT_EQ(cause(JobState::kFailed), StopCause::kNone);
}

TEST(StopCause, IsSaidInSlurmsWords) {
  ::setenv("TZ", "UTC", 1);
  ::tzset();
  const base::Time at{1'800'448'496'000'000};
  EXPECT_EQ(stop_words("JOB 7", "n0", at, StopCause::kCancelled),
            "*** JOB 7 ON n0 CANCELLED AT 2027-01-20T12:34:56 ***");
  EXPECT_EQ(stop_words("STEP 7.0", "n0", at, StopCause::kTimeLimit),
            "*** STEP 7.0 ON n0 CANCELLED AT 2027-01-20T12:34:56 DUE TO TIME LIMIT ***");
  EXPECT_EQ(stop_line("slurmstepd", "*** x ***"), "slurmstepd: error: *** x ***\n");
  for (const auto& [why, words] :
       {std::pair{StopCause::kPreempted, " DUE TO PREEMPTION ***"},
        {StopCause::kRequeued, " DUE TO JOB REQUEUE ***"},
        {StopCause::kNodeFailure, " DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***"}})
    EXPECT_TRUE(stop_words("JOB 7", "n0", at, why).ends_with(words)) << words;
  EXPECT_EQ(oom_words("7.batch"),
            "Detected 1 oom_kill event in StepId=7.batch. Some of the step tasks have been OOM Killed.");
}

}  // namespace
}  // namespace gw::model
