// Messages that no honest sender makes are refused; names and ids of nodes are matched up.
#include "wire/convert.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gw::wire {
namespace {

using testing::HasSubstr;

template <typename T>
std::string refused(const base::Result<T>& r) {
  return r ? "accepted" : r.error().what;
}

TEST(FromWire, RefusesUnknownNumbers) {
  Request request;
  request.set_gpu_counting(4);
  EXPECT_THAT(refused(from_wire(request)), HasSubstr("counting of GPUs"));
  request = {};
  request.add_locality()->set_level(8);
  EXPECT_THAT(refused(from_wire(request)), HasSubstr("locality has no meaning for number 8"));
  request = {};
  request.set_fit(4);
  EXPECT_THAT(refused(from_wire(request)), HasSubstr("fit has no meaning for number 4"));
  request = {};
  for (int i = 0; i < 9; ++i) request.add_locality();
  EXPECT_THAT(refused(from_wire(request)), HasSubstr("more levels of locality"));
  JobSpec spec;
  spec.set_warn_signo(65);
  EXPECT_THAT(refused(from_wire(spec)), HasSubstr("signal"));
  spec.set_warn_signo(-1);
  EXPECT_THAT(refused(from_wire(spec)), HasSubstr("signal"));
  Outcome outcome;
  outcome.set_end(2);
  EXPECT_THAT(refused(from_wire(outcome)), HasSubstr("not the end of a run"));
  outcome.set_end(99);
  EXPECT_THAT(refused(from_wire(outcome)), HasSubstr("not the end of a run"));
  Partition partition;
  partition.set_state(4);
  EXPECT_THAT(refused(from_wire(partition)), HasSubstr("partition state"));
  partition.set_state(0);
  partition.set_fit(4);
  EXPECT_THAT(refused(from_wire(partition)), HasSubstr("fit"));
}

/// Rows that were stored before a field existed, and messages of older commands.
TEST(FromWire, WhatIsAbsentHasItsDefault) {
  EXPECT_EQ(from_wire(Request{})->gpu_milli, 1000u);
  EXPECT_EQ(from_wire(Request{})->switches_wait, base::kUnlimited);
  EXPECT_TRUE(from_wire(Request{})->locality.empty());
  EXPECT_EQ(from_wire(Request{})->fit, model::Fit::kDefault);
  EXPECT_EQ(from_wire(NodeShare{})->gpu_milli, 1000u);
  EXPECT_EQ(from_wire(Partition{})->cores_per_gpu_kept, 1u);
  EXPECT_EQ(from_wire(JobSpec{})->time_min, base::Duration{});
  EXPECT_EQ(from_wire(JobSpec{})->deadline, base::Time{});
}

TEST(FromWire, ZeroIsNotAbsent) {
  Request request;
  request.set_gpu_milli(0);
  EXPECT_EQ(from_wire(request)->gpu_milli, 0u) << "normalise() refuses it";
  request.set_switches_wait_us(0);
  EXPECT_EQ(from_wire(request)->switches_wait, base::Duration{});
  Partition partition;
  partition.set_cores_per_gpu_kept(0);
  EXPECT_EQ(from_wire(partition)->cores_per_gpu_kept, 0u);
}

TEST(FromWire, RefusesSharesThatAreNoPartOfAGpu) {
  NodeShare share;
  share.set_gpu_milli(0);
  EXPECT_THAT(refused(from_wire(share)), HasSubstr("0 thousandths"));
  share.set_gpu_milli(1001);
  EXPECT_THAT(refused(from_wire(share)), HasSubstr("1001 thousandths"));
  share.set_gpu_milli(1);
  EXPECT_EQ(refused(from_wire(share)), "accepted");
}

TEST(FromWire, RefusesBadIndexLists) {
  NodeShare share;
  share.set_cores("0-");
  EXPECT_NE(refused(from_wire(share)), "accepted");
  share.set_cores("0-999999999");
  EXPECT_NE(refused(from_wire(share)), "accepted");
}

TEST(FromWire, RefusesAStatusWhosePhaseIsNotItsStates) {
  Job job;
  EXPECT_THAT(refused(from_wire(job)), HasSubstr("without a phase"));
  job.mutable_status()->mutable_waiting();
  EXPECT_EQ(refused(from_wire(job)), "accepted");
  job.mutable_status()->set_state(static_cast<uint32_t>(model::JobState::kRunning));
  EXPECT_THAT(refused(from_wire(job)), HasSubstr("data of another state"));
  job.mutable_status()->set_state(14);
  EXPECT_THAT(refused(from_wire(job)), HasSubstr("unknown job state 14"));
  job.mutable_status()->set_state(0);
  job.mutable_status()->mutable_waiting()->set_reason(77);
  const auto read = from_wire(job);  // of a later version: why it waits is worked out anew
  ASSERT_TRUE(read);
  EXPECT_EQ(read->waiting()->reason, model::WaitReason::kNone);
}

TEST(FromWire, ReadsAnEndWhoseReasonItDoesNotKnow) {
  Outcome outcome;
  outcome.set_reason(77);
  outcome.set_detail("eaten by a grue");
  const auto read = from_wire(outcome);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->reason, model::EndReason::kNone);
  EXPECT_EQ(read->detail, "eaten by a grue");
}

