// What this host lacks is told with the mistakes of the file, after them.
#include <gtest/gtest.h>

#include "config/config.h"

namespace gw::config {
namespace {

TEST(HostErrors, ComeAfterTheMistakesOfTheFile) {
  const auto config = parse("controller: {user: no-such-user-here}\njobs: {requeue: maybe}\ncluser: x\n", "f");
  ASSERT_FALSE(config);
  const std::string errors = config.error().text();
  const size_t value = errors.find("f:2:17: jobs.requeue"), key = errors.find("f:3:1: unknown key \"cluser\""),
               user = errors.find("f:1:20: controller.user: this host has no user");
  ASSERT_NE(value, std::string::npos) << errors;
  ASSERT_NE(key, std::string::npos) << errors;
  ASSERT_NE(user, std::string::npos) << errors;
  EXPECT_LT(value, key);
  EXPECT_LT(key, user);
}

TEST(HostErrors, AloneStillRefuseTheFile) { EXPECT_FALSE(parse("controller: {user: no-such-user-here}\n", "f")); }

}  // namespace
}  // namespace gw::config
