// What the node daemon makes of its configuration.
#include "noded/shell/setup.h"

#include <gtest/gtest.h>

namespace gw::noded {
namespace {

TEST(ProcessLimit, LeavesHalfOfTheMachine) {
  EXPECT_EQ(process_limit(config::Config().max_processes, 4'194'304), 65'536u);
  EXPECT_EQ(process_limit(config::Config().max_processes, 32'768), 16'384u);
  EXPECT_EQ(process_limit(100, 32'768), 100u);
}

TEST(ProcessLimit, NoneIfNoneIsWanted) { EXPECT_EQ(process_limit(0, 32'768), 0u); }

TEST(ProcessLimit, WhatIsConfiguredIfTheMachineIsNotKnown) { EXPECT_EQ(process_limit(500, 0), 500u); }

}  // namespace
}  // namespace gw::noded
