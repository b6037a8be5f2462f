// Blockers: their words, their names, and what counts as the same cause.
#include "model/blocker.h"

#include <gtest/gtest.h>

#include <set>

namespace gw::model {
namespace {

Blocker of_main(BlockerKind kind, uint32_t nodes = 0, std::string held_by = {}) {
  return Blocker{
      .kind = kind, .scope = BlockerScope::kPartition, .where = "main", .nodes = nodes, .held_by = std::move(held_by)};
}

Blocker too_few_nodes(uint64_t asked, uint64_t of, uint64_t fitting) {
  Blocker b = of_main(BlockerKind::kNodes);
  b.resource = "node";
  b.asked = asked;
  b.bound = of;
  b.held = of - fitting;
  return b;
}

TEST(Blockers, NodesThatAreRuledOutStandBehindWhatIsNeeded) {
  EXPECT_EQ(words({too_few_nodes(2, 4, 1), of_main(BlockerKind::kGpus, 2),
                   of_main(BlockerKind::kUnavailableNode, 1, "drained: disk")}),
            "needs 2 nodes; of 4 in partition main: 2 have too few free GPUs, 1 is drained: disk, 1 could hold a part");
  EXPECT_EQ(words({too_few_nodes(1, 0, 0)}), "partition main has no nodes");
}

TEST(Blockers, AllAreTold) {
  const Blocker share{.kind = BlockerKind::kFairShare, .scope = BlockerScope::kQos, .where = "QOS a"};
  EXPECT_EQ(
      words({of_main(BlockerKind::kPartitionDown), of_main(BlockerKind::kStrictOrder, 0, "7"), share}),
      "partition main is down; partition main serves strictly in order: job 7 is before it and waits; with it QOS a "
      "would hold more than its fair share, so it waits for what others leave idle");
}

TEST(Blockers, ALimitTellsWhatIsHeldAndAsked) {
  Blocker limit{.kind = BlockerKind::kUserLimit,
                .scope = BlockerScope::kQos,
                .where = "QOS a",
                .resource = "job",
                .asked = 1,
                .bound = 1,
                .held = 1};
  EXPECT_EQ(words({limit}), "the limit of each user in QOS a is 1 job: 1 held, 1 more asked");
  limit.kind = BlockerKind::kGuarantee;
  limit.resource = "gpu";
  limit.asked = limit.bound = limit.held = 2000;
  EXPECT_EQ(words({limit}),
            "it can never be preempted, so it starts only within what QOS a is guaranteed, 2 gpu: 2 held by such jobs, "
            "2 more asked");
}

TEST(Blockers, EachKindHasANameAndWordsOfItsOwn) {
  std::set<std::string> names, texts;
  for (int i = 0; i <= static_cast<int>(kLastBlockerKind); ++i) {
    const auto kind = static_cast<BlockerKind>(i);
    BlockerScope scope = BlockerScope::kPartition;
    if (kind >= BlockerKind::kReservationGone) scope = BlockerScope::kReservation;
    if (kind >= BlockerKind::kLimit) scope = BlockerScope::kQos;
    if (kind >= BlockerKind::kHeldByOwner) scope = BlockerScope::kJob;
    const Blocker b{.kind = kind, .scope = scope, .where = "x", .resource = "gpu", .nodes = 1};
    EXPECT_TRUE(names.insert(std::string(name(kind))).second) << i;
    std::string text = words({b});
    if (kind == BlockerKind::kNodesNotLeft || kind == BlockerKind::kOtherComponent) text = std::to_string(i);
    EXPECT_FALSE(text.empty()) << i;
    EXPECT_TRUE(texts.insert(text).second) << i << ": " << text;
  }
}

TEST(Blockers, AmountsAreNoPartOfTheCause) {
  EXPECT_TRUE(is_same_cause(too_few_nodes(2, 4, 1), too_few_nodes(2, 4, 0)));
  EXPECT_FALSE(is_same_cause(too_few_nodes(2, 4, 1), of_main(BlockerKind::kGpus, 1)));
  Blocker elsewhere = too_few_nodes(2, 4, 1);
  elsewhere.where = "small";
  EXPECT_FALSE(is_same_cause(too_few_nodes(2, 4, 1), elsewhere));
}

}  // namespace
}  // namespace gw::model
