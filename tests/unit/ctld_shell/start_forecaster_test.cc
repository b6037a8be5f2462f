// Forecasts beside the scheduler's thread: again and again, never two at once, and none after the end.
#include "ctld/shell/forecasts/start_forecaster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "tests/unit/sched/cluster_builder.h"

namespace gw::ctld {
namespace {

using base::JobId;
using ::testing::Key;
using ::testing::UnorderedElementsAre;

/// A node of eight GPUs, all of which job 1 holds for an hour; others wait for them.
class Foreseen {
 public:
  io::Loop loop;
  std::vector<StartForecaster::Drawn> told;
  forecast::RunTimes known;
  SchedulerThread thread;
  std::optional<StartForecaster> forecaster;

  explicit Foreseen(uint32_t waiting, base::Duration pause = base::milliseconds(1))
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
    forecaster.emplace(
        loop, thread, pause, [this]() -> const forecast::RunTimes& { return known; },
        [this](const StartForecaster::Drawn& drawn) { told.push_back(drawn); }, ForecastThread::Priority::kOrdinary);
  }
  static sched::PendingJob job(uint32_t id) {
    sched::PendingJob out = sched::testing::pending(id, sched::testing::gang(1, 8));
    out.submitted = out.eligible = base::SystemClock().now();
    out.time_limit = base::hours(1);
    return out;
  }
  bool wait(size_t count) {
    return loop.run_until([&] { return told.size() >= count; }, base::hours(1));
  }
};

TEST(StartForecaster, TellsOfThoseThatWaitAgainAndAgain) {
  Foreseen w(2);
  w.forecaster->look_again();
  w.forecaster->look_again();  // one is under way
  ASSERT_TRUE(w.wait(3)) << "what runs has run longer by then: nobody need ask";
  for (const auto& drawn : w.told) EXPECT_THAT(drawn, UnorderedElementsAre(Key(JobId(2)), Key(JobId(3))));
  const forecast::StartRange range = w.told[0].at(JobId(2));
  EXPECT_LE(range.low, range.likely);
  EXPECT_LE(range.high, base::SystemClock().now() + base::hours(1));
}

TEST(StartForecaster, SaysNothingWhereNobodyWaitsAndStops) {
  Foreseen w(0);
  w.forecaster->look_again();
  ASSERT_TRUE(w.wait(1));
  EXPECT_TRUE(w.told[0].empty());
}

TEST(StartForecaster, AnotherPauseHoldsAtOnce) {
  Foreseen w(1, base::hours(20));
  w.forecaster->look_again();
  w.forecaster->set_pause(base::milliseconds(1));
  ASSERT_TRUE(w.wait(1)) << "it does not rest for twenty hours first";
  w.forecaster->set_pause({});
  ASSERT_FALSE(w.told.empty());
  EXPECT_TRUE(w.told.back().empty()) << "what was told is taken back";
}

TEST(StartForecaster, EndsWhileAForecastIsUnderWay) {
  Foreseen w(3'000);
  w.forecaster->look_again();
  bool is_seen = false;
  w.thread.inspect([&is_seen](sched::ClusterView&, base::Time) { return [&is_seen] { is_seen = true; }; });
  ASSERT_TRUE(w.loop.run_until([&] { return is_seen; }, base::hours(1)));
  w.forecaster.reset();
  EXPECT_TRUE(w.told.empty());
}

}  // namespace
}  // namespace gw::ctld
