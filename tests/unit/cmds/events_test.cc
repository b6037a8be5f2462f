// gcontrol show events: its words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cmds/gcontrol/control_verbs.h"

namespace gw::cmds {
namespace {

using testing::HasSubstr;

TEST(EventsWords, SayOfWhatAndHowMany) {
  const struct {
    std::vector<std::string> words;
    uint32_t job;
    std::string node;
    uint32_t last;
  } cases[] = {
      {{}, 0, "", 0},
      {{"job=7"}, 7, "", 0},
      {{"JobId=7", "LAST=20"}, 7, "", 20},
      {{"NodeName=n3", "last=10000"}, 0, "n3", 10'000},
      {{"node=n[3]"}, 0, "n3", 0},
  };
  for (const auto& c : cases) {
    const auto request = events_request({"gcontrol", false}, c.words);
    ASSERT_TRUE(request) << request.error().text();
    EXPECT_EQ(request->list_events().job(), c.job);
    EXPECT_EQ(request->list_events().node(), c.node);
    EXPECT_EQ(request->list_events().last(), c.last);
  }
}

TEST(EventsWords, ErrorsSayHowToMendThem) {
  const struct {
    std::vector<std::string> words;
    const char* said;
  } cases[] = {
      {{"nodes=n1"}, "unknown key nodes (did you mean \"node\"?)"},
      {{"user=ann"}, "unknown key user (keys: job=ID or node=NAME, last=COUNT)"},
      {{"n1"}, "\"n1\" is not KEY=VALUE"},
      {{"job=7-8"}, "one job at a time"},
      {{"job=7", "jobid=8"}, "one job at a time"},
      {{"job=x"}, "Invalid job id"},
      {{"node=n[1-2]"}, "is not one node"},
      {{"node="}, "is not one node"},
      {{"last=0"}, "last"},
      {{"last=10001"}, "10000"},
      {{"job=7", "node=n1"}, "not of both"},
  };
  for (const auto& c : cases) {
    const auto request = events_request({"gcontrol", false}, c.words);
    ASSERT_FALSE(request) << c.words.front();
    EXPECT_THAT(request.error().text(), HasSubstr(c.said));
  }
}

TEST(HistoryText, IsALineForEachEvent) {
  wire::ShowJobReply reply;
  wire::HistoryEvent& e = *reply.add_history();
  e.set_kind("held");
  e.set_text("by ann\n");
  EXPECT_EQ(history_text(reply), "   History:\n     Unknown held             by ann\\x0a\n\n");
}

}  // namespace
}  // namespace gw::cmds
