// What a configuration says of users arrives in the core.
#include "ctld/shell/settings.h"

#include <gtest/gtest.h>

namespace gw::ctld {
namespace {

TEST(Settings, WhatUsersMayTakeIsThatOfTheConfiguration) {
  config::Config config;
  config.user_requests_per_second = 1;
  config.user_request_burst = 2;
  config.user_max_jobs = 3;
  config.user_max_stored_bytes = 4;
  config.user_kept_replies = 5;
  config.user_kept_reply_bytes = 6;
  const auto settings = settings_of(config);
  ASSERT_TRUE(settings) << settings.error().text();
  const UserLimits& limits = settings->per_user;
  EXPECT_EQ(limits.requests_per_second, 1u);
  EXPECT_EQ(limits.request_burst, 2u);
  EXPECT_EQ(limits.max_jobs, 3u);
  EXPECT_EQ(limits.max_stored_bytes, 4u);
  EXPECT_EQ(limits.kept_replies, 5u);
  EXPECT_EQ(limits.kept_reply_bytes, 6u);
}

TEST(Settings, WhatUsersMayTakeIsTheSameByDefaultInBoth) {
  const auto settings = settings_of(config::Config());
  ASSERT_TRUE(settings) << settings.error().text();
  const UserLimits& limits = settings->per_user;
  const UserLimits own;
  EXPECT_EQ(limits.requests_per_second, own.requests_per_second);
  EXPECT_EQ(limits.request_burst, own.request_burst);
  EXPECT_EQ(limits.max_jobs, own.max_jobs);
  EXPECT_EQ(limits.max_stored_bytes, own.max_stored_bytes);
  EXPECT_EQ(limits.kept_replies, own.kept_replies);
  EXPECT_EQ(limits.kept_reply_bytes, own.kept_reply_bytes);
}

}  // namespace
}  // namespace gw::ctld
