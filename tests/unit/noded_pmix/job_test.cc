// Who is where in a step; and who is at the other end of a connection.
#include "noded/pmix/job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "noded/pmix/relay.h"

namespace gw::noded::pmix {
namespace {

using ::testing::ElementsAre;

wire::PmixSetup setup(const std::vector<uint32_t>& tasks, bool is_cyclic = false) {
  wire::PmixSetup s;
  for (const uint32_t n : tasks) {
    s.add_nodes("n" + std::to_string(s.nodes_size()));
    s.add_tasks(n);
  }
  s.set_is_cyclic(is_cyclic);
  return s;
}

TEST(Job, BlockAndCyclic) {
  const auto block = make_job(setup({2, 1, 3}));
  ASSERT_TRUE(block);
  EXPECT_THAT(block->node_of, ElementsAre(0, 0, 1, 2, 2, 2));
  EXPECT_THAT(block->ranks[2], ElementsAre(3, 4, 5));
  const auto cyclic = make_job(setup({2, 1, 3}, true));
  ASSERT_TRUE(cyclic);
  EXPECT_THAT(cyclic->node_of, ElementsAre(0, 1, 2, 0, 2, 2));
  EXPECT_EQ(comma_list(cyclic->ranks[2]), "2,4,5");
}

TEST(Job, WhatDoesNotFitIsRefused) {
  EXPECT_FALSE(make_job(setup({})));
  EXPECT_FALSE(make_job(setup({2, 0})));
  EXPECT_FALSE(make_job(setup({kMaxTasks, 1})));
  EXPECT_FALSE(make_job(setup({UINT32_MAX, UINT32_MAX})));
  wire::PmixSetup s = setup({1, 1});
  s.set_self(2);
  EXPECT_FALSE(make_job(s));
  s.set_self(1);
  s.add_nodes("more");
  EXPECT_FALSE(make_job(s));
}

// 127.0.0.1:4660 -> 127.0.0.1:22136, as the kernel writes it on a little-endian machine.
constexpr char kTable[] =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
    "   0: 0100007F:5678 0100007F:1234 01 00000000:00000000 00:00000000 00000000     0        0 100 1 0 20 4 30 10 -1\n"
    "   1: 0100007F:1234 0100007F:5678 01 00000000:00000000 00:00000000 00000000  1007        0 101 1 0 20 4 30 10 "
    "-1\n";

TEST(Relay, TheKernelSaysWhoseAConnectionIs) {
  constexpr uint32_t kLoopback = 0x0100007F;
  EXPECT_EQ(user_of_peer(kTable, kLoopback, 0x1234, kLoopback, 0x5678), 1007);
  EXPECT_EQ(user_of_peer(kTable, kLoopback, 0x5678, kLoopback, 0x1234), 0);
  EXPECT_EQ(user_of_peer(kTable, kLoopback, 0x1235, kLoopback, 0x5678), -1);
  EXPECT_EQ(user_of_peer("", kLoopback, 0x1234, kLoopback, 0x5678), -1);
}

}  // namespace
}  // namespace gw::noded::pmix
