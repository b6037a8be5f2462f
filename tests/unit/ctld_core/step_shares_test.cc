// Dividing the allocation of a job among its steps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ctld/core/steps/shares.h"

namespace gw::ctld {
namespace {

using ::testing::HasSubstr;

model::Allocation allocation_of(std::vector<uint32_t> cores, uint32_t threads = 1) {
  model::Allocation a;
  for (uint32_t i = 0; i < cores.size(); ++i) {
    model::NodeShare s;
    s.node = base::NodeId(i + 1);
    s.name = "n" + std::to_string(i);
    s.tasks = 1;
    s.cores = base::IndexSet::first(cores[i]);
    s.cpus = cores[i] * threads;
    s.gpus = base::IndexSet::first(4);
    a.shares.push_back(s);
  }
  return a;
}

std::string layout(const base::Result<std::vector<model::NodeShare>>& r) {
  if (!r) return r.error().what;
  if (r->empty()) return "waits";
  std::string text;
  for (const model::NodeShare& s : *r) text += s.name + ":" + std::to_string(s.tasks) + " ";
  return text;
}

TEST(Divide, SpreadsTasksEvenlyWithinTheRoom) {
  model::StepRequest r;
  r.tasks = 4;
  EXPECT_EQ(layout(divide(allocation_of({8, 8, 8}), r, {})), "n0:2 n1:1 n2:1 ");
  r.tasks = 1;
  EXPECT_EQ(layout(divide(allocation_of({8, 8, 8}), r, {})), "n0:1 ");
  r.tasks = 12;
  EXPECT_EQ(layout(divide(allocation_of({2, 8, 2}), r, {})), "n0:2 n1:8 n2:2 ");
  r.min_nodes = 2;
  r.tasks = 9;
  EXPECT_EQ(layout(divide(allocation_of({2, 8, 2}), r, {})), "n0:2 n1:7 ");
  r.tasks = 0;
  r.min_nodes = 0;
  r.tasks_per_node = 2;
  EXPECT_EQ(layout(divide(allocation_of({2, 8}), r, {})), "n0:2 n1:2 ");
  r.tasks_per_node = 3;
  EXPECT_THAT(layout(divide(allocation_of({2, 8}), r, {})), HasSubstr("6 tasks"));
  r.overcommit = true;
  EXPECT_EQ(layout(divide(allocation_of({2, 8}), r, {})), "n0:3 n1:3 ");
}

TEST(Divide, GoesByPlanes) {
  model::StepRequest r;
  r.tasks = 9;
  r.plane = 2;
  EXPECT_EQ(layout(divide(allocation_of({8, 8, 8}), r, {})), "n0:4 n1:3 n2:2 ");
  EXPECT_EQ(layout(divide(allocation_of({2, 8, 8}), r, {})), "n0:2 n1:4 n2:3 ");
  r.tasks = 3;
  EXPECT_EQ(layout(divide(allocation_of({8, 8, 8}), r, {})), "n0:2 n1:1 ") << "no node without a task";
}

TEST(Divide, GivesEachTaskTheHostThatItIsFor) {
  model::StepRequest r;
  r.hosts = {"n2", "n0", "n2", "n2"};
  EXPECT_EQ(layout(divide(allocation_of({8, 8, 8}), r, {})), "n0:1 n2:3 ");
  r.cpus_per_task = 3;
  EXPECT_THAT(layout(divide(allocation_of({8, 8, 8}), r, {})), HasSubstr("more tasks requested than the allocation"));
  r.overcommit = true;
  EXPECT_EQ(layout(divide(allocation_of({8, 8, 8}), r, {})), "n0:1 n2:3 ");
  r = {};
  r.hosts = {"n2", "n9"};
  EXPECT_THAT(layout(divide(allocation_of({8, 8, 8}), r, {})), HasSubstr("requested node n9 is not in the job's"));
  r.hosts = {"n0"};
  r.exclude = {"n0"};
  r.min_nodes = 2;
  EXPECT_THAT(layout(divide(allocation_of({8, 8, 8}), r, {})), HasSubstr("no node of the job's allocation is left"));
  r = {};
  r.hosts = {"n0", "n0"};
  r.overcommit = true;
  r.cpus_per_task = 10'000'000;
  EXPECT_THAT(layout(divide(allocation_of({8, 8, 8}), r, {})), HasSubstr("no node has 10000000 CPUs for a task"));
  r.cpus_per_task = 60'000;
  EXPECT_EQ(layout(divide(allocation_of({8, 8, 8}), r, {})), "n0:2 ");
  r = {};
  r.hosts = {"n2", "n0"};
  r.exclude = {"n2"};
  EXPECT_THAT(layout(divide(allocation_of({8, 8, 8}), r, {})), HasSubstr("excluded"));
  r.exclude = {};
  Taken taken;
  taken[base::NodeId(3)] = {base::IndexSet::first(8), {}, {}};
  EXPECT_EQ(layout(divide(allocation_of({8, 8, 8}), r, taken)), "waits");
  r.tasks = 3;
  EXPECT_THAT(layout(divide(allocation_of({8, 8, 8}), r, {})), HasSubstr("3 tasks asked, of which 2 have a host"));
}

TEST(Divide, FillsItsNodesWithTasksOfSoManyCpus) {
  model::StepRequest r;
  r.fills = true;
  r.cpus_per_task = 3;
  EXPECT_EQ(layout(divide(allocation_of({8, 5, 6}), r, {})), "n0:2 n1:1 n2:2 ");
  EXPECT_EQ(layout(divide(allocation_of({8}, 2), r, {})), "n0:5 ") << "CPUs are threads";
  EXPECT_THAT(layout(divide(allocation_of({8, 2, 6}), r, {})), HasSubstr("3 tasks of 3 CPUs on 3 nodes"));
  r.min_nodes = r.max_nodes = 1;
  EXPECT_EQ(layout(divide(allocation_of({2, 8, 6}), r, {})), "n1:2 ");
  r.nodelist = {"n1"};
  EXPECT_EQ(layout(divide(allocation_of({8, 6}), r, {})), "n1:2 ");
  EXPECT_THAT(layout(divide(allocation_of({8, 2}), r, {})), HasSubstr("1 task of 3 CPUs"));
  r.nodelist = {};
  r.gpus_per_task = 4;
  EXPECT_EQ(layout(divide(allocation_of({8, 6}), r, {})), "n0:1 ");
}

TEST(Divide, WhatFillsItsNodesWaitsForAllOfThem) {
  model::StepRequest r;
  r.fills = true;
  r.cpus_per_task = 4;
  r.min_nodes = r.max_nodes = 1;
  Taken taken;
  taken[base::NodeId(1)] = {base::IndexSet::first(3), {}, {}};
  EXPECT_EQ(layout(divide(allocation_of({8, 16}), r, taken)), "n1:4 ") << "nobody is there";
  EXPECT_EQ(layout(divide(allocation_of({8}), r, taken)), "waits");
  r.tasks = 1;
  EXPECT_EQ(layout(divide(allocation_of({8}), r, taken)), "n0:1 ");
  r.tasks = 0;
  r.cpus_per_task = 9;
  EXPECT_THAT(layout(divide(allocation_of({8, 6}), r, {})), HasSubstr("1 task of 9 CPUs"));
}

TEST(Divide, GivesCoresAndGpusOfATask) {
  model::StepRequest r;
  r.tasks = 2;
  r.cpus_per_task = 3;
  r.gpus_per_task = 1;
  const auto one = divide(allocation_of({8}, 2), r, {});
  ASSERT_EQ(layout(one), "n0:2 ");
  EXPECT_EQ(one->at(0).cores.text(), "0-2");
  EXPECT_EQ(one->at(0).cpus, 6u);
  EXPECT_EQ(one->at(0).gpus.text(), "0-1");
  Taken taken;
  taken[base::NodeId(1)] = {base::IndexSet::first(3), {}, base::IndexSet::first(2)};
  const auto two = divide(allocation_of({8}, 2), r, taken);
  ASSERT_EQ(layout(two), "n0:2 ");
  EXPECT_EQ(two->at(0).cores.text(), "3-5");
  EXPECT_EQ(two->at(0).gpus.text(), "2-3");
  taken[base::NodeId(1)].gpus = base::IndexSet::first(3);
  EXPECT_EQ(layout(divide(allocation_of({8}, 2), r, taken)), "waits");
  r.overlap = true;
  EXPECT_EQ(layout(divide(allocation_of({8}, 2), r, taken)), "n0:2 ");
  r.overlap = false;
  r.gpus_per_task = 0;
  EXPECT_EQ(divide(allocation_of({8}, 2), r, taken)->at(0).gpus.text(), "0-3") << "it sees all and takes none";
  r.whole = true;
  EXPECT_EQ(layout(divide(allocation_of({8}, 2), r, taken)), "waits");
  EXPECT_EQ(divide(allocation_of({8}, 2), r, {})->at(0).cores.text(), "0-7");
}

/// Cores 0 to 3 and GPUs 0 and 1 at the first socket, the others at the second.
model::NodeTopology two_sockets() {
  model::NodeTopology t;
  for (uint32_t c = 0; c < 8; ++c) t.cores.push_back({c / 4, c / 4, c / 4, {c}});
  for (uint32_t g = 0; g < 4; ++g) {
    model::Gpu& gpu = t.gpus.emplace_back();
    gpu.socket = gpu.numa = g / 2;
  }
  return t;
}

TEST(Divide, ClaimsCoresNearTheGpusOfTheTasks) {
  const model::NodeTopology node = two_sockets();
  const TopologyOf topology_of = [&](base::NodeId) { return &node; };
  const auto cores = [&](model::StepRequest r, const Taken& taken = {}) {
    const auto shares = divide(allocation_of({8}), r, taken, topology_of);
    return shares && !shares->empty() ? shares->at(0).cores.text() : layout(shares);
  };
  model::StepRequest r;
  r.tasks = 4;
  r.gpus_per_task = 1;
  EXPECT_EQ(cores(r), "0-1,4-5");
  r.tasks = 2;
  r.cpus_per_task = 2;
  EXPECT_EQ(cores(r), "0-3") << "GPUs 0 and 1";
  Taken taken;
  taken[base::NodeId(1)].gpus = base::IndexSet::first(2);
  EXPECT_EQ(cores(r, taken), "4-7");
  taken[base::NodeId(1)].cores = base::IndexSet::of({5, 6});
  EXPECT_EQ(cores(r, taken), "0-1,4,7") << "what is near first";
  r.gpus_per_task = 0;
  EXPECT_EQ(cores(r), "0-3");
}

TEST(Divide, SmallStepsShareACore) {
  model::StepRequest r;
  r.tasks = 1;
  Taken taken;
  std::string cores;
  for (int i = 0; i < 4; ++i) {
    const auto one = divide(allocation_of({2}, 2), r, taken);
    ASSERT_EQ(layout(one), "n0:1 ");
    EXPECT_EQ(one->at(0).cpus, 1u);
    cores += one->at(0).cores.text() + " ";
    model::Step step;
    step.nodes.push_back({one->at(0), {}, {}, false});
    take(step, taken);
  }
  EXPECT_EQ(cores, "0 0 1 1 ");
  EXPECT_EQ(layout(divide(allocation_of({2}, 2), r, taken)), "waits");
  Taken half;
  half[base::NodeId(1)].parts[0] = 1;
  r.tasks = 2;
  EXPECT_EQ(divide(allocation_of({2}, 2), r, half)->at(0).cores.text(), "1") << "two threads are a core of their own";
  r.tasks = 3;
  EXPECT_EQ(layout(divide(allocation_of({2}, 2), r, half)), "waits");
}

/// Two sockets of `cores / 2` cores each.
TopologyOf two_sockets(uint32_t cores) {
  auto node = std::make_shared<model::NodeTopology>();
  node->sockets = 2;
  for (uint32_t c = 0; c < cores; ++c) node->cores.push_back({c < cores / 2 ? 0U : 1U, 0, 0, {c, c + cores}});
  return [node](base::NodeId) { return node.get(); };
}

TEST(Divide, DealsTasksToSockets) {
  model::StepRequest r;
  r.tasks_per_socket = 1;
  const auto cores = [&r](const Taken& taken = {}) {
    const auto shares = divide(allocation_of({16}, 2), r, taken, two_sockets(16));
    return shares && !shares->empty() ? shares->at(0).cores.text() : layout(shares);
  };
  r.tasks = 2;
  EXPECT_EQ(cores(), "0,8") << "whole cores";
  r.cpus_per_task = 4;
  EXPECT_EQ(cores(), "0-1,8-9");
  r.tasks = 3;
  EXPECT_THAT(cores(), HasSubstr("there is room for 2"));
  r.tasks_per_socket = 2;
  EXPECT_EQ(cores(), "0-3,8-9");
  Taken taken;
  taken[base::NodeId(1)].cores = base::IndexSet::first(7);
  EXPECT_EQ(cores(taken), "waits") << "the first socket has one core left";
  r.tasks = 2;
  EXPECT_EQ(cores(taken), "8-11");
  r.overcommit = true;
  r.tasks = 40;
  EXPECT_EQ(layout(divide(allocation_of({16}, 2), r, {}, two_sockets(16))), "n0:40 ");
  r = {};
  r.tasks_per_socket = 1;
  r.tasks = 2;
  EXPECT_EQ(layout(divide(allocation_of({16}, 2), r, {})), "n0:2 ") << "nobody knows what the node looks like";
}

TEST(Divide, GivesACoreForEachCpuWhereThatIsAsked) {
  model::StepRequest r;
  r.tasks = 4;
  EXPECT_EQ(divide(allocation_of({4}, 2), r, {})->at(0).cores.text(), "0-1");
  r.whole_cores = true;
  EXPECT_EQ(divide(allocation_of({4}, 2), r, {})->at(0).cores.text(), "0-3");
  r.tasks = 1;
  EXPECT_EQ(divide(allocation_of({4}, 2), r, {})->at(0).cpus, 2U) << "not a part of a core";
  r.cpus_per_task = 3;
  EXPECT_EQ(divide(allocation_of({4}, 2), r, {})->at(0).cores.text(), "0-2");
  r.tasks = 2;
  EXPECT_THAT(layout(divide(allocation_of({4}, 2), r, {})), HasSubstr("there is room for 1"));
}

TEST(Divide, KeepsToNamedNodes) {
  model::StepRequest r;
  r.tasks = 2;
  r.nodelist = {"n2"};
  EXPECT_EQ(layout(divide(allocation_of({4, 4, 4}), r, {})), "n2:2 ");
  r.min_nodes = 2;
  EXPECT_EQ(layout(divide(allocation_of({4, 4, 4}), r, {})), "n0:1 n2:1 ");
  r.exclude = {"n0"};
  EXPECT_EQ(layout(divide(allocation_of({4, 4, 4}), r, {})), "n1:1 n2:1 ");
  r.exclude = {};
  r.nodelist = {"n2"};
  r.min_nodes = 2;
  Taken taken;
  taken[base::NodeId(3)].cores = base::IndexSet::first(4);
  EXPECT_EQ(layout(divide(allocation_of({4, 4, 4}), r, taken)), "waits") << "not without a node that it names";
  r = {};
  r.tasks_per_node = 1U << 31;
  EXPECT_THAT(layout(divide(allocation_of({4, 4}), r, {})), HasSubstr("tasks a node"));
  r = {};
  r.cpus_per_task = 10'000'000;
  r.overcommit = true;
  EXPECT_THAT(layout(divide(allocation_of({4, 4}), r, {})), HasSubstr("no node has"));
  r = {};
  r.nodelist = {"n9"};
  EXPECT_THAT(layout(divide(allocation_of({4, 4, 4}), r, {})), HasSubstr("n9 is not in the job's allocation"));
}

}  // namespace
}  // namespace gw::ctld
