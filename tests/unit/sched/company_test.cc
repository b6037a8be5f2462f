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
  static model::NodeShare share(uint32_t core, uint32_t gpu, uint32_t milli) {
    model::NodeShare share;
    share.node = NodeId(1), share.name = "n1";
    share.gpus.insert(gpu);
    share.gpu_milli = milli;
    share.cores.insert(core);
    share.cpus = 2;
    share.tasks = 1;
    return share;
  }
  void run(uint32_t id, int64_t started, bool preemptible = true, uint32_t gpu = 0, uint32_t milli = 300,
           Time end = Time::never(), const std::string& partition = "main") {
    PendingJob job = pending(id, part(milli));
    job.preemptible = preemptible;
    apply(JobPlaced{
        JobId(id), partition, {{share(id, gpu, milli)}}, Time{started}, end, std::make_shared<PendingJob>(job)});
  }
  static PendingJob alone(uint32_t id, uint32_t milli = 400) {
    PendingJob out = pending(id, part(milli));
    out.request.own_gpu = true;
    return out;
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

/// The rest of its GPU is nobody's at any time.
TEST(Company, NoStartIsPlannedOnWhatItLeaves) {
  Shared c;
  const Time later = c.now + base::hours(1);
  c.run(1, 10), c.run(2, 20, true, 1, 900, later);
  c.own(1);
  c.apply(JobQueued{pending(7, Shared::part())});
  const Plan planned = plan(c.view, c.now, {});
  ASSERT_EQ(planned.planned_starts.size(), 1U);
  EXPECT_EQ(planned.planned_starts[0].start, later);
}

/// Nor does anybody start on it because something is planned on the node.
TEST(Company, APlannedStartOnTheNodeOpensItToNobody) {
  Shared c;
  const Time later = c.now + base::hours(1);
  c.run(1, 10), c.run(2, 20, true, 1, 700, later);
  c.own(1);
  c.apply(JobQueued{pending(7, Shared::part(1'000), 10)});
  EXPECT_EQ(c.starts_on(pending(8, Shared::part(300))), 9) << "it would be there when the other comes";
  PendingJob brief = pending(9, Shared::part(300));
  brief.time_limit = base::minutes(30);
  EXPECT_EQ(c.starts_on(brief), 1);
}

TEST(Company, NobodyOvertakesOneThatWaitsForAGpuOfItsOwn) {
  Shared c;
  const Time later = c.now + base::hours(1);
  c.run(1, 10, true, 0, 500, later), c.run(2, 20, true, 1, 900);
  PendingJob own = Shared::alone(7);
  own.priority = 10;
  own.time_limit = base::hours(5);
  c.apply(JobQueued{own});
  PendingJob behind = pending(8, Shared::part());
  behind.time_limit = base::hours(5);
  EXPECT_EQ(c.starts_on(behind), 9);
  behind.time_limit = base::minutes(30);
  EXPECT_EQ(c.starts_on(behind), 0);
}

TEST(Company, JobsOfPartitionsThatDoNotAskStay) {
  Shared c;
  PartitionFacts other = c.partition();
  other.name = "other";
  other.min_shared_rate = 0;
  c.apply(PartitionSet{other});
  c.run(1, 10), c.run(2, 20, true, 0, 300, Time::never(), "other");
  c.own(1);
  EXPECT_THAT(c.parted(), ElementsAre("1 for 2 by 14"));
}

/// What a pass decided is held against what has changed since.
TEST(Company, AStartBesideOthersIsRefused) {
  Shared c;
  c.run(1, 10);
  const auto refused = [&c](const PendingJob& job) {
    const base::Status status =
        check(c.view.capacity(), job, Start{job.id, "main", {{Shared::share(8, 0, 400)}}, base::hours(1)});
    return status ? "" : status.error().what;
  };
  PendingJob job = Shared::alone(7);
  EXPECT_EQ(refused(job), "others have a part of its GPU of node n1");
  job.request.exactly = {Shared::share(8, 0, 400)};
  EXPECT_EQ(refused(job), "others have a part of its GPU of node n1") << "where it resumes";
  job.request.own_gpu = false;
  EXPECT_EQ(refused(job), "");
}

TEST(Company, ItResumesOnlyOnAGpuThatNobodyHasAPartOf) {
  Shared c;
  c.run(1, 10, true, 0, 300, c.now + base::hours(1));
  PendingJob job = Shared::alone(7);
  job.request.exactly = {Shared::share(8, 0, 400)};
  EXPECT_EQ(c.starts_on(job), 9);
  job.request.own_gpu = false;
  EXPECT_EQ(c.starts_on(job), 0);
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
    ASSERT_TRUE(trial.suspend(JobId(1), {{Shared::share(1, 0, 300)}}));
    EXPECT_EQ(parts_left(), 0U) << "what it keeps of a GPU in suspension";
  }
  EXPECT_EQ(parts_left(), 0U);
  EXPECT_TRUE(c.view.capacity().audit());
}

}  // namespace
}  // namespace gw::sched
