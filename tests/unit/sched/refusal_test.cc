// Hints of refusals: what may be meant, or what there is.
#include <gtest/gtest.h>

#include "sched/place/place.h"
#include "tests/unit/sched/cluster_builder.h"

namespace gw::sched {
namespace {

using namespace testing;

std::string hint_for(std::vector<model::FeatureSet> features, const std::vector<std::string>& there) {
  Cluster c(2, machine(4, 1, 64'000));
  NodeFacts facts = c.view.capacity().node(NodeId(1))->facts;
  facts.features = there;
  c.apply(NodeSet{facts});
  model::Request request = tasks(1);
  request.features = std::move(features);
  const base::Status verdict = could_ever_run(c.view.capacity(), c.partition(), request);
  return verdict ? "could run" : verdict.error().hint;
}

TEST(Refusal, OfFeaturesSaysWhichThereAre) {
  EXPECT_EQ(hint_for({{"nope"}}, {"infiniband", "a100"}), "its nodes have a100, infiniband");
  EXPECT_EQ(hint_for({{"infinband"}}, {"infiniband", "a100"}), "did you mean \"infiniband\"?");
  EXPECT_EQ(hint_for({{"a100", "infinband"}}, {"infiniband", "a100"}), "did you mean \"infiniband\"?");
  EXPECT_EQ(hint_for({{"nope"}}, {}), "its nodes have none");
  EXPECT_EQ(hint_for({{"a100"}}, {"a100"}), "could run");
}

TEST(Refusal, OfLocalitySaysThatNothingIsLinked) {
  model::NodeTopology t = machine(16, 8, 64'000);
  t.gpu_links.clear();
  model::Request r = tasks(1);
  r.gpus = 4;
  r.locality = {{model::Locality::kNvlink, base::kUnlimited}};
  for (const auto counting :
       {model::GpuCounting::kPerJob, model::GpuCounting::kPerNode, model::GpuCounting::kPerTask}) {
    r.gpu_counting = counting;
    const Cluster unlinked(2, t);
    const base::Status verdict = could_ever_run(unlinked.view.capacity(), unlinked.partition(), r);
    ASSERT_FALSE(verdict);
    EXPECT_EQ(verdict.error().what, "--locality=nvlink asked; no node of partition main has links between its GPUs");
    model::NodeTopology pairs = t;  // two and two are linked, which is not enough
    pairs.gpu_links.assign(8, std::vector<uint64_t>(8, 0));
    for (size_t g = 0; g < 8; ++g) pairs.gpu_links[g][g ^ 1] = 50'000;
    const Cluster paired(2, pairs);
    const base::Status other = could_ever_run(paired.view.capacity(), paired.partition(), r);
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().what.find("has links"), std::string::npos) << other.error().what;
  }
}

TEST(Refusal, WhereEachNodeLacksSomethingElseSaysWhat) {
  Cluster c(2, machine(16, 8, 64'000));
  NodeFacts facts = c.view.capacity().node(NodeId(1))->facts;
  facts.features = {"ib"};
  c.apply(NodeSet{facts});
  model::Request request = gang(1, 9);
  request.features = {{"ib"}};
  EXPECT_EQ(could_ever_run(c.view.capacity(), c.partition(), request).error().what,
            "no node of partition main can hold a part of this job: of 2, 1 lacks the features ib, 1 has fewer than 9 "
            "GPUs");
}

TEST(Refusal, OfMemoryAndCpusSaysHowManyThatAre) {
  Cluster c(1, machine(16, 8, 64'000));
  const auto what = [&c](const model::Request& r) {
    return could_ever_run(c.view.capacity(), c.partition(), r).error().what;
  };
  model::Request r = gang(1, 8);
  r.mem_per_node_mb = 0;
  r.mem_per_gpu_mb = 10'240;
  EXPECT_EQ(what(r), "80G memory (8 GPUs of 10G) on one node asked; the largest node in partition main offers 62.50G");
  r.mem_per_gpu_mb = 0;
  r.cpus_per_gpu = 5;
  EXPECT_EQ(what(r), "40 CPUs on one node asked; the largest node in partition main offers 32");
}

TEST(Refusal, OfANamedNodeSaysWhatItLacks) {
  Cluster c(2, machine(16, 8, 64'000));
  c.apply(NodeSet{node_facts(2, machine(16, 8, 64'000, "l40s"))});
  model::Request r = gang(1, 8);
  r.gpu_type = "h100";
  r.nodelist = {"n2"};
  EXPECT_EQ(could_ever_run(c.view.capacity(), c.partition(), r).error().what, "node n2 of --nodelist has no h100 GPUs");
  r.nodelist = {"n1"};
  EXPECT_TRUE(could_ever_run(c.view.capacity(), c.partition(), r));
}

}  // namespace
}  // namespace gw::sched
