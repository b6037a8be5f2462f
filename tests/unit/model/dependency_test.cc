// Dependencies: how they are written, shown and met.
#include "model/dependency.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gw::model {
namespace {

using testing::HasSubstr;

constexpr base::Time kNow{1'800'000'000'000'000};

std::string shown(std::string_view text) {
  const auto parsed = parse_dependency(text);
  return parsed ? format_dependency(*parsed) : "ERROR " + parsed.error().text();
}

TEST(Dependency, IsShownAsSqueueDoes) {
  EXPECT_EQ(shown(""), "(null)");
  EXPECT_EQ(shown("afterok:65"), "afterok:65(unfulfilled)");
  EXPECT_EQ(shown("afterok:65:66,afterany:67"),
            "afterok:65(unfulfilled),afterok:66(unfulfilled),afterany:67(unfulfilled)");
  EXPECT_EQ(shown("afternotok:1?after:2"), "afternotok:1(unfulfilled)?after:2(unfulfilled)");
  EXPECT_EQ(shown("after:2+10:3"), "after:2+10(unfulfilled),after:3(unfulfilled)");
  EXPECT_EQ(shown("singleton"), "singleton(unfulfilled)");
  EXPECT_EQ(shown("AfterOK:7"), "afterok:7(unfulfilled)");
  EXPECT_EQ(shown("aftercorr:7"), "aftercorr:7_*(unfulfilled)");
  EXPECT_EQ(shown("aftercorr:7_*"), "aftercorr:7_*(unfulfilled)") << "as it is shown";
  EXPECT_EQ(shown("aftercorr:7_3"), "afterok:7_3(unfulfilled)");
  EXPECT_EQ(shown("aftercorr:7?afterany:8"), "afterok:7(unfulfilled)?afterany:8(unfulfilled)");
  EXPECT_EQ(shown("42"), "afterany:42(unfulfilled)");
  EXPECT_EQ(shown("afterok:5,afterok:5"), "afterok:5(unfulfilled)") << "named twice is named once";
}

TEST(Dependency, WhatIsNoneIsRefused) {
  const std::pair<std::string, std::string> kCases[] = {{"afterok", "which job?"},
                                                        {"afterok:", "is no job id"},
                                                        {"afterok:x", "\"x\" is no job id"},
                                                        {"afterok:0", "is no job id"},
                                                        {"aftrok:1", "did you mean \"afterok\"?"},
                                                        {"afterok:1,afterok:2?afterok:3", "do not go together"},
                                                        {"afterok:1+5", "only after takes minutes"},
                                                        {"after:1+x", "only after takes minutes"},
                                                        {"singleton:1", "singleton takes no job"},
                                                        {"afterok:1_x", "\"1_x\" is no task of an array"},
                                                        {"afterok:1,,afterok:2", "there is no such dependency"},
                                                        {",", "there is no such dependency"},
                                                        {":", "there is no such dependency"}};
  for (const auto& [text, why] : kCases) {
    EXPECT_THAT(shown(text), HasSubstr("Job dependency problem")) << text;
    EXPECT_THAT(shown(text), HasSubstr(why)) << text;
  }
  std::string many = "afterok";
  for (int i = 1; i <= 1'001; ++i) many += ":" + std::to_string(i);
  EXPECT_THAT(shown(many), HasSubstr("more than 1000 jobs"));
}

const OtherJob kWaits, kRuns{true, kNow, {}}, kEndedWell{true, kNow, true}, kEndedBadly{true, kNow, false},
    kCancelledBefore{false, {}, false};

TermState state(DependencyKind kind, std::optional<OtherJob> other) {
  DependencyTerm term{.kind = kind, .job = base::JobId(1)};
  return look_at(term, other, kNow);
}

TEST(Dependency, KindsAskForDifferentThings) {
  using enum DependencyKind;
  using enum TermState;
  struct Row {
    DependencyKind kind;
    TermState waits, runs, well, badly, cancelled, forgotten;
  };
  const Row rows[] = {{kAfter, kOpen, kMet, kMet, kMet, kMet, kMet},
                      {kAfterAny, kOpen, kOpen, kMet, kMet, kMet, kMet},
                      {kAfterOk, kOpen, kOpen, kMet, kFailed, kFailed, kFailed},
                      {kAfterNotOk, kOpen, kOpen, kFailed, kMet, kMet, kFailed}};
  for (const Row& row : rows) {
    EXPECT_EQ(state(row.kind, kWaits), row.waits) << name(row.kind);
    EXPECT_EQ(state(row.kind, kRuns), row.runs) << name(row.kind);
    EXPECT_EQ(state(row.kind, kEndedWell), row.well) << name(row.kind);
    EXPECT_EQ(state(row.kind, kEndedBadly), row.badly) << name(row.kind);
    EXPECT_EQ(state(row.kind, kCancelledBefore), row.cancelled) << name(row.kind);
    EXPECT_EQ(state(row.kind, std::nullopt), row.forgotten) << name(row.kind);
  }
}

TEST(Dependency, ADelayCountsFromTheStart) {
  DependencyTerm term{.kind = DependencyKind::kAfter, .job = base::JobId(1), .delay = base::minutes(10)};
  EXPECT_EQ(look_at(term, kWaits, kNow), TermState::kOpen);
  EXPECT_EQ(look_at(term, kRuns, kNow + base::minutes(9)), TermState::kOpen);
  EXPECT_EQ(term.due, kNow + base::minutes(10));
  EXPECT_EQ(look_at(term, std::nullopt, kNow + base::minutes(9)), TermState::kOpen) << "although it is forgotten";
  EXPECT_EQ(look_at(term, std::nullopt, kNow + base::minutes(10)), TermState::kMet);
}

TEST(Dependency, IsHopelessOnceTooMuchHasFailed) {
  const DependencyTerm open{.job = base::JobId(1)}, failed{.job = base::JobId(2), .is_failed = true};
  EXPECT_TRUE((Dependency{false, {open, failed}}).is_hopeless());
  EXPECT_FALSE((Dependency{true, {open, failed}}).is_hopeless());
  EXPECT_TRUE((Dependency{true, {failed}}).is_hopeless());
  EXPECT_FALSE(Dependency{}.is_hopeless());
}

base::Result<std::vector<base::JobId>> by_letter(std::string_view word, DependencyKind) {
  if (word == "ab") return std::vector{base::JobId(1), base::JobId(2)};
  if (word.size() != 1) return base::invalid("no such job");
  return std::vector{base::JobId(static_cast<uint32_t>(word[0] - 'a') + 1)};
}

TEST(NamedDependency, IsReadByNames) {
  const auto shown = [](std::string_view text) {
    const auto read = parse_named_dependency(text, by_letter);
    return read ? format_dependency(*read) : read.error().what;
  };
  EXPECT_EQ(shown(""), "(null)");
  EXPECT_EQ(shown("afterok:a:b,after:c+10"), "afterok:1(unfulfilled),afterok:2(unfulfilled),after:3+10(unfulfilled)");
  EXPECT_EQ(shown("afterany:ab?afternotok:c"),
            "afterany:1(unfulfilled)?afterany:2(unfulfilled)?afternotok:3(unfulfilled)");
  EXPECT_EQ(shown("aftercorr:a"), "afterok:1(unfulfilled)");
  for (const auto& [text, why] : {std::pair("afterok", "which job?"),
                                  {"soon:a", "there is no such dependency"},
                                  {"singleton", "singleton is not for jobs"},
                                  {"afterok:a+5", "no such job"},
                                  {"after:a+x", "minutes behind a plus sign"},
                                  {"afterok:a,b?afterok:c", "do not go together"},
                                  {"afterok:nobody", "no such job"}})
    EXPECT_NE(shown(text).find(why), std::string::npos) << shown(text);
}

TEST(NamedDependency, ACircleIsFound) {
  const auto of = [](std::string_view text) { return *parse_named_dependency(text, by_letter); };
  EXPECT_EQ(find_circle({}), std::nullopt);
  EXPECT_EQ(find_circle({of(""), of("afterok:a"), of("afterok:a:b")}), std::nullopt);
  EXPECT_EQ(find_circle({of("afterok:a")}), base::JobId(1));
  EXPECT_EQ(find_circle({of("afterany:b?afterany:c"), of("afterany:a"), of("")}), std::nullopt) << "c is enough";
  EXPECT_TRUE(find_circle({of("afterany:b?afterany:a"), of("afterany:a"), of("")}));
  const auto found = find_circle({of(""), of("afterok:c"), of("afterok:b,afterok:a"), of("afterok:b")});
  ASSERT_TRUE(found);
  EXPECT_TRUE(*found == base::JobId(2) || *found == base::JobId(3)) << "the fourth waits for a circle, and is in none";
}

}  // namespace
}  // namespace gw::model
