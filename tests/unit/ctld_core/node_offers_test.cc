// gangway offers: what a QOS could have now, and who may ask for it.
#include "ctld/core/cluster/node_offers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ctld/core/cluster/quota_answers.h"
#include "tests/unit/sched/cluster_builder.h"
#include "world.h"

namespace gw::ctld {
namespace {

using base::JobId;
using base::NodeId;
using base::Time;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Four nodes of 16 cores, eight GPUs and 64 GB each.
struct Market : sched::testing::Cluster {
  static constexpr Time kNow{1'000'000'000};
  std::vector<sched::PlannedStart> planned;

  Market() : Cluster(4, sched::testing::machine(16, 8, 64'000)) {}

  void runs(uint32_t id, uint32_t node, uint32_t gpus, const std::string& qos = "", uint32_t uid = 7) {
    sched::PendingJob job;
    job.id = JobId(id);
    job.qos = qos;
    job.uid = uid;
    model::NodeShare share;
    share.node = NodeId(node);
    share.gpus = share.cores = base::IndexSet::first(gpus);
    apply(sched::JobPlaced{
        job.id, "main", {{share}}, Time{1}, Time::never(), std::make_shared<const sched::PendingJob>(job)});
  }
  wire::ListOffersReply ask(const std::string& qos = "", uint32_t uid = 7) {
    wire::ApiRequest request;
    request.mutable_list_offers()->set_qos(qos);
    request.mutable_list_offers()->set_uid(uid);
    request.mutable_list_offers()->add_partitions("main");
    return answer_from(view, kNow, request, planned).list_offers();
  }
  std::vector<std::string> nodes() {
    std::vector<std::string> out;
    const wire::ListOffersReply told = ask();
    for (const wire::NodeOffer& offer : told.offers())
      out.push_back(
          fmt::format("{}: {} GPUs, {} CPUs, until {}{}", offer.nodes(), offer.gpus(), offer.cpus(),
                      offer.until_us() == 0 ? 0 : (offer.until_us() - kNow.us) / 60'000'000,
                      offer.longest_us() == 0 ? "" : fmt::format(", for {}", offer.longest_us() / 60'000'000)));
    return out;
  }
};

TEST(NodeOffers, NodesOfWhichTheSameIsFreeAreOneOfferAndTheLargestIsFirst) {
  Market m;
  EXPECT_THAT(m.nodes(), ElementsAre("n[1-4]: 8 GPUs, 32 CPUs, until 0"));
  m.runs(1, 2, 5);
  m.runs(2, 4, 5);
  EXPECT_THAT(m.nodes(), ElementsAre("n[1,3]: 8 GPUs, 32 CPUs, until 0", "n[2,4]: 3 GPUs, 22 CPUs, until 0"));
  const wire::NodeOffer first = m.ask().offers(0);
  EXPECT_EQ(first.node_count(), 2U);
  EXPECT_EQ(first.mem_mb() % 1024, 0U);
  EXPECT_EQ(m.ask().offers(0).id(), first.id()) << "the same offer has the same id";
  m.runs(3, 3, 1);
  const wire::ListOffersReply changed = m.ask();
  for (const wire::NodeOffer& offer : changed.offers()) EXPECT_NE(offer.id(), first.id()) << "it is gone";
}

TEST(NodeOffers, WhatOthersAreToHaveIsOfferedUntilThen) {
  Market m;
  m.planned = {{JobId(9), "main", Market::kNow + base::minutes(30), {"n2"}}};
  sched::AdvanceReservation r;
  r.name = "course";
  r.nodes = {"n3"};
  r.start = Market::kNow + base::minutes(60);
  r.end = Market::kNow + base::minutes(90);
  m.apply(sched::ReservationSet{r});
  sched::PendingJob waits = sched::testing::pending(10, sched::testing::gang(1, 8));
  m.apply(sched::JobQueued{waits});
  sched::Nomination kept;
  kept.job = JobId(10);
  kept.partition = "main";
  kept.allocation.shares.push_back({});
  kept.allocation.shares[0].node = NodeId(4);
  kept.allocation.shares[0].name = "n4";
  kept.when = Market::kNow + base::minutes(1);
  m.apply(sched::NominationSet{kept});
  EXPECT_THAT(m.nodes(), ElementsAre("n2: 8 GPUs, 32 CPUs, until 30", "n3: 8 GPUs, 32 CPUs, until 60",
                                     "n1: 8 GPUs, 32 CPUs, until 0"));
  r.start = Market::kNow - base::minutes(1);
  m.apply(sched::ReservationSet{r});
  EXPECT_THAT(m.nodes(), ElementsAre("n2: 8 GPUs, 32 CPUs, until 30", "n1: 8 GPUs, 32 CPUs, until 0"))
      << "it is reserved by now";
}

TEST(NodeOffers, APartitionSaysHowLongAndWhetherNodesGoWhole) {
  Market m;
  sched::PartitionFacts p = *m.view.capacity().partition("main");
  p.max_time = base::minutes(45);
  p.exclusive = true;
  m.apply(sched::PartitionSet{p});
  m.runs(1, 1, 1);
  EXPECT_THAT(m.nodes(), ElementsAre("n[2-4]: 8 GPUs, 32 CPUs, until 0, for 45"));
  p.is_up = false;
  m.apply(sched::PartitionSet{p});
  EXPECT_THAT(m.nodes(), IsEmpty());
}

TEST(NodeOffers, TheQuotasAboveTheQosSayHowMuchOfItItCanHave) {
  Market m;
  EXPECT_FALSE(m.ask().has_guaranteed_milli() || m.ask().has_most_milli()) << "there are no quotas";
  model::Qos dept, team;
  dept.name = "dept";
  dept.guaranteed["gpu"] = 16'000;
  dept.limit["gpu"] = 24'000;
  team.name = "team";
  team.parent = "dept";
  team.guaranteed["gpu"] = 8'000;
  team.limit_per_user["gpu"] = 20'000;
  m.apply(sched::QosSet{{dept, team}});
  m.runs(1, 1, 6, "team");
  const wire::ListOffersReply own = m.ask("team", 7);
  EXPECT_EQ(own.guaranteed_milli(), 2'000U);
  EXPECT_EQ(own.most_milli(), 14'000U) << "of the user's twenty";
  EXPECT_EQ(m.ask("team", 8).most_milli(), 18'000U) << "of the department's 24";
  m.runs(2, 2, 5, "team", 8);
  EXPECT_EQ(m.ask("team", 9).guaranteed_milli(), 0U) << "it borrows";
  EXPECT_EQ(m.ask("team", 9).most_milli(), 13'000U);
}

TEST(NodeOffers, OfPartitionsAndQosThatOneMayUse) {
  Settings s;
  model::Qos own;
  own.name = "own";
  own.users = {"nobody-else"};
  s.qos = {own};
  testing::World w(1, s);
  wire::ApiRequest made;
  wire::Partition& p = *made.mutable_create_partition()->mutable_partition();
  p.set_name("closed");
  p.add_nodes("n0");
  p.add_allow_users("nobody-else");
  for (const char* key : {"nodes", "allow_users"}) p.add_origins()->set_key(key);
  ASSERT_EQ(w.ask(0, made).error().what(), "");
  std::optional<AskScheduler> asked;
  w.on_effects = [&](const Effects& effects) {
    for (const Outgoing& out : effects.out)
      if (const auto* ask = std::get_if<AskScheduler>(&out)) asked = *ask;
  };
  wire::ApiRequest r;
  r.mutable_list_offers()->set_uid(4711);
  w.ask(1000, r);
  ASSERT_TRUE(asked);
  EXPECT_THAT(asked->request.list_offers().partitions(), ElementsAre("main"));
  EXPECT_EQ(asked->request.list_offers().uid(), 1000U) << "not whom the request names";
  EXPECT_EQ(asked->request.list_offers().qos(), w.settings.default_qos);
  r.mutable_list_offers()->mutable_partitions()->Add()->assign("main");
  r.mutable_list_offers()->add_partitions("main");
  w.ask(1000, r);
  EXPECT_THAT(asked->request.list_offers().partitions(), ElementsAre("main")) << "each once";
  EXPECT_EQ(asked->request.list_offers().longest_us(), 0);
  r.mutable_list_offers()->clear_partitions();
  asked.reset();
  r.mutable_list_offers()->add_partitions("closed");
  EXPECT_THAT(w.ask(1000, r).error().what(), HasSubstr("may not use partition closed"));
  r.mutable_list_offers()->set_partitions(0, "mian");
  EXPECT_THAT(w.ask(1000, r).error().what(), HasSubstr("mian"));
  r.mutable_list_offers()->set_partitions(0, "main");
  r.mutable_list_offers()->set_qos("own");
  EXPECT_NE(w.ask(1000, r).error().what(), "");
  EXPECT_FALSE(asked);
}

TEST(NodeOffers, WhatAPlanKeepsIsNotOfferedAndNobodyRunsLongerThanHisQosLets) {
  Settings s;
  model::Qos brief;
  brief.name = "brief";
  brief.max_wall = base::hours(1);
  s.qos = {brief};
  testing::World w(1, s);
  std::optional<AskScheduler> asked;
  w.on_effects = [&](const Effects& effects) {
    for (const Outgoing& out : effects.out)
      if (const auto* ask = std::get_if<AskScheduler>(&out)) asked = *ask;
  };
  sched::Plan plan;
  plan.epoch = w.view.epoch();
  plan.gathered = {{JobId(9), "main", w.now, {"n0"}}};
  w.core->on_plan(w.now, plan);
  wire::ApiRequest r;
  r.mutable_list_offers()->set_qos("brief");
  w.ask(1000, r);
  ASSERT_TRUE(asked);
  EXPECT_EQ(*asked->planned, plan.gathered);
  EXPECT_EQ(asked->request.list_offers().longest_us(), base::hours(1).us);
}

TEST(NodeOffers, NodesThatAreHiddenAreNotOffered) {
  Settings s;
  s.private_data.nodes = true;
  testing::World w(1, s);
  wire::ApiRequest r;
  r.mutable_list_offers();
  EXPECT_THAT(w.ask(1000, r).error().what(), HasSubstr("which nodes are free is private here"));
  EXPECT_EQ(w.ask(0, r).error().what(), "");
}

TEST(NodeOffers, OneIsFoundByItsId) {
  Market m;
  m.runs(1, 2, 5);
  wire::ApiRequest request;
  request.mutable_list_offers()->add_partitions("main");
  request.mutable_list_offers()->set_id(m.ask().offers(1).id());
  const wire::ListOffersReply one = answer_from(m.view, Market::kNow, request, {}).list_offers();
  ASSERT_EQ(one.offers_size(), 1);
  EXPECT_EQ(one.offers(0).nodes(), "n2");
}

}  // namespace
}  // namespace gw::ctld
