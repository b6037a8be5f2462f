// Who is where in a step.
#include "noded/pmix/job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace gw::noded::pmix
