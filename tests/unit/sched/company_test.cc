// Rule 14: who shares a GPU with a job that needs one of its own is parted from it, and nobody is put beside it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster_builder.h"
#include "sched/cycle/plan.h"
#include "sched/cycle/trial.h"

namespace gw::sched {
namespace {

using testing::Cluster;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::machine;
using testing::pending;

/// One node of two GPUs, where jobs have parts of GPU 0.
struct Shared : Cluster {
  Time now{base::hours(10).us};

  explicit Shared(uint32_t least = 60) : Cluster(1, machine(16, 2, 64'000)) {
    PartitionFacts p = partition();
    p.allow_shared_gpus = true;
    p.min_shared_rate = least;
    apply(PartitionSet{p});
  }
  static model::Request part(uint32_t milli = 400) {
    model::Request r = testing::gang(1, 1);
    r.gpu_milli = milli;
    return r;
  }
  void run(uint32_t id, int64_t started, bool preemptible = true, uint32_t gpu = 0, uint32_t milli = 300) {
    PendingJob job = pending(id, part(milli));
    job.preemptible = preemptible;
    model::NodeShare share;
    share.node = NodeId(1), share.name = "n1";
    share.gpus.insert(gpu);
    share.gpu_milli = milli;
    share.cores.insert(id);
    share.cpus = 2;
    apply(JobPlaced{JobId(id), "main", {{share}}, Time{started}, Time::never(), std::make_shared<PendingJob>(job)});
  }
  void own(uint32_t id) { apply(GpuOwned{JobId(id)}); }
  /// "2 for 1 by 14", of each that goes.
  std::vector<std::string> parted() {
    std::vector<std::string> out;
    for (const Group& group : plan(view, now, {}).groups)
      for (const Decision& d : group.decisions)
        if (const auto* p = std::get_if<Preempt>(&d))
          out.push_back(fmt::format("{} for {} by {}", p->job.value, p->beneficiary.value, p->rule));
    return out;
  }
  /// Where a job with a part of a GPU would start; 9: nowhere.
  uint32_t starts_on(const PendingJob& job) {
    apply(JobQueued{job});
    const Plan planned = plan(view, now, {});
    apply(JobUnqueued{job.id});
    for (const Group& group : planned.groups)
      if (const auto* start = std::get_if<Start>(&group.decisions.front()))
        return start->allocation.shares.front().gpus.next(0);
    return 9;
  }
};

TEST(Company, TheLastThatCameMakesRoom) {
  Shared c;
  c.run(1, 10), c.run(2, 20), c.run(3, 30);
  EXPECT_THAT(c.parted(), IsEmpty());
  c.own(1);
  EXPECT_THAT(c.parted(), ElementsAre("3 for 1 by 14"));
  EXPECT_THAT(c.parted(), ElementsAre("3 for 1 by 14")) << "the view is as it was";
  c.apply(ShareReleased{JobId(3), NodeId(1)});
  EXPECT_THAT(c.parted(), ElementsAre("2 for 1 by 14"));
  c.apply(ShareReleased{JobId(2), NodeId(1)});
  EXPECT_THAT(c.parted(), IsEmpty());
}

TEST(Company, TheSlowOneGoesItselfIfItCameLast) {
  Shared c;
  c.run(1, 10), c.run(2, 20);
  c.own(2);
  EXPECT_THAT(c.parted(), ElementsAre("2 for 1 by 14"));
}

TEST(Company, WhoIsNeverPreemptedStays) {
  Shared c;
  c.run(1, 10), c.run(2, 20, false);
  c.own(1);
  EXPECT_THAT(c.parted(), ElementsAre("1 for 2 by 14"));
  Shared both;
  both.run(1, 10, false), both.run(2, 20, false);
  both.own(1);
  EXPECT_THAT(both.parted(), IsEmpty());
}

TEST(Company, WhoHasBeenToldToGoIsNotToldAgain) {
  Shared c;
  c.run(1, 10), c.run(2, 20);
  c.own(1);
  c.apply(EndExpected{JobId(2), c.now + base::seconds(30), true});
  EXPECT_THAT(c.parted(), IsEmpty());
}

TEST(Company, OnAnotherGpuNobodyIsInTheWay) {
  Shared c;
  c.run(1, 10), c.run(2, 20, true, 1);
  c.own(1);
  EXPECT_THAT(c.parted(), IsEmpty());
}

TEST(Company, WherePartitionsDoNotAskNobodyIsParted) {
  Shared c(0);
  c.run(1, 10), c.run(2, 20);
  c.own(1);
  EXPECT_THAT(c.parted(), IsEmpty());
}

TEST(Company, NobodyIsPutBesideOneThatHasAGpuOfItsOwn) {
  Shared c;
  c.run(1, 10), c.run(2, 20, true, 1, 900);
  EXPECT_EQ(c.starts_on(pending(7, Shared::part())), 0);
  c.own(1);
  EXPECT_EQ(c.starts_on(pending(7, Shared::part())), 9);
  c.apply(ShareReleased{JobId(1), NodeId(1)});
  EXPECT_EQ(c.starts_on(pending(7, Shared::part())), 0) << "it is gone, and so is its mark";
}

TEST(Company, OneThatNeedsAGpuOfItsOwnWaitsForAFreeOne) {
  Shared c;
  PendingJob alone = pending(7, Shared::part());
  alone.request.own_gpu = true;
  c.run(1, 10);
  EXPECT_EQ(c.starts_on(alone), 1);
  c.run(2, 20, true, 1);
  EXPECT_EQ(c.starts_on(alone), 9);
}

/// Of two that start in one pass the second is not put beside the first either.
TEST(Company, NorDoesOnePassPutThemTogether) {
  Shared c;
  PendingJob alone = pending(7, Shared::part());
  alone.request.own_gpu = true;
  c.apply(JobQueued{alone});
  c.apply(JobQueued{pending(8, Shared::part())});
  std::vector<uint32_t> gpus;
  for (const Group& group : plan(c.view, c.now, {}).groups)
    if (const auto* start = std::get_if<Start>(&group.decisions.front()))
      gpus.push_back(start->allocation.shares.front().gpus.next(0));
  ASSERT_EQ(gpus.size(), 2U);
  EXPECT_NE(gpus[0], gpus[1]);
}

TEST(Company, ATrialGivesTheMarkBack) {
  Shared c;
  c.run(1, 10);
  c.own(1);
  const auto parts_left = [&c] { return c.view.capacity().node(NodeId(1))->free.shared.size(); };
  EXPECT_EQ(parts_left(), 0U);
  {
    Trial trial(c.view);
    trial.evict(JobId(1));
    EXPECT_EQ(c.view.capacity().node(NodeId(1))->free.gpus.size(), 2U);
  }
  EXPECT_EQ(parts_left(), 0U);
  EXPECT_TRUE(c.view.capacity().audit());
}

}  // namespace
}  // namespace gw::sched
