// The words of gangway progress.
#include "cmds/gangway/verbs/progress_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gw::cmds {
namespace {

using ::testing::HasSubstr;

TEST(ProgressWords, WhatIsLeftOutIsNotTold) {
  const auto all = progress_request({"1200", "10000", "3.2"});
  ASSERT_TRUE(all) << all.error().text();
  EXPECT_EQ(all->step(), 1200U);
  EXPECT_EQ(all->of(), 10'000U);
  EXPECT_EQ(all->rate_milli(), 3'200U);
  const auto step = progress_request({"0", "", ""});
  ASSERT_TRUE(step);
  EXPECT_TRUE(step->has_step());
  EXPECT_FALSE(step->has_of() || step->has_rate_milli());
  EXPECT_EQ(progress_request({"", "", "0.025"})->rate_milli(), 25U);
  EXPECT_EQ(progress_request({"", "", "1e3"})->rate_milli(), 1'000'000U);
}

TEST(ProgressWords, WhatIsNoNumberIsRefused) {
  EXPECT_THAT(progress_request({}).error().text(), HasSubstr("nothing is told"));
  EXPECT_THAT(progress_request({"-1", "", ""}).error().text(), HasSubstr("--step"));
  EXPECT_THAT(progress_request({"12x", "", ""}).error().text(), HasSubstr("--step"));
  EXPECT_THAT(progress_request({"", "0", ""}).error().text(), HasSubstr("--of"));
  EXPECT_THAT(progress_request({"99999999999999999999", "", ""}).error().text(), HasSubstr("--step"));
  EXPECT_THAT(progress_request({"11", "10", ""}).error().text(), HasSubstr("step 11 of 10"));
  for (const char* rate : {"fast", "nan", "inf", "0", "-1", "1e300", "3,2", " 3", "0.0001"})
    EXPECT_THAT(progress_request({"", "", rate}).error().text(), HasSubstr("--rate")) << rate;
}

}  // namespace
}  // namespace gw::cmds
