// What lines that jobs print say of their progress.
#include "cmds/gangway/verbs/progress_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gw::cmds {
namespace {

using ::testing::HasSubstr;

/// "step/of", "step" where it does not say, "" for nothing.
std::string said(ProgressLines& lines, std::string_view printed) {
  lines.read(printed);
  const auto out = lines.take();
  if (!out) return "";
  return std::to_string(out->step()) + (out->has_of() ? "/" + std::to_string(out->of()) : "");
}

std::string said(std::string_view printed, const std::string& pattern = "") {
  auto lines = ProgressLines::make(pattern);
  EXPECT_TRUE(lines) << lines.error().text();
  return said(*lines, printed);
}

TEST(ProgressLines, AreReadAsTrainingLoopsPrintThem) {
  EXPECT_EQ(said("step 120/10000 loss 3.1\n"), "120/10000");
  EXPECT_EQ(said("Step: 120 of 10000\n"), "120/10000");
  EXPECT_EQ(said("[INFO] iteration=7, loss=2\n"), "7");
  EXPECT_EQ(said("iter 12 / 90\r"), "12/90") << "a progress bar";
  EXPECT_EQ(said("batch #3\n"), "3");
  EXPECT_EQ(said("loss 3.1\n"), "");
  EXPECT_EQ(said("step 12"), "") << "the line is not over";
  EXPECT_EQ(said("step one\n"), "");
  EXPECT_EQ(said("step 99999999999999999999\n"), "");
  EXPECT_EQ(said("step 12/7\n"), "12") << "of fewer than are done";
  EXPECT_EQ(said(std::string(600, 'x') + "step 7\n"), "") << "far behind in a line";
}

TEST(ProgressLines, TheLastOneCountsOnceAndLinesMayComeInPieces) {
  auto lines = *ProgressLines::make("");
  EXPECT_EQ(said(lines, "step 1\nstep 2\nhello\nste"), "2");
  EXPECT_EQ(said(lines, "p 3"), "");
  EXPECT_EQ(said(lines, "4/50\n"), "34/50");
  EXPECT_EQ(said(lines, ""), "");
}

TEST(ProgressLines, APatternOfOnesOwn) {
  EXPECT_EQ(said("epoch 3 (of 12)\n", R"(epoch (\d+) \(of (\d+)\))"), "3/12");
  EXPECT_EQ(said("tokens: 5000\n", "tokens: ([0-9]+)"), "5000");
  EXPECT_THAT(ProgressLines::make("epoch").error().text(), HasSubstr("has no group"));
  EXPECT_THAT(ProgressLines::make("epoch (").error().text(), HasSubstr("is no regular expression"));
}

}  // namespace
}  // namespace gw::cmds
