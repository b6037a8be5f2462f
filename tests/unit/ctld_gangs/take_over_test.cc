// What earlier versions stored of runs is taken over: nodes in the status of the job and in the record of the step.
#include <gtest/gtest.h>

#include "ctld/core/rows/run_rows.h"
#include "tests/unit/ctld_gangs/gang_world.h"

namespace gw::ctld {
namespace {

using testing::GangWorld;
using testing::World;

/// The store as it would be had an earlier version written it.
void make_old(GangWorld& w) {
  std::vector<store::PutRunNode> rows;
  for (const auto& [key, row] : w.store.run_nodes) rows.push_back(row);
  RunRows::Unread unread;
  const RunRows runs = RunRows::read(rows, unread);
  ASSERT_TRUE(unread.empty());
  for (auto& [id, row] : w.store.jobs) {
    row.status = wire::status_to_wire(w.job(id), [&](base::NodeId n) {
                   return w.core->nodes().at(n).config.name;
                 }).SerializeAsString();
  }
  for (auto& [key, row] : w.store.steps) {
    wire::Step step;
    ASSERT_TRUE(step.ParseFromString(row.bytes));
    ASSERT_TRUE(runs.complete(row, step));
    step.clear_node_list();
    row.bytes = step.SerializeAsString();
  }
  w.store.run_nodes.clear();
}

TEST(TakeOver, RunsAndStepsOfAnEarlierVersionGoOn) {
  GangWorld w(3);
  w.place();
  w.begin_step();
  w.done_of_step("n1");
  const auto rows = w.store.run_nodes;
  const std::string before = w.core->fingerprint();
  make_old(w);
  w.restart();
  ASSERT_TRUE(w.restored) << w.restored.error().text();
  EXPECT_EQ(w.core->fingerprint(), before);
  ASSERT_EQ(w.store.run_nodes.size(), rows.size());
  for (const auto& [key, row] : rows) EXPECT_EQ(w.store.run_nodes.at(key).bytes, row.bytes) << row.node;
  w.come_back();
  EXPECT_EQ(w.state(w.id), model::JobState::kRunning);
  w.restart();
  ASSERT_TRUE(w.restored) << w.restored.error().text();
  EXPECT_EQ(w.core->fingerprint(), before);
}

TEST(TakeOver, WhoHasCleanedUpIsNotWaitedForAgain) {
  GangWorld w(3);
  w.place();
  w.exited("n0", w.id, 0);
  w.done("n1", w.id);
  w.restart();
  ASSERT_TRUE(w.restored) << w.restored.error().text();
  EXPECT_EQ(w.job(w.id).placed()->waiting_for.size(), 2U);
  EXPECT_EQ(w.job(w.id).placed()->unreachable.size(), 2U);
  make_old(w);
  w.restart();
  ASSERT_TRUE(w.restored) << w.restored.error().text();
  EXPECT_EQ(w.job(w.id).placed()->waiting_for.size(), 2U);
}

TEST(TakeOver, AJobWithoutTheRowOfANodeIsHeldAsideAndTheNodeNamed) {
  GangWorld w(2);
  w.place();
  w.store.run_nodes.erase({w.id, 0, "n1"});
  w.restart();
  ASSERT_TRUE(w.restored) << w.restored.error().text();
  EXPECT_FALSE(w.core->jobs().contains(w.id));
  ASSERT_TRUE(w.store.held.contains({"job", w.id.text()}));
  EXPECT_NE(w.store.held.at({"job", w.id.text()}).reason.find("n1"), std::string::npos);
}

}  // namespace
}  // namespace gw::ctld
