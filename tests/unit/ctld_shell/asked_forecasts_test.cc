// Ranges for those who ask before they submit: one at a time, of each user one, and an answer in any case.
#include "ctld/shell/forecasts/asked_forecasts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <vector>

#include "tests/unit/sched/cluster_builder.h"

namespace gw::ctld {
namespace {

using base::JobId;
using ::testing::ElementsAre;

/// Beside other tests under a sanitizer a forecast takes its time; one that hangs is ended with the test.
constexpr base::Duration kNever = base::hours(1);

/// A node of eight GPUs, all of which job 1 holds for an hour; others wait for them.
class Unsubmitted {
 public:
  io::Loop loop;
  std::vector<std::pair<ConnId, wire::SubmitReply>> told;
  forecast::RunTimes known;
  SchedulerThread thread;
  std::optional<AskedForecasts> asked;

  /// On machines however slow; nobody rests, or all do.
  explicit Unsubmitted(uint32_t waiting, int64_t rest = 0)
      : thread(loop, std::make_unique<base::SystemClock>(), [](const auto&, const auto&) {}) {
    const base::Time now = base::SystemClock().now();
    sched::PartitionFacts main;
    main.name = "main";
    main.nodes = {"n1"};
    const model::NodeShare held{base::NodeId(1),  "n1", 1, 2, base::IndexSet::first(1), base::IndexSet::first(8),
                                model::kWholeGpu, 1000};
    std::vector<sched::Delta> deltas;
    const auto add = [&](sched::DeltaKind kind) { deltas.push_back({deltas.size() + 1, std::move(kind)}); };
    add(sched::PolicySet{});
    add(sched::NodeSet{sched::testing::node_facts(1, sched::testing::machine(16, 8, 64'000))});
    add(sched::PartitionSet{main});
    const auto runs = std::make_shared<const sched::PendingJob>(job(1));
    add(sched::JobPlaced{JobId(1), "main", {{held}}, now, now + base::hours(1), runs});
    for (uint32_t id = 2; id < 2 + waiting; ++id) add(sched::JobQueued{job(id)});
    thread.feed(std::move(deltas));
    const AskedForecasts::Sources sources{
        [this]() -> const forecast::RunTimes& { return known; },
        [](const forecast::StartRange& drawn, base::Time) { return drawn; },
        [this](ConnId conn, const wire::ApiReply& reply) { told.emplace_back(conn, reply.submit()); }};
    asked.emplace(loop, thread, sources,
                  AskedForecasts::Bounds{base::hours(1), base::hours(1), rest, ForecastThread::Priority::kOrdinary});
  }
  static sched::PendingJob job(uint32_t id) {
    sched::PendingJob out = sched::testing::pending(id, sched::testing::gang(1, 8));
    out.submitted = out.eligible = base::SystemClock().now();
    out.time_limit = base::hours(1);
    return out;
  }
  void ask(ConnId conn, uint32_t uid, base::Time planned = {}) {
    Unforeseen question{conn, uid};
    question.job = job(UINT32_MAX);
    question.reply.mutable_submit()->mutable_outlook()->set_start_us(planned.us);
    asked->ask(std::move(question));
  }
  bool wait(size_t count) {
    return loop.run_until([&] { return told.size() >= count; }, kNever);
  }
  std::vector<ConnId> order() const {
    std::vector<ConnId> out;
    for (const auto& [conn, reply] : told) out.push_back(conn);
    return out;
  }
};

TEST(AskedForecasts, TheQueueIsContinuedWithTheJobInIt) {
  Unsubmitted w(2);
  for (int i = 0; i < 40; ++i) w.known.add({0, base::hours(1), base::hours(1)});
  const base::Time now = base::SystemClock().now();
  w.ask(7, 1000);
  ASSERT_TRUE(w.wait(1));
  EXPECT_EQ(w.told[0].first, 7U);
  ASSERT_TRUE(w.told[0].second.has_start_range());
  const wire::StartRange& range = w.told[0].second.start_range();
  EXPECT_GE(range.low_us(), (now + base::minutes(179)).us) << "one runs and two wait, each for an hour";
  EXPECT_LE(range.low_us(), range.likely_us());
  EXPECT_LE(range.likely_us(), range.high_us());
  size_t waiting = 0;
  bool is_seen = false;
  w.thread.inspect([&](sched::ClusterView& view, base::Time) {
    waiting = view.queue().size();
    return [&is_seen] { is_seen = true; };
  });
  ASSERT_TRUE(w.loop.run_until([&] { return is_seen; }, kNever));
  EXPECT_EQ(waiting, 2U) << "the queue is as it was";
}

TEST(AskedForecasts, AllWhoWaitAreBeforeIt) {
  Unsubmitted w(30);  // more than have a planned start
  for (int i = 0; i < 40; ++i) w.known.add({0, base::hours(1), base::hours(1)});
  const base::Time now = base::SystemClock().now();
  w.ask(7, 1000);
  ASSERT_TRUE(w.wait(1));
  ASSERT_TRUE(w.told[0].second.has_start_range());
  EXPECT_GE(w.told[0].second.start_range().low_us(), (now + base::hours(30)).us);
}

TEST(AskedForecasts, APlannedStartIsTheLatest) {
  Unsubmitted w(2);
  const base::Time planned = base::SystemClock().now() + base::minutes(30);
  w.ask(7, 1000, planned);
  ASSERT_TRUE(w.wait(1));
  EXPECT_EQ(w.told[0].second.start_range().high_us(), planned.us);
}

TEST(AskedForecasts, WhoeverFindsNoRoomIsAnsweredWithoutARange) {
  Unsubmitted w(1);
  for (ConnId conn = 1; conn <= 3; ++conn) w.ask(conn, 1000 + conn);
  w.ask(11, 1002);  // has one in line
  w.ask(4, 1004);
  w.ask(12, 2000);  // four are
  EXPECT_THAT(w.order(), ElementsAre(11, 12)) << "at once";
  ASSERT_TRUE(w.wait(6));
  EXPECT_THAT(w.order(), ElementsAre(11, 12, 1, 2, 3, 4));
  for (const auto& [conn, reply] : w.told) EXPECT_EQ(reply.has_start_range(), conn < 10) << conn;
  w.ask(13, 2000);
  ASSERT_TRUE(w.wait(7));
  EXPECT_TRUE(w.told.back().second.has_start_range());
}

TEST(AskedForecasts, WhoAsksAgainAtOnceRests) {
  Unsubmitted w(20, /*rest=*/1'000'000);
  w.ask(1, 1000);
  ASSERT_TRUE(w.wait(1));
  w.ask(2, 1000);
  EXPECT_THAT(w.order(), ElementsAre(1, 2)) << "at once";
  EXPECT_FALSE(w.told[1].second.has_start_range());
  w.ask(3, 1001);
  ASSERT_TRUE(w.wait(3));
  EXPECT_TRUE(w.told[2].second.has_start_range());
}

TEST(AskedForecasts, WhoHasLeftIsForgotten) {
  Unsubmitted w(1);
  for (ConnId conn = 1; conn <= 3; ++conn) w.ask(conn, 1000 + conn);
  w.asked->forget(2);
  w.asked->forget(1);  // it is under way
  ASSERT_TRUE(w.wait(2));
  EXPECT_THAT(w.order(), ElementsAre(1, 3));
}

TEST(AskedForecasts, OfAQueueThatIsTooLongNoneIsMade) {
  Unsubmitted w(AskedForecasts::kMostWaiting);
  w.ask(1, 1000);
  ASSERT_TRUE(w.wait(1));
  EXPECT_FALSE(w.told[0].second.has_start_range());
}

TEST(AskedForecasts, EndsWhileOneIsUnderWay) {
  Unsubmitted w(3'000);
  w.ask(1, 1000);
  bool is_seen = false;
  w.thread.inspect([&is_seen](sched::ClusterView&, base::Time) { return [&is_seen] { is_seen = true; }; });
  ASSERT_TRUE(w.loop.run_until([&] { return is_seen; }, kNever));
  w.asked.reset();
  EXPECT_TRUE(w.told.empty());
}

}  // namespace
}  // namespace gw::ctld
