// Jobs on one GPU that tell how fast they are: who is slower beside another has a GPU of its own from then on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "world.h"

namespace gw::ctld {
namespace {

using model::JobState;
using testing::gang;
using ::testing::HasSubstr;
using testing::World;

Settings sharing(uint32_t least) {
  Settings s;
  model::Partition& p = s.partitions.emplace_back();
  p.name = "main";
  p.is_default = p.unlimited = p.allow_shared_gpus = true;
  p.min_shared_rate = least;
  s.policy.grace = base::seconds(30);
  s.node_timeout = base::hours(100);
  return s;
}

/// Two jobs with a half of the same GPU each; the first has told its own rate.
struct Pair : World {
  JobId first, second;

  explicit Pair(uint32_t least = 60) : World(1, sharing(least)) {
    connect_all();
    first = start_half();
    for (int i = 0; i < 2; ++i, pass(600)) tell(first, 1'000);
    second = start_half();
  }
  void pass(int64_t s) { now = now + base::seconds(s); }
  JobId start_half() {
    model::Request r = gang(1, 1);
    r.gpu_milli = 500;
    r.mem_per_node_mb = 1000;
    const JobId id(ask(1000, submission(r)).submit().job_id());
    schedule();
    started("n0", id);
    return id;
  }
  void tell(JobId id, uint64_t rate_milli) {
    pass(5);
    wire::ApiRequest r;
    r.mutable_progress()->set_job_id(id.value);
    r.mutable_progress()->set_rate_milli(rate_milli);
    EXPECT_EQ(ask(1000, r).error().what(), "");
  }
  void tell_for_long(JobId id, uint64_t rate_milli) {
    tell(id, rate_milli);
    pass(60);
    tell(id, rate_milli);
    schedule();
  }
  bool is_told_to_go(JobId id) const { return job(id).placed() != nullptr && job(id).placed()->outcome.has_value(); }
  uint32_t gpu_of(JobId id) const { return job(id).placed()->allocation.shares.front().gpus.next(0); }
  void leave(JobId id) {
    exited("n0", id, 0);
    done("n0", id);
    pass(3'600);
    schedule();
    started("n0", id);
  }
};

TEST(CompanyOfJobs, TheSecondMakesRoomForTheFirst) {
  Pair w;
  ASSERT_EQ(w.gpu_of(w.first), w.gpu_of(w.second));
  w.tell(w.first, 500);
  w.schedule();
  EXPECT_FALSE(w.is_told_to_go(w.second)) << "not at once";
  w.tell_for_long(w.first, 500);
  EXPECT_TRUE(w.job(w.first).progress.company.needs_own_gpu);
  ASSERT_TRUE(w.is_told_to_go(w.second));
  EXPECT_EQ(w.job(w.second).placed()->outcome->preempt_rule, 14U);
  EXPECT_EQ(w.job(w.second).placed()->outcome->preempted_for, w.first.value);
  EXPECT_FALSE(w.is_told_to_go(w.first));
  w.leave(w.second);
  EXPECT_NE(w.gpu_of(w.first), w.gpu_of(w.second));
}

TEST(CompanyOfJobs, ItIsKeptOverARestart) {
  Pair w;
  w.tell_for_long(w.first, 500);
  w.leave(w.second);
  w.restart();
  ASSERT_TRUE(w.restored) << w.restored.error().text();
  EXPECT_TRUE(w.job(w.first).progress.company.needs_own_gpu);
  EXPECT_TRUE(w.view.gpu_owners().contains(w.first));
  EXPECT_TRUE(w.view.running().at(w.first)->request.own_gpu);
}

TEST(CompanyOfJobs, WhoFitsTogetherStays) {
  Pair w;
  w.tell_for_long(w.first, 600);
  EXPECT_FALSE(w.job(w.first).progress.company.needs_own_gpu);
  EXPECT_FALSE(w.is_told_to_go(w.second));
}

TEST(CompanyOfJobs, ThatTheSecondIsSlowNobodyKnows) {
  Pair w;
  w.tell_for_long(w.second, 10);
  EXPECT_FALSE(w.job(w.second).progress.company.needs_own_gpu) << "it was never alone";
}

TEST(CompanyOfJobs, WithoutABoundNobodyLooks) {
  Pair w(0);
  w.tell_for_long(w.first, 10);
  EXPECT_EQ(w.job(w.first).progress.company.own_rate_milli, 0U);
  EXPECT_FALSE(w.is_told_to_go(w.second));
}

TEST(CompanyOfJobs, OfWholeGpusNothingIsMeasured) {
  World w(1, sharing(60));
  w.connect_all();
  const JobId id(w.ask(1000, w.submission(gang(1, 1))).submit().job_id());
  w.schedule();
  w.started("n0", id);
  wire::ApiRequest r;
  r.mutable_progress()->set_job_id(id.value);
  r.mutable_progress()->set_rate_milli(1'000);
  w.ask(1000, r);
  EXPECT_EQ(w.job(id).progress.company.own_rate_milli, 0U);
}

}  // namespace
}  // namespace gw::ctld
