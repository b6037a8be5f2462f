// Generic resources of nodes in the scheduler: no more than there are, whoever holds the cores; planned as memory is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster_builder.h"
#include "sched/cycle/plan.h"
#include "sched/place/place.h"

namespace gw::sched {
namespace {

using testing::Cluster;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::machine;
using testing::pending;
using testing::tasks;

/// Nodes that say what they have; a task takes a core or more of 16.
struct Equipped : Cluster {
  explicit Equipped(const std::vector<std::string>& of_nodes)
      : Cluster(static_cast<uint32_t>(of_nodes.size()), machine(16, 0, 64'000)) {
    for (uint32_t id = 1; id <= of_nodes.size(); ++id) equip(id, of_nodes[id - 1]);
  }
  void equip(uint32_t id, const std::string& gres, uint64_t tmp_mb = 0) {
    NodeFacts facts = testing::node_facts(id, machine(16, 0, 64'000));
    facts.gres = model::parse_gres(gres).value();
    facts.tmp_mb = tmp_mb;
    apply(NodeSet{facts});
  }
  static model::Request request(const std::string& gres) {
    model::Request r = tasks(1);
    r.mem_per_node_mb = 100;
    r.gres = model::parse_gres(gres).value();
    return r;
  }
  void queue(uint32_t id, const std::string& gres, base::Duration limit = base::hours(1),
             const std::vector<std::string>& nodes = {}) {
    PendingJob job = pending(id, request(gres));
    job.request.nodelist = nodes;
    job.time_limit = limit;
    apply(JobQueued{job});
  }
  /// Plans, and carries out the starts: "1@n1".
  std::vector<std::string> start() {
    last = plan(view, now, {});
    std::vector<std::string> out;
    for (const Group& group : last.groups)
      for (const Decision& d : group.decisions)
        if (const auto* s = std::get_if<Start>(&d)) {
          const auto job = std::make_shared<const PendingJob>(*view.queue().find(s->job));
          out.push_back(s->job.text() + "@" + s->allocation.shares.at(0).name);
          apply(JobPlaced{s->job, s->partition, s->allocation, now, now + s->time_limit, job});
        }
    return out;
  }
  void end(uint32_t id) {
    const model::Allocation held = view.capacity().allocation_of(JobId(id));
    for (const model::NodeShare& share : held.shares) apply(ShareReleased{JobId(id), share.node});
  }
  std::string why() const {
    for (const Group& group : last.groups)
      for (const Decision& d : group.decisions)
        if (const auto* w = std::get_if<Wait>(&d)) return model::words(w->blockers);
    return {};
  }
  std::string refusal(const std::string& gres, uint64_t tmp_mb = 0) const {
    model::Request r = request(gres);
    r.tmp_mb = tmp_mb;
    const base::Status may = could_ever_run(view.capacity(), partition(), r);
    return may ? "" : may.error().sentence + "|" + may.error().what + "|" + may.error().hint;
  }

  Time now{1};
  Plan last;
};

TEST(GresOfNodes, NoMoreAreGivenThanThereAre) {
  Equipped c({"nvme:4", ""});
  c.queue(1, "nvme:3");
  c.queue(2, "nvme:2");
  c.queue(3, "nvme:1");
  c.queue(4, "");
  EXPECT_THAT(c.start(), ElementsAre("1@n1", "3@n1", "4@n1"));
  EXPECT_THAT(c.why(), HasSubstr("2 have too few free generic resources"));
  EXPECT_THAT(c.start(), ElementsAre());
  c.end(3);
  EXPECT_THAT(c.start(), ElementsAre());
  c.end(1);
  EXPECT_THAT(c.start(), ElementsAre("2@n1"));
  EXPECT_TRUE(c.view.capacity().audit());
}

TEST(GresOfNodes, ALedgerTakesNoShareOfWhatIsNotThere) {
  Equipped c({"nvme:4"});
  model::NodeShare share;
  share.node = NodeId(1);
  share.name = "n1";
  share.gres = model::parse_gres("nvme:3").value();
  Capacity& capacity = c.view.capacity();
  ASSERT_TRUE(capacity.allocate(JobId(1), "main", model::Allocation{{share}}, {}, Time::never()));
  const base::Status second = capacity.allocate(JobId(2), "main", model::Allocation{{share}}, {}, Time::never());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().what, "generic resources of node n1 are not free");
  EXPECT_EQ(capacity.allocation_of(JobId(1)).shares.at(0).gres, share.gres);
}

// The nodes are alike but for what is free of it.
TEST(GresOfNodes, NodesOfWhichDifferentNumbersAreFreeAreToldApart) {
  Equipped c({"nvme:4", "nvme:4", "nvme:4"});
  c.queue(1, "nvme:3");
  c.queue(2, "nvme:4");
  c.queue(3, "nvme:4");
  EXPECT_THAT(c.start(), ElementsAre("1@n1", "2@n2", "3@n3"));
  c.queue(4, "nvme:1");
  EXPECT_THAT(c.start(), ElementsAre("4@n1"));
}

// As many cores and as much memory are in use on both.
TEST(GresOfNodes, NodesThatDifferInItAloneAreNoneOfOneGroup) {
  Equipped c({"nvme:4", "nvme:4"});
  c.queue(1, "nvme:3", base::hours(1), {"n1"});
  c.queue(2, "", base::hours(1), {"n2"});
  EXPECT_THAT(c.start(), ElementsAre("1@n1", "2@n2"));
  c.queue(3, "nvme:4");
  EXPECT_THAT(c.start(), ElementsAre("3@n2"));
}

TEST(GresOfNodes, TypesAndKinds) {
  Equipped c({"fpga:xilinx:1,fpga:intel:1"});
  c.queue(1, "fpga:1");
  c.queue(2, "fpga:xilinx:1");
  c.queue(3, "fpga:intel:1");
  EXPECT_THAT(c.start(), ElementsAre("1@n1", "2@n1"));
  c.end(1);
  EXPECT_THAT(c.start(), ElementsAre("3@n1"));
}

// Who waits for it has a planned start, which those behind it do not delay, and which they may run before.
TEST(GresOfNodes, ArePlannedAheadAsMemoryIs) {
  Equipped c({"nvme:4"});
  c.queue(1, "nvme:2", base::hours(2));
  EXPECT_THAT(c.start(), ElementsAre("1@n1"));
  c.queue(2, "nvme:4", base::hours(1));
  c.queue(3, "nvme:1", base::hours(3));
  c.queue(4, "nvme:1", base::hours(1));
  c.queue(5, "", base::hours(9));
  EXPECT_THAT(c.start(), ElementsAre("4@n1", "5@n1")) << "the third would be there when the second is to start";
  ASSERT_FALSE(c.last.planned_starts.empty());
  EXPECT_EQ(c.last.planned_starts.front().start, c.now + base::hours(2));
}

TEST(GresOfNodes, WhatNoNodeHasIsRefused) {
  Equipped c({"nvme:2,lscratch:800", "nvme:1"});
  EXPECT_EQ(c.refusal("nvme:2"), "");
  EXPECT_EQ(
      c.refusal("fpga:1"),
      "Invalid generic resource (gres) specification|--gres: no node of partition main has fpga|there are lscratch, "
      "nvme");
  EXPECT_THAT(c.refusal("nvme:3"), HasSubstr("--gres=nvme:3 asked of one node; no node of partition main has so many"));
  c.equip(1, "", 1'000);
  EXPECT_EQ(c.refusal("", 1'000), "");
  EXPECT_EQ(c.refusal("", 1'001), "") << "nobody says how large the other's disk is";
  c.equip(2, "", 500);
  EXPECT_THAT(c.refusal("", 1'001), HasSubstr("no node of partition main has so large a disk"));
}

// Two sockets of eight cores with two threads each.
TEST(LayoutOfNodes, NodesWithTooFewSocketsCoresOrThreadsAreNotChosen) {
  Equipped c({""});
  const auto refusal = [&c](uint32_t sockets, uint32_t cores, uint32_t threads) {
    model::Request r = Equipped::request("");
    r.sockets = sockets;
    r.socket_cores = cores;
    r.core_threads = threads;
    const base::Status may = could_ever_run(c.view.capacity(), c.partition(), r);
    return may ? "" : may.error().what;
  };
  EXPECT_EQ(refusal(2, 8, 2), "");
  EXPECT_EQ(refusal(3, 0, 0), "3 sockets asked; no node of partition main has so many");
  EXPECT_THAT(refusal(0, 9, 0), HasSubstr("9 cores of a socket asked"));
  EXPECT_THAT(refusal(1, 0, 3), HasSubstr("1 socket and 3 threads of a core asked"));
}

TEST(GresOfNodes, OfANodeThatHasLessNowNothingMoreIsGiven) {
  Equipped c({"nvme:4"});
  c.queue(1, "nvme:3");
  EXPECT_THAT(c.start(), ElementsAre("1@n1"));
  c.equip(1, "nvme:2");
  c.queue(2, "nvme:1");
  EXPECT_THAT(c.start(), ElementsAre());
  EXPECT_TRUE(c.view.capacity().audit());
  c.equip(1, "nvme:8");
  EXPECT_THAT(c.start(), ElementsAre("2@n1"));
}

}  // namespace
}  // namespace gw::sched
