// Answers about quotas over the wire: labels of running jobs, and what of each QOS is covered.
#include "ctld/core/cluster/quota_answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/sched/cluster_builder.h"

namespace gw::ctld {
namespace {

using base::JobId;
using base::NodeId;
using base::Time;
using sched::PendingJob;
using testing::ElementsAre;
using testing::IsEmpty;

/// Four nodes of eight GPUs: `a` is guaranteed eight of them and holds 20, an elastic gang that began with eight.
struct QuotaScene : sched::testing::Cluster {
  static constexpr Time kNow{1'000'000'000};

  QuotaScene() : Cluster(4, sched::testing::machine(32, 8, 512'000)) {
    model::Qos a, b;
    a.name = "a";
    a.guaranteed["gpu"] = 8'000;
    b.name = "b";
    b.guaranteed["gpu"] = 24'000;
    apply(sched::QosSet{{a, b}});
    PendingJob gang;
    gang.id = JobId(1);
    gang.qos = "a";
    gang.request = sched::testing::gang(1, 8);
    gang.most_tasks = 2;
    run(gang, 1, 8);
    run(sched::extension_of(gang, JobId(sched::kFirstHoldingId), 1), 2, 8);
    PendingJob late;
    late.id = JobId(5);
    late.qos = "a";
    run(late, 3, 4);
  }
  void run(const PendingJob& job, uint32_t node, uint32_t gpus) {
    model::NodeShare share;
    share.node = NodeId(node);
    share.gpus = base::IndexSet::first(gpus);
    model::Allocation allocation;
    allocation.shares = {share};
    apply(sched::JobPlaced{job.id, "main", allocation, Time{job.gang ? 1 : job.id.value}, Time::never(),
                           std::make_shared<const PendingJob>(job)});
  }
  /// There and back as bytes.
  wire::ShowSharesReply ask(const wire::ShowSharesRequest& shares) {
    wire::ApiRequest request, arrived;
    *request.mutable_show_shares() = shares;
    EXPECT_TRUE(arrived.ParseFromString(request.SerializeAsString()));
    wire::ApiReply reply;
    EXPECT_TRUE(reply.ParseFromString(answer_from(view, kNow, arrived).SerializeAsString()));
    return reply.show_shares();
  }
};

TEST(QuotaAnswers, LabelsOfTheJobsThatAreNamed) {
  QuotaScene s;
  wire::ShowSharesRequest request;
  request.add_job_ids(5);
  request.add_job_ids(77);  // nobody
  const wire::ShowSharesReply reply = s.ask(request);
  EXPECT_EQ(reply.reclaim(), "fair_share");
  EXPECT_EQ(reply.now_us(), QuotaScene::kNow.us);
  EXPECT_THAT(reply.qos(), IsEmpty());
  ASSERT_EQ(reply.labels_size(), 1);
  const wire::JobLabel& late = reply.labels(0);
  EXPECT_EQ(late.job_id(), 5U);
  EXPECT_TRUE(late.is_borrowed());
  EXPECT_EQ(late.borrowed_at(), "a");
  EXPECT_TRUE(late.has_fair());
  EXPECT_FALSE(late.is_beyond_fair());  // nobody else wants anything
  EXPECT_THAT(late.preemptors(), ElementsAre("b"));
  EXPECT_FALSE(late.preemptors_cut());
  EXPECT_EQ(late.extensions(), 0U);
}

TEST(QuotaAnswers, LabelsOfAllWithExtensionsAndWhoIsProtected) {
  QuotaScene s;
  model::Qos a = s.view.quota().tree().list().at(0);
  a.min_runtime = base::hours(1);
  s.apply(sched::QosSet{{a, s.view.quota().tree().list().at(1)}});
  PendingJob firm;
  firm.id = JobId(6);
  firm.qos = "b";
  firm.preemptible = false;
  s.run(firm, 4, 8);
  wire::ShowSharesRequest request;
  request.set_all_jobs(true);
  const wire::ShowSharesReply reply = s.ask(request);
  ASSERT_EQ(reply.labels_size(), 3);
  EXPECT_EQ(reply.labels(0).job_id(), 1U);
  EXPECT_FALSE(reply.labels(0).is_borrowed());
  EXPECT_EQ(reply.labels(0).borrowed_at(), "");
  EXPECT_EQ(reply.labels(0).extensions(), 1U);
  EXPECT_EQ(reply.labels(0).borrowed_extensions(), 1U);
  EXPECT_EQ(reply.labels(0).protected_until_us(), (Time{1} + base::hours(1)).us);
  EXPECT_THAT(reply.labels(0).preemptors(), IsEmpty());
  EXPECT_EQ(reply.labels(1).job_id(), 5U);
  EXPECT_EQ(reply.labels(2).job_id(), 6U);
  EXPECT_TRUE(reply.labels(2).is_never_preempted());
  EXPECT_EQ(reply.labels(2).protected_until_us(), 0);
}

TEST(QuotaAnswers, ATreeSaysWhatIsCovered) {
  QuotaScene s;
  const wire::ShowSharesReply reply = s.ask({});
  EXPECT_THAT(reply.labels(), IsEmpty());
  ASSERT_EQ(reply.qos_size(), 4);  // the cluster, a, b, and the jobs of the cluster itself
  EXPECT_EQ(reply.qos(1).name(), "a");
  const wire::QosShare::Line& line = reply.qos(1).lines(0);
  EXPECT_EQ(line.counted(), 20'000U);
  EXPECT_EQ(line.covered(), 8'000U);
  EXPECT_EQ(line.fair_covered(), 20'000U);
}

}  // namespace
}  // namespace gw::ctld
