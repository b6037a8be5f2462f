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

  /// The number of the answer that has to be made; 0: none.
  uint64_t ask(const std::string& key, base::Duration now) {
    return cache.ask(key, now, [this](const base::Result<AnswerCache::Text>& text) {
      told.push_back(text ? (*text)->plain : "error: " + text.error().what);
    });
  }
};

TEST_F(Cache, WhatIsAskedTogetherIsMadeOnce) {
  const uint64_t a = ask("a", seconds(1));
  EXPECT_NE(a, 0U);
  EXPECT_EQ(ask("a", seconds(1)), 0U);
  EXPECT_NE(ask("b", seconds(1)), 0U);
  EXPECT_TRUE(told.empty());
  cache.made("a", a, seconds(5), std::string("x"));
  EXPECT_EQ(told, (std::vector<std::string>{"x", "x"}));
  EXPECT_EQ(ask("a", seconds(5)), 0U) << "it is fresh";
  EXPECT_EQ(told.size(), 3U);
  const uint64_t again = ask("a", seconds(6));
  EXPECT_NE(again, 0U) << "and is no more";
  cache.made("a", again, seconds(6), std::string("y"));
  EXPECT_EQ(told.back(), "y");
}

TEST_F(Cache, AnErrorIsToldToAllAndNotKept) {
  const uint64_t a = ask("a", seconds(1));
  ask("a", seconds(1));
  cache.made("a", a, seconds(1), base::fail(base::ErrorCode::kTimeout, "late"));
  EXPECT_EQ(told, (std::vector<std::string>{"error: late", "error: late"}));
  EXPECT_NE(ask("a", seconds(1)), 0U);
}

TEST_F(Cache, WhatIsLongPastStaysFreshForLonger) {
  cache.made("use", ask("use", seconds(1)), seconds(1), std::string("x"), /*is_history=*/true);
  cache.forget("");
  EXPECT_EQ(ask("use", seconds(60)), 0U);
  const uint64_t use = ask("use", seconds(62));
  EXPECT_NE(use, 0U);
  const uint64_t other = ask("other", seconds(62));
  cache.forget("");  // while both are made
  cache.made("use", use, seconds(63), std::string("y"), /*is_history=*/true);
  cache.made("other", other, seconds(63), std::string("z"));
  EXPECT_EQ(ask("use", seconds(63)), 0U);
  EXPECT_NE(ask("other", seconds(63)), 0U) << "it was made from what was before";
}

TEST_F(Cache, WhoHasChangedSomethingSeesIt) {
  cache.made("me jobs", ask("me jobs", seconds(1)), seconds(1), std::string("before"));
  cache.made("you jobs", ask("you jobs", seconds(1)), seconds(1), std::string("yours"));
  cache.forget("me ");
  EXPECT_EQ(ask("you jobs", seconds(1)), 0U);
  const uint64_t older = ask("me jobs", seconds(1));
  EXPECT_EQ(told.size(), 3U);
  cache.forget("me ");  // while one is under way
  const uint64_t newer = ask("me jobs", seconds(1));
  EXPECT_NE(newer, 0U);
  cache.made("me jobs", older, seconds(1), std::string("old"));
  EXPECT_EQ(told.size(), 3U) << "that one was begun before";
  cache.made("me jobs", newer, seconds(1), std::string("new"));
  EXPECT_EQ(told.size(), 5U) << "both get it";
  EXPECT_EQ(told.back(), "new");
  cache.made("me jobs", older, seconds(1), std::string("old"));
  EXPECT_EQ(ask("me jobs", seconds(1)), 0U);
  EXPECT_EQ(told.back(), "new") << "however late the older one comes";
  cache.forget("");
  EXPECT_EQ(cache.bytes(), 0U);
  const uint64_t last = ask("me jobs", seconds(1));
  cache.forget("me ");
  cache.made("me jobs", last, seconds(1), std::string("old"));
  EXPECT_EQ(told.back(), "old") << "nobody has come since";
  EXPECT_NE(ask("me jobs", seconds(1)), 0U) << "and nobody else gets it";
}

TEST_F(Cache, IsBounded) {
  for (int i = 0; i < 20; ++i) {
    const std::string key = std::to_string(i);
    cache.made(key, ask(key, base::milliseconds(i)), base::milliseconds(i), std::string(40, 'x'));
    EXPECT_LE(cache.bytes(), 100U);
  }
  EXPECT_EQ(told.size(), 20U) << "everybody is answered";
  EXPECT_EQ(ask("19", base::milliseconds(20)), 0U);
  EXPECT_NE(ask("0", base::milliseconds(20)), 0U) << "the oldest have gone";
  cache.made("nosuch", 1, seconds(1), std::string("x"));
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
