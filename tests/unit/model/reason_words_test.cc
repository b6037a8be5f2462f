// The page of all reasons has the rows of the tables that the programs speak from.
#include "model/reason_words.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "model/blocker.h"
#include "model/wait_split.h"

namespace gw::model {
namespace {

std::string page() {
  std::ifstream in(GW_SOURCE_DIR "/docs/reasons.md");
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string row(std::string_view code, std::string_view means, std::string_view helps) {
  return fmt::format("| `{}` | {} | {} |\n", code, means, helps);
}

/// "{number} {what} {verb}": the words of a kind that rules nodes out.
std::string words_of_kind(BlockerKind kind) {
  return words({{.kind = kind, .where = "W", .resource = "gpu", .asked = 2, .bound = 4, .held = 3, .nodes = 3}});
}

TEST(ReasonWords, ThePageHasEachReasonThatJobsWaitFor) {
  const std::string text = page();
  for (size_t i = 1; i < kWaitReasonWords.size(); ++i) {
    const auto reason = static_cast<WaitReason>(i);
    const ReasonWords& said = words_of(reason);
    if (said.means != "no longer used")
      EXPECT_THAT(text, ::testing::HasSubstr(row(name(reason), said.means, said.helps)));
  }
}

TEST(ReasonWords, ThePageHasEachReasonThatJobsEndFor) {
  const std::string text = page();
  for (size_t i = 1; i < kEndReasonWords.size(); ++i) {
    const auto reason = static_cast<EndReason>(i);
    const ReasonWords& said = words_of(reason);
    EXPECT_THAT(text, ::testing::HasSubstr(row(name(reason), said.means, said.helps)));
  }
}

TEST(ReasonWords, ThePageHasEachBlocker) {
  const std::string text = page();
  for (int i = 1; i <= static_cast<int>(kLastBlockerKind); ++i) {
    const auto kind = static_cast<BlockerKind>(i);
    EXPECT_THAT(text, ::testing::HasSubstr(fmt::format("| `{}` | ", name(kind)))) << words_of_kind(kind);
    if (!help(kind).empty()) EXPECT_THAT(text, ::testing::HasSubstr(fmt::format("| {} |\n", help(kind))));
  }
}

TEST(ReasonWords, ThePageHasEachCauseOfWaiting) {
  const std::string text = page();
  for (const WaitCauseWords& said : kWaitCauseWords)
    EXPECT_THAT(text, ::testing::HasSubstr(fmt::format("| `{}` | {} |\n", said.name, said.means)));
}

TEST(ReasonWords, NumbersOfLaterVersionsHaveSomeWords) {
  EXPECT_EQ(&words_of(static_cast<WaitReason>(250)), kWaitReasonWords.data());
  EXPECT_EQ(&words_of(static_cast<EndReason>(250)), kEndReasonWords.data());
}

}  // namespace
}  // namespace gw::model
