// Why a job waits: who is asked what, and which changes are tried.
#include "ctld/core/api/why.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "ctld/core/api/offers.h"
#include "tests/unit/ctld_core/world.h"

namespace gw::ctld {
namespace {

using namespace testing;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr uint32_t kCarol = 1000, kDave = 1001;

/// Two nodes of eight GPUs, of which job 1 holds all.
struct Full : World {
  std::vector<AskOutlooks> asked;

  explicit Full(Settings base_settings = {}) : World(2, std::move(base_settings)) {
    on_effects = [this](const Effects& e) {
      for (const Outgoing& out : e.out)
        if (const auto* ask = std::get_if<AskOutlooks>(&out)) asked.push_back(*ask);
    };
    connect_all();
    submit(kCarol, testing::gang(2));
    schedule();
  }
  static wire::ApiRequest why(JobId id, bool offers = true) {
    wire::ApiRequest r;
    r.mutable_why_job()->set_id(id.value);
    r.mutable_why_job()->set_offers(offers);
    return r;
  }
  /// The question that went to the scheduler.
  AskOutlooks question(uint32_t uid, JobId id, bool offers = true) {
    asked.clear();
    (void)ask(uid, why(id, offers));
    EXPECT_EQ(asked.size(), 1U);
    return asked.empty() ? AskOutlooks{} : asked.front();
  }
};

std::vector<uint32_t> gpus_tried(const AskOutlooks& ask) {
  std::vector<uint32_t> out;
  for (const wire::JobOffer& offer : ask.reply.why_job().offers())
    if (offer.change().has_gres()) out.push_back(offer.change().gres().gpus());
  return out;
}

TEST(Why, AJobThatRunsNeedsNoScheduler) {
  Full w;
  const auto reply = w.ask(kCarol, Full::why(JobId(1)));
  EXPECT_TRUE(reply.has_why_job());
  EXPECT_FALSE(reply.why_job().has_outlook());
  EXPECT_THAT(w.asked, IsEmpty());
  EXPECT_EQ(w.ask(kCarol, Full::why(JobId(99))).error().code(), static_cast<int>(base::ErrorCode::kNotFound));
}

TEST(Why, ThoseWhoLackGpusAreTriedWithFewerOneByOne) {
  Full w;
  const JobId id = w.submit(kCarol, testing::gang(1));
  w.schedule();
  const AskOutlooks ask = w.question(kCarol, id);
  ASSERT_EQ(static_cast<int>(ask.asked.size()), ask.reply.why_job().offers_size() + 1) << "itself, and each change";
  ASSERT_EQ(ask.series.size(), ask.asked.size() - 1);
  EXPECT_EQ(ask.asked[0].request.gpus, 8U);
  EXPECT_THAT(gpus_tried(ask), ElementsAre(7, 6, 5, 4, 3, 2, 1));
  for (size_t i = 0; i < 7; ++i) {
    EXPECT_EQ(ask.series[i], ask.series[0]) << "one that helps is enough";
    EXPECT_EQ(ask.asked[i + 1].request.gpus, ask.reply.why_job().offers(static_cast<int>(i)).change().gres().gpus());
    EXPECT_EQ(ask.asked[i + 1].id, id);
  }
  EXPECT_EQ(w.job(id).spec.request.gpus, 8U) << "nothing has changed";
}

/// Where it does not help no other limit does.
TEST(Why, TheShortestLimitIsTriedLast) {
  Full w;
  const JobId id = w.submit(kCarol, testing::gang(1));
  w.schedule();
  std::vector<int64_t> limits;
  const AskOutlooks ask = w.question(kCarol, id);
  for (const wire::JobOffer& offer : ask.reply.why_job().offers())
    if (offer.change().has_time_limit_us()) limits.push_back(offer.change().time_limit_us());
  ASSERT_FALSE(limits.empty());
  EXPECT_EQ(limits.back(), base::minutes(1).us);
}

TEST(Why, WhatIsInTheWayIsTriedFirst) {
  Full w;
  model::Request r = testing::gang(1);
  r.gpus = 2;
  r.exclude = {"n0"};
  r.mem_per_node_mb = 4'000;
  const JobId id = w.submit(kCarol, r);
  w.schedule();
  const AskOutlooks ask = w.question(kCarol, id);
  ASSERT_GE(ask.reply.why_job().offers_size(), 2);
  EXPECT_TRUE(ask.reply.why_job().offers(0).change().has_exclude());
  EXPECT_TRUE(ask.reply.why_job().offers(1).change().has_gres());
}

TEST(Why, WhereALimitIsInTheWayLessOfAnythingIsTriedFirst) {
  Settings s;
  s.qos.emplace_back().name = "small";
  s.qos.back().limit["gpu"] = 4'000;
  Full w(s);
  EXPECT_FALSE(w.cancel(kCarol, JobId(1)).has_error());
  const auto in_small = [&](uint32_t gpus) {
    model::Request r = testing::gang(1, gpus);
    r.cpus_per_task = 2;
    r.exclude = {"n0"};
    wire::ApiRequest request = World::submission(r);
    request.mutable_submit()->mutable_spec()->set_qos("small");
    const JobId id(w.ask(kCarol, request).submit().job_id());
    w.schedule();
    return id;
  };
  for (const char* node : {"n0", "n1"}) w.done(node, JobId(1));
  (void)in_small(3);
  const AskOutlooks ask = w.question(kCarol, in_small(2));
  const auto& offers = ask.reply.why_job().offers();
  EXPECT_EQ(ask.reply.why_job().job().status().waiting().reason(), static_cast<uint32_t>(model::WaitReason::kQosLimit));
  const auto place_of = [&](const auto& has) {
    return std::find_if(offers.begin(), offers.end(), has) - offers.begin();
  };
  const auto exclude = place_of([](const wire::JobOffer& o) { return o.change().has_exclude(); });
  ASSERT_LT(exclude, offers.size());
  EXPECT_LT(place_of([](const wire::JobOffer& o) { return o.change().has_gres(); }), exclude);
  EXPECT_LT(place_of([](const wire::JobOffer& o) { return o.change().has_cpus_per_task(); }), exclude)
      << "which nodes has nothing to do with it";
}

TEST(Why, OthersAreToldWhyButMayTryNothing) {
  Full w;
  const JobId id = w.submit(kCarol, testing::gang(1));
  const AskOutlooks ask = w.question(kDave, id);
  EXPECT_EQ(ask.asked.size(), 1U);
  EXPECT_EQ(ask.reply.why_job().no_offers_why(), "it is somebody else's");
  EXPECT_GT(w.question(0, id).asked.size(), 1U) << "an administrator may";
  EXPECT_EQ(w.question(kCarol, id, false).asked.size(), 1U) << "nobody wanted any";
}

TEST(Why, OneThatIsHeldIsAskedAsIfItWereNot) {
  Full w;
  wire::ApiRequest held = World::submission(testing::gang(1));
  held.mutable_submit()->mutable_spec()->set_hold_user(true);
  const JobId id(w.ask(kCarol, held).submit().job_id());
  const AskOutlooks ask = w.question(kCarol, id);
  ASSERT_EQ(ask.asked.size(), 1U);
  EXPECT_EQ(ask.asked[0].eligible, w.now);
  EXPECT_EQ(ask.reply.why_job().no_offers_why(), "it is kept from the scheduler");
}

/// With the nodes of "main", for everybody or for one user.
wire::ApiRequest partition(const std::string& name, const std::string& user = {}) {
  wire::ApiRequest r;
  wire::Partition& p = *r.mutable_create_partition()->mutable_partition();
  p.set_name(name);
  p.add_nodes("n0");
  p.add_nodes("n1");
  p.add_origins()->set_key("nodes");
  p.set_unlimited(true);
  p.add_origins()->set_key("unlimited");
  if (user.empty()) return r;
  p.add_allow_users(user);
  p.add_origins()->set_key("allow_users");
  return r;
}

TEST(Why, AComponentIsKeptIfTheWholeIs) {
  Full w;
  for (const bool is_held : {false, true}) {
    wire::ApiRequest r = World::submission(testing::gang(1));
    *r.mutable_submit()->add_components() = r.submit().spec();
    r.mutable_submit()->mutable_components(0)->set_hold_user(is_held);
    r.mutable_submit()->mutable_spec()->set_hold_user(is_held);
    const JobId first(w.ask(kCarol, r).submit().job_id());
    w.schedule();
    for (const uint32_t k : {0U, 1U}) {
      const auto reply = w.ask(kCarol, Full::why(JobId(first.value + k))).why_job();
      EXPECT_EQ(reply.is_kept(), is_held) << k;
      EXPECT_TRUE(reply.has_outlook());
      EXPECT_EQ(reply.no_offers_why(), is_held ? "it is kept from the scheduler" : "");
    }
  }
}

TEST(Why, OnlyChangesThatMayBeMadeAreTried) {
  Full w;
  EXPECT_TRUE(w.ask(0, partition("open")).has_ok()) << w.last_error;
  EXPECT_TRUE(w.ask(0, partition("closed", "root")).has_ok());
  const JobId id = w.submit(kCarol, testing::gang(1));
  w.schedule();
  std::vector<std::string> partitions;
  const AskOutlooks ask = w.question(kCarol, id);
  for (const wire::JobOffer& offer : ask.reply.why_job().offers())
    if (offer.change().has_partition()) partitions.push_back(offer.change().partition());
  EXPECT_THAT(partitions, ElementsAre("open"));
}

TEST(Why, NeverMoreThanSixteenAreTried) {
  Full w;
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(w.ask(0, partition("p" + std::to_string(i))).has_ok());
  model::Request r = testing::gang(1);
  r.cpus_per_task = 4;
  r.mem_per_node_mb = 4'000;
  r.exclude = {"n0"};
  const JobId id = w.submit(kCarol, r);
  w.schedule();
  const AskOutlooks ask = w.question(kCarol, id);
  EXPECT_EQ(ask.reply.why_job().offers_size(), static_cast<int>(kMostOffers));
  EXPECT_TRUE(ask.reply.why_job().offers_cut());
}

TEST(Why, OfAJobWithLongListsFewAreTried) {
  Full w;
  wire::ApiRequest r = World::submission(testing::gang(1));
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(w.ask(0, partition("p" + std::to_string(i))).has_ok());
    r.mutable_submit()->mutable_spec()->add_partitions("p" + std::to_string(i));
  }
  const JobId id(w.ask(kCarol, r).submit().job_id());
  w.schedule();
  EXPECT_THAT(gpus_tried(w.question(kCarol, id)), ElementsAre(7, 6, 5, 4, 3)) << "admission holds each against ten";
}

TEST(Why, AUserWhoAsksTooOftenIsToldToWait) {
  Full w;
  const JobId id = w.submit(kCarol, testing::gang(1));
  w.schedule();
  for (int i = 0; i < 30; ++i) EXPECT_TRUE(w.ask(kCarol, Full::why(id)).has_why_job());
  EXPECT_GT(w.ask(kCarol, Full::why(id)).error().retry_after_ms(), 0U);
  EXPECT_TRUE(w.ask(0, Full::why(id)).has_why_job()) << "others are not held up";
}

JobId submit_tasks(Full& w, const std::string& tasks) {
  wire::ApiRequest r = World::submission(testing::gang(1));
  *r.mutable_submit()->mutable_array() = wire::to_wire(model::ArrayTasks{*model::TaskSet::parse(tasks), 0, 0, 0, {}});
  return JobId(w.ask(kCarol, r).submit().job_id());
}

TEST(Why, OfAnArrayTheTasksThatWaitAreChanged) {
  Full w;
  const JobId id = submit_tasks(w, "1-3,7");
  const AskOutlooks ask = w.question(kCarol, id);
  EXPECT_THAT(gpus_tried(ask), ElementsAre(7, 6, 5, 4, 3, 2, 1));
  for (const wire::JobOffer& offer : ask.reply.why_job().offers()) {
    ASSERT_EQ(offer.change().tasks_size(), 1);
    EXPECT_EQ(offer.change().tasks(0).array(), id.value);
    EXPECT_EQ(wire::from_wire(offer.change().tasks(0).tasks())->text(), "1-3,7");
  }
}

TEST(Why, TasksThatRunAreLeftAsTheyAre) {
  World w(1);
  w.connect_all();
  std::vector<AskOutlooks> asked;
  w.on_effects = [&asked](const Effects& e) {
    for (const Outgoing& out : e.out)
      if (const auto* ask = std::get_if<AskOutlooks>(&out)) asked.push_back(*ask);
  };
  wire::ApiRequest r = World::submission(testing::gang(1));
  *r.mutable_submit()->mutable_array() = wire::to_wire(model::ArrayTasks{*model::TaskSet::parse("1-9"), 0, 0, 0, {}});
  const JobId id(w.ask(kCarol, r).submit().job_id());
  w.schedule();  // the first of them has all GPUs
  (void)w.ask(kCarol, Full::why(id));
  ASSERT_EQ(asked.size(), 1U);
  ASSERT_GT(asked[0].reply.why_job().offers_size(), 0);
  EXPECT_EQ(wire::from_wire(asked[0].reply.why_job().offers(0).change().tasks(0).tasks())->text(), "2-9");
}

TEST(Why, ATaskThatIsAskedAboutByItselfIsChangedByItself) {
  Full w;
  const JobId id = submit_tasks(w, "1-3");
  const JobId second = w.core->arrays().find(id)->jobs.at(2);
  ASSERT_NE(second, id);
  const AskOutlooks ask = w.question(kCarol, second);
  EXPECT_EQ(ask.asked.front().id, second);
  ASSERT_GT(ask.reply.why_job().offers_size(), 0);
  EXPECT_EQ(wire::from_wire(ask.reply.why_job().offers(0).change().tasks(0).tasks())->text(), "2");
}

TEST(Why, OfAnArrayTheNextTaskIsAskedAbout) {
  Full w;
  const JobId id = submit_tasks(w, "1-3");
  const JobId first = w.core->arrays().find(id)->jobs.at(1);
  const AskOutlooks ask = w.question(kCarol, id);
  EXPECT_EQ(ask.reply.why_job().job().id(), id.value);
  for (const sched::PendingJob& asked : ask.asked) EXPECT_EQ(asked.id, first) << "those behind it have its place next";
}

TEST(Why, AnArrayIsNotKeptWhereItsLastTaskAloneIs) {
  Full w;
  const JobId id = submit_tasks(w, "1-3");
  wire::ApiRequest r;
  wire::TasksOfArray& last = *r.mutable_job_action()->add_tasks();
  last.set_array(id.value);
  wire::to_wire(*model::TaskSet::parse("3"), *last.mutable_tasks());
  r.mutable_job_action()->set_action(wire::kHold);
  ASSERT_FALSE(w.ask(kCarol, r).has_error());
  ASSERT_TRUE(w.job(id).is_held()) << "the last task has the number of the array";
  const wire::WhyJobReply reply = w.question(kCarol, id).reply.why_job();
  EXPECT_FALSE(reply.is_kept());
  EXPECT_GT(reply.offers_size(), 0);
}

TEST(Why, TasksThatAskForSomethingElseAreLeftAsTheyAre) {
  Full w;
  const JobId id = submit_tasks(w, "1-5");
  wire::ApiRequest r;
  r.mutable_update_job()->add_ids(w.core->arrays().find(id)->jobs.at(3).value);
  r.mutable_update_job()->set_time_limit_us(base::minutes(7).us);
  ASSERT_FALSE(w.ask(kCarol, r).has_error());
  const AskOutlooks ask = w.question(kCarol, id);
  ASSERT_GT(ask.reply.why_job().offers_size(), 0);
  EXPECT_EQ(wire::from_wire(ask.reply.why_job().offers(0).change().tasks(0).tasks())->text(), "1-2,4-5");
}

TEST(Why, OfTasksThatLieFarApartNoChangesAreTried) {
  Full w;
  std::string tasks = "1";
  for (int i = 1; i <= 32; ++i) tasks += "," + std::to_string(3 * i * i + 1);
  const AskOutlooks ask = w.question(kCarol, submit_tasks(w, tasks));
  EXPECT_EQ(ask.asked.size(), 1U);
  EXPECT_THAT(ask.reply.why_job().no_offers_why(), HasSubstr("too far apart"));
}

/// Of each question the GPUs that the components would ask for.
std::vector<std::vector<uint32_t>> gpus_of_components(const AskOutlooks& ask) {
  std::vector<std::vector<uint32_t>> out;
  for (const sched::PendingJob& job : ask.asked) {
    out.push_back({job.request.gpus});
    for (const sched::Component& c : job.components) out.back().push_back(c.request.gpus);
  }
  return out;
}

TEST(Why, OfSeveralComponentsEachIsChangedByItself) {
  Full w;
  wire::ApiRequest r = World::submission(testing::gang(1, 2));
  *r.mutable_submit()->add_components() = World::submission(testing::gang(1, 3)).submit().spec();
  const JobId first(w.ask(kCarol, r).submit().job_id());
  w.schedule();
  for (const uint32_t k : {0U, 1U}) {
    const JobId asked(first.value + k);
    const AskOutlooks ask = w.question(kCarol, asked);
    const std::vector<std::vector<uint32_t>> gpus = gpus_of_components(ask);
    EXPECT_EQ(gpus.front(), (std::vector<uint32_t>{2, 3}));
    for (const auto& tried : {std::vector<uint32_t>{1, 3}, {2, 2}, {2, 1}}) EXPECT_THAT(gpus, Contains(tried));
    EXPECT_THAT(gpus, Not(Contains(std::vector<uint32_t>{1, 1})));
    size_t shorter = 0;
    for (const wire::JobOffer& offer : ask.reply.why_job().offers()) {
      ASSERT_EQ(offer.change().ids_size(), 1);
      if (!offer.change().has_time_limit_us()) continue;
      ++shorter;
      EXPECT_EQ(offer.change().ids(0), asked.value) << "what they have in common is changed with one of them";
    }
    EXPECT_GT(shorter, 0U);
  }
}

TEST(Why, TheStartThatThePassPlannedIsTold) {
  wire::WhyJobReply reply;
  reply.mutable_job()->mutable_status()->mutable_waiting()->set_estimated_start_us(5'000'000);
  sched::Outlook outlook;
  outlook.when = model::When::kPlanned;
  outlook.start = base::Time{9'000'000};
  outlook.nodes = {"n1"};
  put_outlook(outlook, reply);
  EXPECT_EQ(reply.outlook().start_us(), 5'000'000);
  EXPECT_EQ(reply.outlook().nodes(), "") << "which are those is not known";
  outlook.when = model::When::kNow;
  put_outlook(outlook, reply);
  EXPECT_EQ(reply.outlook().start_us(), 9'000'000);
}

}  // namespace
}  // namespace gw::ctld