TEST(FromWire, ANodeThatHoldsAJobIsNeverForgotten) {
  Job job;
  job.mutable_status()->set_state(static_cast<uint32_t>(model::JobState::kConfiguring));
  job.mutable_status()->mutable_placed()->add_shares()->set_node("n1");
  job.mutable_status()->mutable_placed()->add_waiting_for("n1");
  const NodeLookup known = [](std::string_view name) { return base::NodeId(name == "n1" ? 3 : 0); };
  const NodeLookup nobody = [](std::string_view) { return base::NodeId(0); };
  auto with = from_wire(job, known);
  ASSERT_TRUE(with.has_value());
  EXPECT_EQ(with->placed()->allocation.shares[0].node, base::NodeId(3));
  EXPECT_TRUE(with->placed()->waiting_for.contains(base::NodeId(3)));
  EXPECT_THAT(refused(from_wire(job, nobody)), HasSubstr("node n1"));
  auto without = from_wire(job);
  ASSERT_TRUE(without.has_value());
  EXPECT_EQ(without->placed()->allocation.shares[0].name, "n1");
}

TEST(ToWire, NamesNodesOutsideTheGangByTheNamer) {
  model::Job job;
  job.state = model::JobState::kRunning;
  model::Placed placed;
  placed.unreachable.insert(base::NodeId(9));
  job.phase = placed;
  EXPECT_EQ(to_wire(job, [](base::NodeId id) { return "node" + id.text(); }).status().placed().unreachable(0), "node9");
}

TEST(FromWire, BoundsATopology) {
  NodeTopology topology;
  for (int i = 0; i < 2000; ++i) topology.add_gpus();
  EXPECT_THAT(refused(from_wire(topology)), HasSubstr("more devices than any machine has"));
  NodeTopology linked;
  GpuLink* link = linked.add_links();
  link->set_a(0);
  link->set_b(1);
  EXPECT_THAT(refused(from_wire(linked)), HasSubstr("a link between GPUs 0 and 1 of 0"));
}

TEST(FromWire, AnErrorAlwaysHasWords) {
  Error error;
  error.set_code(99);
  EXPECT_EQ(from_wire(error).code, base::ErrorCode::kInternal);
  EXPECT_FALSE(from_wire(error).what.empty());
}

TEST(ToWire, ANodeCarriesASummaryWithoutItsTopology) {
  model::Node node;
  node.config.name = "n1";
  node.topology = std::make_shared<const model::NodeTopology>(model::flat_topology(8, 1024, 2, "t4"));
  const Node w = to_wire(node, false);
  EXPECT_FALSE(w.has_topology());
  EXPECT_EQ(w.total_gpus(), 2u);
  EXPECT_EQ(w.gres(), "gpu:t4:2");
  EXPECT_EQ(w.total_cpus(), 8u);
}

TEST(Stored, NodeFieldsComeBack) {
  model::Node node;
  node.topology = std::make_shared<const model::NodeTopology>(model::flat_topology(8, 1024, 2, "t4"));
  node.admin = model::NodeAdmin::kDrain;
  node.reason = "fan";
  node.offline_gpus[1] = "ECC";
  model::Node back;
  ASSERT_TRUE(stored_from_wire(to_wire(node), back).has_value());
  EXPECT_EQ(*back.topology, *node.topology);
  EXPECT_EQ(back.admin, node.admin);
  EXPECT_EQ(back.reason, "fan");
  EXPECT_EQ(back.offline_gpus, node.offline_gpus);
  Node bad;
  bad.set_admin(7);
  EXPECT_FALSE(stored_from_wire(bad, back).has_value());
}

TEST(Bytes, PathsNeedNotBeUtf8) {
  model::JobSpec spec;
  spec.name = "a\xff";
  spec.launch.work_dir = "/tmp/\xe4";
  spec.launch.args = {"\xff"};
  JobSpec parsed;
  ASSERT_TRUE(parsed.ParseFromString(to_wire(spec).SerializeAsString()));
  EXPECT_EQ(*from_wire(parsed), spec);
}

// Whoever makes a request by hand says of a kind no fewer than of its types: others would be given the rest.
TEST(Convert, GresMadeByHandAreHeldAgainstEachOther) {
  const auto read = [](const std::vector<std::pair<std::string, uint64_t>>& said) {
    Request w = to_wire(model::Request());
    for (const auto& [name, count] : said) {
      GresCount& one = *w.add_gres();
      one.set_name(name);
      one.set_count(count);
    }
    const auto request = from_wire(w);
    return request ? model::format_gres(request->gres) : "refused: " + request.error().what;
  };
  EXPECT_EQ(read({{"fpga:x", 2}, {"fpga", 2}}), "fpga:x:2");
  EXPECT_EQ(read({{"fpga:x", 2}}), "refused: generic resources: fewer of a kind than of its types");
  EXPECT_EQ(read({{"nvme", model::kMostOfAGres}, {"nvme", 1}}),
            "refused: generic resources: fewer of a kind than of its types");
  EXPECT_EQ(read({{"gpu", 2}}), "refused: no number of a generic resource: gpu");
  EXPECT_EQ(read({{"nvme", model::kMostOfAGres + 1}}), "refused: no number of a generic resource: nvme");
}

}  // namespace
}  // namespace gw::wire
