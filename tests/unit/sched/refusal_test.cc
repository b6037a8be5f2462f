// Hints of refusals: what may be meant, or what there is.
#include <gtest/gtest.h>

#include "sched/place.h"
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

}  // namespace
}  // namespace gw::sched
