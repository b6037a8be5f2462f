// gcontrol delete HeldAside=KIND:NAME: which words name a row.
#include <gtest/gtest.h>

#include "cmds/gcontrol/control_verbs.h"

namespace gw::cmds {
namespace {

TEST(HeldWords, NameOneRow) {
  const struct {
    std::vector<std::string> words;
    std::string kind, name;
  } cases[] = {
      {{"HeldAside=job:7"}, "job", "7"},
      {{"heldaside", "run:7.0/n1"}, "run", "7.0/n1"},
      {{"HELDASIDE=reply:0/a:b=c"}, "reply", "0/a:b=c"},
  };
  for (const auto& c : cases) {
    ASSERT_TRUE(is_about_held(c.words));
    const auto request = held_deletion(c.words);
    ASSERT_TRUE(request) << request.error().text();
    EXPECT_EQ(request->delete_held_aside().kind(), c.kind);
    EXPECT_EQ(request->delete_held_aside().name(), c.name);
  }
}

TEST(HeldWords, OthersAreRefused) {
  const std::vector<std::vector<std::string>> kCases = {
      {"HeldAside"},      {"HeldAside="},       {"HeldAside=job"},           {"HeldAside=:7"},
      {"HeldAside=job:"}, {"HeldAside", "job"}, {"HeldAside=job:7", "job:8"}};
  for (const auto& words : kCases) EXPECT_FALSE(held_deletion(words)) << words.front();
  const std::vector<std::string> reservation = {"ReservationName=heldaside"};
  EXPECT_FALSE(is_about_held(reservation));
  EXPECT_FALSE(is_about_held({}));
}

}  // namespace
}  // namespace gw::cmds
