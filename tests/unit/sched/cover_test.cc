// Which running jobs are covered and which are borrowed (sched/quota/cover.h).
#include "sched/quota/cover.h"

#include <gtest/gtest.h>

namespace gw::sched {
namespace {

using base::JobId;

model::Qos qos(const std::string& name, const std::string& parent, uint64_t gpus) {
  model::Qos out;
  out.name = name;
  out.parent = parent;
  out.guaranteed["gpu"] = gpus * 1000;
  return out;
}

/// dept is guaranteed 12, of which team has 8 and the jobs of dept itself 4.
struct Labels {
  QuotaTree tree{{qos("dept", "", 12), qos("team", "dept", 8)}};
  std::vector<Quantities> due;
  uint32_t team = tree.leaf_of("team"), own = tree.leaf_of("dept"), dept = *tree.find("dept");
  Cover cover;

  Labels() : due(tree.nodes().size(), tree.none()), cover(tree, due) {
    due[team][kGpu] = 8000;
    due[own][kGpu] = 4000;
    due[dept][kGpu] = 12000;
  }
  void add(uint32_t id, uint32_t leaf, uint64_t gpus, int64_t started, int64_t priority = 50) {
    cover.add(CoverEntry{JobId(id), leaf, {gpus * 1000}, false, priority, base::Time{started}, {}});
  }
  bool is_covered(uint32_t id, uint32_t at) { return cover.is_covered(JobId(id), at); }
};

TEST(Cover, WhoStartedFirstIsCoveredAndAJobIsBorrowedAsAWhole) {
  Labels l;
  l.add(1, l.team, 6, 100);
  l.add(2, l.team, 6, 200);  // 12 of 8
  l.add(3, l.team, 2, 300);  // fits beside the first
  EXPECT_TRUE(l.is_covered(1, l.team));
  EXPECT_FALSE(l.is_covered(2, l.team));
  EXPECT_TRUE(l.is_covered(3, l.team));
  EXPECT_EQ(l.cover.covered(l.team)[kGpu], 8000U);
}

TEST(Cover, ALaterStartUncoversNobodyUnlessItsPriorityIsHigher) {
  Labels l;
  l.add(1, l.team, 8, 100);
  l.add(2, l.team, 8, 50 + 100);
  EXPECT_TRUE(l.is_covered(1, l.team));
  l.add(3, l.team, 8, 900, 51);
  EXPECT_FALSE(l.is_covered(1, l.team));
  EXPECT_TRUE(l.is_covered(3, l.team));
  l.cover.remove(JobId(3));
  EXPECT_TRUE(l.is_covered(1, l.team));
}

TEST(Cover, WhoIsNeverPreemptedComesFirst) {
  Labels l;
  l.add(1, l.team, 8, 100);
  l.cover.add(CoverEntry{JobId(2), l.team, {4000}, true, 50, base::Time{900}, {}});
  EXPECT_TRUE(l.is_covered(2, l.team));
  EXPECT_FALSE(l.is_covered(1, l.team));
}

TEST(Cover, WhoIsCoveredBelowComesFirstAbove) {
  Labels l;
  l.add(1, l.own, 8, 100);   // of dept itself: 8 of 4
  l.add(2, l.team, 8, 200);  // within the team's guarantee
  l.add(3, l.own, 4, 300);
  EXPECT_FALSE(l.is_covered(1, l.own));
  EXPECT_TRUE(l.is_covered(3, l.own));
  EXPECT_TRUE(l.is_covered(2, l.dept));
  EXPECT_TRUE(l.is_covered(3, l.dept));
  EXPECT_FALSE(l.is_covered(1, l.dept));
}

TEST(Cover, AnExtensionIsCoveredOnlyWithItsGang) {
  Labels l;
  l.add(1, l.team, 8, 100);
  l.add(2, l.team, 2, 200);
  l.cover.add(CoverEntry{JobId(3), l.team, {1000}, false, 90, base::Time{50}, JobId(2)});
  EXPECT_FALSE(l.is_covered(3, l.team));
  l.cover.remove(JobId(1));
  EXPECT_TRUE(l.is_covered(2, l.team));
  EXPECT_TRUE(l.is_covered(3, l.team));
}

TEST(Cover, AmountsAreKeptWhereAnotherTakesThePlace) {
  Labels l;
  l.add(1, l.team, 4, 100);
  l.add(2, l.team, 4, 200);
  l.add(3, l.team, 4, 300);
  EXPECT_TRUE(l.cover.keeps_amounts(l.team, {JobId(3)}));
  EXPECT_TRUE(l.cover.keeps_amounts(l.team, {JobId(1)}));  // the third is covered then
  EXPECT_FALSE(l.cover.keeps_amounts(l.team, {JobId(1), JobId(3)}));
  EXPECT_FALSE(l.cover.keeps_amounts(l.dept, {JobId(1), JobId(2)}));
  EXPECT_TRUE(l.is_covered(1, l.team));  // nothing was changed by asking
}

}  // namespace
}  // namespace gw::sched
