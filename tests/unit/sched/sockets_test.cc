// --ntasks-per-socket in the scheduler: which cores of a node a job gets, and which nodes have room for it so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster_builder.h"
#include "sched/place/place.h"

namespace gw::sched {
namespace {

using testing::Cluster;
using ::testing::HasSubstr;
using testing::machine;

/// Nodes of two sockets with eight cores of two threads each: cores 0-7 and 8-15.
struct Sockets : Cluster {
  explicit Sockets(uint32_t nodes, uint32_t gpus = 0) : Cluster(nodes, machine(16, gpus, 64'000)) {}

  static model::Request request(uint32_t tasks, uint32_t cpus, uint32_t per_socket) {
    model::Request r = testing::tasks(tasks, cpus);
    r.mem_per_node_mb = 100;
    r.tasks_per_socket = per_socket;
    return r;
  }
  /// "n1:4-5,8 n2:0", the cores of each node; "-": nowhere.
  std::string place(model::Request r) const {
    if (const base::Status good = model::normalise(r); !good) return good.error().what;
    const auto placed = sched::place(view.capacity(), partition(), r, {});
    if (!placed.allocation) return "-";
    std::string text;
    for (const model::NodeShare& share : placed.allocation->shares)
      text += (text.empty() ? "" : " ") + share.name + ":" + share.cores.text();
    return text;
  }
  std::string place(uint32_t tasks, uint32_t cpus, uint32_t per_socket) const {
    return place(request(tasks, cpus, per_socket));
  }
  void occupy(uint32_t node, const std::string& cores) {
    model::NodeShare share;
    share.node = NodeId(node);
    share.name = "n" + std::to_string(node);
    share.cores = *base::IndexSet::parse(cores);
    ASSERT_TRUE(view.capacity().allocate(JobId(100 + node), "main", model::Allocation{{share}}, {}, Time::never()));
  }
  std::string refusal(const model::Request& r) const {
    const base::Status may = could_ever_run(view.capacity(), partition(), r);
    return may ? "" : may.error().what;
  }
};

TEST(TasksOfASocket, AreNoMoreThanWereAsked) {
  const Sockets c(2);
  EXPECT_EQ(c.place(2, 1, 1), "n1:0,8");
  EXPECT_EQ(c.place(2, 1, 2), "n1:0-1") << "one socket is filled before the next, with a core for each task";
  EXPECT_EQ(c.place(4, 4, 2), "n1:0-3,8-11");
  EXPECT_EQ(c.place(3, 3, 2), "n1:0-3,8-9") << "whole cores: three threads take two";
  EXPECT_EQ(c.place(4, 1, 1), "n1:0,8 n2:0,8");
  EXPECT_EQ(c.place(5, 1, 1), "-") << "there are four sockets";
}

TEST(TasksOfASocket, HaveNoCoresOfTwo) {
  Sockets c(1);
  c.occupy(1, "0-5,8-14");
  EXPECT_EQ(c.place(3, 1, 2), "n1:6-7,15");
  EXPECT_EQ(c.place(1, 6, 2), "-") << "three cores are free, but on two sockets";
  EXPECT_EQ(c.place(1, 6, 0), "n1:6-7,15") << "without a word about sockets it may";
}

// As many cores are free on both: for any other request they are one and the same.
TEST(TasksOfASocket, AreLookedForOnEachNodeByItself) {
  Sockets c(2);
  c.occupy(1, "0-6,8");
  c.occupy(2, "0-3,8-11");
  EXPECT_EQ(c.place(2, 4, 1), "n2:4-5,12-13");
  model::Request two = Sockets::request(3, 4, 1);
  EXPECT_EQ(c.place(two), "n1:9-10 n2:4-5,12-13");
}

TEST(TasksOfASocket, AreWhereTheirGpusAre) {
  const Sockets c(1, 4);
  model::Request r = Sockets::request(2, 2, 2);
  r.gpu_counting = model::GpuCounting::kPerTask;
  r.gpus = 1;
  r.locality = {};
  const auto placed = sched::place(c.view.capacity(), c.partition(), r, {});
  ASSERT_TRUE(placed.allocation);
  const model::NodeShare& share = placed.allocation->shares.at(0);
  const uint32_t socket = c.view.capacity().node(NodeId(1))->facts.topology->gpus[share.gpus.next(0)].socket;
  EXPECT_EQ(share.cores.text(), socket == 0 ? "0-1" : "8-9") << share.gpus.text();
}

// The first of the list are no better than the rest, though a few of them would be enough where the best come first.
TEST(TasksOfASocket, AreOnTheLightestNodeWhereverItStands) {
  Sockets c(6, 4);
  for (uint32_t id = 1; id <= 5; ++id) {
    NodeFacts facts = testing::node_facts(id, machine(16, 4, 64'000));
    facts.weight = 100;
    c.apply(NodeSet{facts});
  }
  model::Request r = Sockets::request(1, 1, 1);
  r.gpu_counting = model::GpuCounting::kPerTask;
  r.gpus = 1;
  PlacementOptions options;
  options.candidates = 2;
  const auto placed = sched::place(c.view.capacity(), c.partition(), r, options);
  ASSERT_TRUE(placed.allocation);
  EXPECT_EQ(placed.allocation->shares.at(0).name, "n6");
}

TEST(TasksOfASocket, MoreThanASocketHasAreRefused) {
  const Sockets c(2);
  EXPECT_EQ(c.refusal(Sockets::request(1, 16, 1)), "");
  EXPECT_THAT(c.refusal(Sockets::request(1, 18, 1)),
              HasSubstr("1 task of 18 CPUs on one node asked, at most 1 of them"));
  model::Request r = Sockets::request(6, 2, 2);
  r.nodes_given = true;
  r.min_nodes = r.max_nodes = 1;
  EXPECT_NE(c.refusal(r), "") << "a node takes four";
  r.tasks = 4;
  EXPECT_EQ(c.refusal(r), "");
  r.overcommit = true;
  r.tasks = 20;
  ASSERT_TRUE(model::normalise(r));
  EXPECT_EQ(c.refusal(r), "") << "tasks without cores of their own";
}

TEST(TasksOfASocket, CoresBeyondTheirsAreGivenToo) {
  const Sockets c(1);
  model::Request r = Sockets::request(2, 2, 1);
  r.min_cpus = 12;
  const auto placed = sched::place(c.view.capacity(), c.partition(), r, {});
  ASSERT_TRUE(placed.allocation);
  const base::IndexSet& cores = placed.allocation->shares.at(0).cores;
  EXPECT_EQ(cores.size(), 6U);
  EXPECT_TRUE(cores.intersects(*base::IndexSet::parse("0-7")) && cores.intersects(*base::IndexSet::parse("8-15")));
}

}  // namespace
}  // namespace gw::sched
