// The line of a job's history that tells how a step ended.
#include "model/step.h"

#include <gtest/gtest.h>

namespace gw::model {
namespace {

Step ended(ExitStatus exit, std::string why) {
  Step step;
  step.job = base::JobId(7);
  step.number = 1;
  step.exit = exit;
  step.detail = std::move(why);
  return step;
}

TEST(StepEnd, IsReadAsItWasWritten) {
  for (const char* why : {"", "on n1: out of memory", "1:2: 3"})
    for (const ExitStatus exit : {ExitStatus{0, 0}, ExitStatus{4, 0}, ExitStatus{255, 0}, ExitStatus{0, 15}})
      EXPECT_EQ(exit_in(end_line(ended(exit, why)), "7.1"), exit) << why;
  EXPECT_EQ(end_line(ended({4, 0}, "")), "step 7.1 4:0");
  EXPECT_EQ(end_line(ended({0, 9}, "lost")), "step 7.1 0:9: lost");
}

TEST(StepEnd, OfAnotherStepOrNoneIsNone) {
  for (const char* line : {"", "step 7.11 4:0", "step 17.1 4:0", "step 7.1", "step 7.1 ", "step 7.1 4",
                           "step 7.1 :", "step 7.1 4:", "step 7.1 x:0", "step 7.1 4:0 by ann", "step 7.1 -4:0",
                           "step 7.1 256:0", "step 7.1 99999999999999999999:0"})
    EXPECT_EQ(exit_in(line, "7.1"), std::nullopt) << line;
}

}  // namespace
}  // namespace gw::model
