// Answers that many ask for: made once, for a moment, within bounds; and by what names a server is asked.
#include "webd/core/answer_cache.h"

#include <gtest/gtest.h>

#include "webd/core/visitor.h"

namespace gw::webd {
namespace {

using base::seconds;

struct Cache : ::testing::Test {
  AnswerCache cache{{seconds(1), 3, 100}};
  std::vector<std::string> told;
  AnswerCache::DoneFn note = [this](const base::Result<AnswerCache::Text>& text) {
    told.push_back(text ? (*text)->plain : "error: " + text.error().what);
  };
};

TEST_F(Cache, WhatIsAskedTogetherIsMadeOnce) {
  EXPECT_TRUE(cache.ask("a", seconds(1), note));
  EXPECT_FALSE(cache.ask("a", seconds(1), note));
  EXPECT_TRUE(cache.ask("b", seconds(1), note));
  EXPECT_TRUE(told.empty());
  cache.made("a", seconds(5), std::string("x"));
  EXPECT_EQ(told, (std::vector<std::string>{"x", "x"}));
  EXPECT_FALSE(cache.ask("a", seconds(5), note)) << "it is fresh";
  EXPECT_EQ(told.size(), 3U);
  EXPECT_TRUE(cache.ask("a", seconds(6), note)) << "and is no more";
  cache.made("a", seconds(6), std::string("y"));
  EXPECT_EQ(told.back(), "y");
}

TEST_F(Cache, AnErrorIsToldToAllAndNotKept) {
  EXPECT_TRUE(cache.ask("a", seconds(1), note));
  EXPECT_FALSE(cache.ask("a", seconds(1), note));
  cache.made("a", seconds(1), base::fail(base::ErrorCode::kTimeout, "late"));
  EXPECT_EQ(told, (std::vector<std::string>{"error: late", "error: late"}));
  EXPECT_TRUE(cache.ask("a", seconds(1), note));
}

TEST_F(Cache, WhoHasChangedSomethingSeesIt) {
  EXPECT_TRUE(cache.ask("me jobs", seconds(1), note));
  cache.made("me jobs", seconds(1), std::string("before"));
  EXPECT_TRUE(cache.ask("you jobs", seconds(1), note));
  cache.made("you jobs", seconds(1), std::string("yours"));
  cache.forget("me ");
  EXPECT_FALSE(cache.ask("you jobs", seconds(1), note));
  EXPECT_TRUE(cache.ask("me jobs", seconds(1), note));
  EXPECT_EQ(told.size(), 3U);
  cache.forget("me ");  // while one is under way
  EXPECT_TRUE(cache.ask("me jobs", seconds(1), note));
  cache.made("me jobs", seconds(1), std::string("old"));
  EXPECT_EQ(told.size(), 3U) << "that one was begun before";
  cache.made("me jobs", seconds(1), std::string("new"));
  EXPECT_EQ(told.size(), 5U);
  EXPECT_EQ(told.back(), "new");
  cache.forget("");
  EXPECT_EQ(cache.bytes(), 0U);
  EXPECT_TRUE(cache.ask("me jobs", seconds(1), note));
  cache.forget("me ");
  cache.made("me jobs", seconds(1), std::string("old"));
  EXPECT_EQ(told.size(), 6U) << "nobody has come since";
  EXPECT_TRUE(cache.ask("me jobs", seconds(1), note)) << "and nobody else gets it";
}

TEST_F(Cache, IsBounded) {
  for (int i = 0; i < 20; ++i) {
    const std::string key = std::to_string(i);
    ASSERT_TRUE(cache.ask(key, base::milliseconds(i), note));
    cache.made(key, base::milliseconds(i), std::string(40, 'x'));
    EXPECT_LE(cache.bytes(), 100U);
  }
  EXPECT_EQ(told.size(), 20U) << "everybody is answered";
  EXPECT_FALSE(cache.ask("19", base::milliseconds(20), note));
  EXPECT_TRUE(cache.ask("0", base::milliseconds(20), note)) << "the oldest have gone";
  cache.made("nosuch", seconds(1), std::string("x"));
}

TEST(Hosts, OursAreThoseOfTheConfigurationAndOfThisMachine) {
  const AllowedHosts hosts("10.0.0.7:6923", {"Web.example.org", "alias:8443"});
  for (const char* host : {"10.0.0.7", "10.0.0.7:6923", "localhost:1", "127.0.0.1", "[::1]:80", "web.example.org",
                           "WEB.EXAMPLE.ORG:443", "web.example.org.", "alias"})
    EXPECT_TRUE(hosts.has(host)) << host;
  for (const char* host : {"", "evil", "web.example.org.evil", "xweb.example.org", "10.0.0.70", "::1",
                           "localhost, evil", "localhost evil", "evil:localhost", "localhost@evil"})
    EXPECT_FALSE(hosts.has(host)) << host;
  EXPECT_TRUE(hosts.has_origin("https://web.example.org:8443"));
  for (const char* origin : {"null", "", "https://evil", "web.example.org", "https://web.example.org.evil"})
    EXPECT_FALSE(hosts.has_origin(origin)) << origin;
  EXPECT_FALSE(AllowedHosts("*:80", {}).has("*")) << "that is no name";
}

}  // namespace
}  // namespace gw::webd
