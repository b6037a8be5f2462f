// Licences in the scheduler: no more than there are, planned like any other limit, given back by whoever stops.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster_builder.h"
#include "sched/cycle/plan.h"

namespace gw::sched {
namespace {

using testing::Cluster;
using ::testing::ElementsAre;
using testing::gang;
using ::testing::IsEmpty;
using testing::machine;
using testing::pending;

/// Nodes enough for everybody; of licence `m` there are four, of `a` one.
struct Licensed : Cluster {
  explicit Licensed(model::Licenses there = {{"a", 1}, {"m", 4}}) : Cluster(8, machine(16, 8, 64'000)) { set(there); }
  void set(const model::Licenses& there) {
    Policy policy;
    policy.licenses = there;
    apply(PolicySet{policy});
  }
  static PendingJob job(uint32_t id, const model::Licenses& licenses, base::Duration limit = base::hours(1)) {
    PendingJob job = pending(id, gang(1, 1));
    job.licenses = licenses;
    job.time_limit = limit;
    return job;
  }
  void queue(uint32_t id, const model::Licenses& licenses, base::Duration limit = base::hours(1)) {
    apply(JobQueued{job(id, licenses, limit)});
  }
  /// Plans, and carries out the starts; returns the ids of those that started.
  std::vector<uint32_t> start() {
    last = plan(view, now, {});
    std::vector<uint32_t> out;
    for (const Group& group : last.groups)
      for (const Decision& d : group.decisions)
        if (const auto* s = std::get_if<Start>(&d)) {
          const PendingJob* queued = view.queue().find(s->job);
          const auto job = std::make_shared<const PendingJob>(*queued);
          out.push_back(s->job.value);
          apply(JobPlaced{s->job, s->partition, s->allocation, now, now + s->time_limit, job});
        }
    return out;
  }
  void end(uint32_t id) {
    const model::Allocation held = view.capacity().allocation_of(JobId(id));
    for (const model::NodeShare& share : held.shares) apply(ShareReleased{JobId(id), share.node});
  }
  const Wait* wait() const {
    for (const Group& group : last.groups)
      for (const Decision& d : group.decisions)
        if (const auto* w = std::get_if<Wait>(&d)) return w;
    return nullptr;
  }

  Time now{1};
  Plan last;
};

TEST(Licenses, NoMoreAreTakenThanThereAre) {
  Licensed c;
  c.queue(1, {{"m", 3}});
  c.queue(2, {{"m", 2}});
  c.queue(3, {{"a", 1}});
  c.queue(4, {});
  EXPECT_THAT(c.start(), ElementsAre(1, 3, 4));
  ASSERT_NE(c.wait(), nullptr);
  EXPECT_EQ(c.wait()->reason, model::WaitReason::kLicenses);
  EXPECT_EQ(model::words(c.wait()->blockers), "2 of licence m are needed; 3 of its 4 are in use");
  EXPECT_THAT(c.start(), IsEmpty());
  c.end(1);
  EXPECT_THAT(c.start(), ElementsAre(2));
}

TEST(Licenses, WhoWaitsForThemIsNotDelayedByThoseBehindIt) {
  Licensed c;
  c.queue(1, {{"m", 3}}, base::minutes(10));
  EXPECT_THAT(c.start(), ElementsAre(1));
  c.queue(2, {{"m", 4}});
  c.queue(3, {{"m", 1}}, base::hours(1));
  c.queue(4, {{"m", 1}}, base::minutes(5));
  c.queue(5, {{"a", 1}}, base::hours(1));
  EXPECT_THAT(c.start(), ElementsAre(4, 5)) << "3 would hold one when 2 could start";
  c.end(4);
  EXPECT_THAT(c.start(), IsEmpty());
  c.end(1);
  EXPECT_THAT(c.start(), ElementsAre(2));
}

TEST(Licenses, FewerOfThemTakeNothingFromThoseWhoRun) {
  Licensed c;
  c.queue(1, {{"m", 3}});
  EXPECT_THAT(c.start(), ElementsAre(1));
  c.set({{"m", 2}});
  c.queue(2, {{"m", 1}});
  EXPECT_THAT(c.start(), IsEmpty());
  c.set({{"m", 4}});
  EXPECT_THAT(c.start(), ElementsAre(2));
  c.set({});
  c.queue(3, {{"m", 9}});
  EXPECT_THAT(c.start(), ElementsAre(3)) << "what is not counted is nobody's bound";
}

TEST(Licenses, AreNotAClassWithJobsThatAskForOthers) {
  const PendingJob none = Licensed::job(1, {}), one = Licensed::job(2, {{"m", 1}}), two = Licensed::job(3, {{"m", 2}}),
                   other = Licensed::job(4, {{"a", 1}});
  EXPECT_NE(class_key(none), class_key(one));
  EXPECT_NE(class_key(one), class_key(two));
  EXPECT_NE(class_key(one), class_key(other));
  EXPECT_EQ(class_key(one), class_key(Licensed::job(9, {{"m", 1}})));
}

TEST(Licenses, ComponentsStartTogetherOrNotAtAll) {
  Licensed c;
  PendingJob whole = Licensed::job(10, {{"m", 2}});
  whole.components.push_back({JobId(11), gang(1, 1), {"main"}, {{"m", 2}}});
  c.queue(1, {{"m", 1}});
  EXPECT_THAT(c.start(), ElementsAre(1));
  c.apply(JobQueued{whole});
  EXPECT_THAT(c.start(), IsEmpty());
  c.end(1);
  c.last = plan(c.view, c.now, {});
  ASSERT_EQ(c.last.groups.size(), 1u);
  EXPECT_EQ(c.last.groups[0].decisions.size(), 2u);
  EXPECT_EQ(component_of(whole, JobId(11)).licenses, (model::Licenses{{"m", 2}}));
  const QuotaTree tree({}, {{"m", 4}});
  EXPECT_THAT(tree.count_licenses(whole), ElementsAre(0, 4));
  EXPECT_THAT(tree.count_licenses(component_of(whole, JobId(11))), ElementsAre(0, 2));
}

TEST(Licenses, WhoIsSuspendedHasNoneAndNeedsThemToGoOn) {
  Licensed c;
  c.queue(1, {{"m", 4}});
  EXPECT_THAT(c.start(), ElementsAre(1));
  const PendingJob job = *c.view.running().at(JobId(1));
  const model::Allocation place = c.view.capacity().allocation_of(JobId(1));
  const JobId holder(kFirstHoldingId);
  c.end(1);
  const auto kept = std::make_shared<const PendingJob>(kept_part_of(job, holder));
  c.apply(JobPlaced{holder, "main", place, c.now, Time::never(), kept});
  c.queue(2, {{"m", 1}});
  EXPECT_THAT(c.start(), ElementsAre(2));
  PendingJob rest = job;
  rest.request.exactly = place.shares;
  c.apply(JobQueued{rest});
  c.end(holder.value);
  EXPECT_THAT(c.start(), IsEmpty());
  c.end(2);
  EXPECT_THAT(c.start(), ElementsAre(1));
}

TEST(Licenses, NobodyIsPreemptedForOne) {
  Licensed c;
  Policy policy = c.view.policy();
  policy.preempts = true;
  c.apply(PolicySet{policy});
  c.queue(1, {{"m", 4}});
  EXPECT_THAT(c.start(), ElementsAre(1));
  PendingJob urgent = Licensed::job(2, {{"m", 1}});
  urgent.priority = 9;
  c.apply(JobQueued{urgent});
  EXPECT_THAT(c.start(), IsEmpty());
  for (const Group& group : c.last.groups)
    for (const Decision& d : group.decisions) EXPECT_FALSE(std::holds_alternative<Preempt>(d));
}

TEST(Licenses, CountBesideTheLimitsOfQos) {
  Licensed c;
  model::Qos q;
  q.name = "q";
  q.limit = {{"gpu", 1000}};
  c.apply(QosSet{{q}});
  PendingJob first = Licensed::job(1, {{"m", 4}}), second = Licensed::job(2, {{"m", 4}});
  first.qos = second.qos = "q";
  c.apply(JobQueued{first});
  EXPECT_THAT(c.start(), ElementsAre(1));
  c.apply(JobQueued{second});
  EXPECT_THAT(c.start(), IsEmpty());
  ASSERT_NE(c.wait(), nullptr);
  EXPECT_EQ(c.wait()->blockers.size(), 2u);
  EXPECT_TRUE(c.view.quota().tally().held[0][1] == 4 || c.view.quota().tally().held[0][2] == 4);
}

}  // namespace
}  // namespace gw::sched
