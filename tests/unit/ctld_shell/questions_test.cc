// Questions to the scheduler: one after the other, users in turn, and no more of them than the answer needs.
#include "ctld/shell/questions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/unit/sched/cluster_builder.h"

namespace gw::ctld {
namespace {

using ::testing::ElementsAre;

/// A node of eight GPUs, of which three are free.
class Asked {
 public:
  io::Loop loop;
  std::vector<std::pair<ConnId, wire::ApiReply>> answers;
  std::vector<uint32_t> askers;           // uids, of these
  std::vector<base::JobId> asked_before;  // jobs of these that are not submitted and would wait
  SchedulerThread thread;
  Questions questions;

  Asked()
      : thread(loop, std::make_unique<base::SystemClock>(), [](const auto&, const auto&) {}),
        questions(thread, [this](ConnId conn, uint32_t uid, wire::ApiReply reply, const sched::PendingJob* waiting) {
          answers.emplace_back(conn, std::move(reply));
          askers.push_back(uid);
          asked_before.push_back(waiting != nullptr ? waiting->id : base::JobId());
        }) {
    sched::PartitionFacts main;
    main.name = "main";
    main.nodes = {"n1"};
    const model::NodeShare held{base::NodeId(1),  "n1", 1, 2, base::IndexSet::first(1), base::IndexSet::first(5),
                                model::kWholeGpu, 1000};
    std::vector<sched::Delta> deltas;
    const auto add = [&](sched::DeltaKind kind) { deltas.push_back({deltas.size() + 1, std::move(kind)}); };
    add(sched::PolicySet{});
    add(sched::NodeSet{sched::testing::node_facts(1, sched::testing::machine(16, 8, 64'000))});
    add(sched::PartitionSet{main});
    add(sched::JobPlaced{base::JobId(1), "main", {{held}}, base::Time{1}, base::Time::never(), nullptr});
    thread.feed(std::move(deltas));
  }
  /// About a job that asks for eight GPUs; each change asks for fewer.
  static AskOutlooks question(ConnId conn, uint32_t uid, const std::vector<uint32_t>& gpus,
                              const std::vector<uint32_t>& series) {
    AskOutlooks out{.conn = conn, .uid = uid, .series = series};
    out.asked.push_back(sched::testing::pending(9, sched::testing::gang(1, 8)));
    out.reply.set_id(conn);
    for (const uint32_t n : gpus) {
      out.asked.push_back(sched::testing::pending(9, sched::testing::gang(1, n)));
      out.reply.mutable_why_job()->add_offers()->mutable_change()->mutable_gres()->set_gpus(n);
    }
    return out;
  }
  bool wait(size_t count) {
    return loop.run_until([&] { return answers.size() >= count; }, base::seconds(60));
  }
};

std::vector<uint32_t> tried(const wire::ApiReply& reply) {
  std::vector<uint32_t> out;
  for (const wire::JobOffer& offer : reply.why_job().offers()) out.push_back(offer.change().gres().gpus());
  return out;
}

TEST(Questions, OfASeriesTheFirstThatHelpsIsEnough) {
  Asked w;
  ASSERT_TRUE(w.questions.ask(Asked::question(5, 1000, {6, 4, 3, 2, 1, 7}, {1, 1, 1, 1, 1, 2})));
  ASSERT_TRUE(w.wait(1));
  const wire::ApiReply& reply = w.answers[0].second;
  EXPECT_EQ(w.answers[0].first, 5U);
  EXPECT_EQ(reply.id(), 5U);
  EXPECT_EQ(reply.why_job().outlook().when(), static_cast<uint32_t>(model::When::kUnknown));
  EXPECT_THAT(tried(reply), ElementsAre(6, 4, 3, 7));
  EXPECT_EQ(reply.why_job().offers(2).outlook().when(), static_cast<uint32_t>(model::When::kNow));
  EXPECT_EQ(reply.why_job().offers(3).outlook().when(), static_cast<uint32_t>(model::When::kUnknown));
}

TEST(Questions, AConnectionAsksOneAtATime) {
  Asked w;
  EXPECT_TRUE(w.questions.ask(Asked::question(5, 1000, {}, {})));
  EXPECT_FALSE(w.questions.ask(Asked::question(5, 1000, {}, {})));
  EXPECT_TRUE(w.questions.ask(Asked::question(6, 1000, {}, {})));
  EXPECT_FALSE(w.questions.ask(Asked::question(6, 1000, {}, {}))) << "it stands in line";
  ASSERT_TRUE(w.wait(2));
  EXPECT_TRUE(w.questions.ask(Asked::question(5, 1000, {}, {}))) << "it was answered";
  ASSERT_TRUE(w.wait(3));
}

TEST(Questions, AUserHasFourInLine) {
  Asked w;
  for (ConnId conn = 1; conn <= 5; ++conn)
    ASSERT_TRUE(w.questions.ask(Asked::question(conn, 1000, {}, {}))) << "one is asked, and four wait";
  EXPECT_FALSE(w.questions.ask(Asked::question(18, 1000, {}, {})));
  EXPECT_TRUE(w.questions.ask(Asked::question(19, 1001, {}, {})));
  w.questions.forget(5);
  ASSERT_TRUE(w.wait(5));
  EXPECT_EQ(w.answers.back().first, 4U) << "5 was closed, and 19 was served in turn";
}

TEST(Questions, AJobThatWouldWaitIsHandedOnBeforeItIsSubmitted) {
  Asked w;
  const auto ask = [&w](ConnId conn, uint32_t gpus) {
    AskOutlooks out{.conn = conn, .uid = 1000, .wants_range = true};
    out.asked.push_back(sched::testing::pending(9, sched::testing::gang(1, gpus)));
    out.reply.mutable_submit();
    return w.questions.ask(std::move(out));
  };
  ASSERT_TRUE(ask(1, 8));
  ASSERT_TRUE(ask(2, 3));
  ASSERT_TRUE(w.questions.ask(Asked::question(3, 1001, {}, {})));
  ASSERT_TRUE(w.wait(3));
  EXPECT_THAT(w.asked_before, ElementsAre(base::JobId(9), base::JobId(), base::JobId()))
      << "one starts now, and one is in the queue";
  EXPECT_THAT(w.askers, ElementsAre(1000, 1000, 1001));
}

TEST(Questions, UsersAreServedInTurn) {
  Asked w;
  for (const ConnId conn : {1U, 2U, 3U, 4U}) ASSERT_TRUE(w.questions.ask(Asked::question(conn, 1000, {}, {})));
  ASSERT_TRUE(w.questions.ask(Asked::question(9, 1001, {}, {})));
  ASSERT_TRUE(w.wait(5));
  std::vector<ConnId> order;
  for (const auto& [conn, reply] : w.answers) order.push_back(conn);
  EXPECT_THAT(order, ElementsAre(1, 2, 9, 3, 4)) << "a flood of one user delays that user";
}

}  // namespace
}  // namespace gw::ctld
