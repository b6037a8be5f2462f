// Scenarios as a whole: what is refused, how broken expectations are told, what JSON shows.
#include "sim/scenario.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/expect.h"
#include "sim/svg.h"
#include "small.h"

namespace gw::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::run;

struct Broken {
  const char* expect;
  const char* told;
};
class BrokenExpectations : public ::testing::TestWithParam<Broken> {
 protected:
  // r runs on n0 and n1 and is preempted by s; w waits for good; e ends after 10 minutes.
  const std::string situation_ = R"(
policy: {order: srtf}
nodes: [{name: "n[0-1]", gpus: 4}, {name: m0, gpus: 1}]
jobs:
  - {name: r, state: running, at: [n0, n1], tasks: 2, gpus_per_task: 4, time_limit: 10h}
  - {name: s, gpus_per_task: 4, time_limit: 1h, exclude: m0}
  - {name: w, gpus_per_task: 4, time_limit: 20h, exclude: m0}
  - {name: e, gpus_per_task: 1, run_time: 10m, nodelist: m0}
  - {name: x, gpus_per_task: 4, time_limit: 30h, exclude: m0}
until: 30m
expect:
)";
};

TEST_P(BrokenExpectations, AreToldPrecisely) {
  const auto outcome = run(situation_ + "  " + GetParam().expect);
  ASSERT_EQ(outcome.failures.size(), 1u);
  EXPECT_THAT(outcome.failures[0], HasSubstr(GetParam().told));
}

INSTANTIATE_TEST_SUITE_P(
    All, BrokenExpectations,
    ::testing::Values(Broken{"s: {state: pending}", "f:12:3: s: state: expected pending, got running at [n0]"},
                      Broken{"r: {state: running}", "r: state: expected running, got pending (needs "},
                      Broken{"e: {state: running}", "e: state: expected running, got ended"},
                      Broken{"s: {at: [n1]}", "s: at: expected [n1], got [n0]"},
                      Broken{"r: {at: [n1, n0]}", "r: at: expected [n0, n1], got nowhere"},
                      Broken{"s: {nodes: 2}", "s: nodes: expected 2, got 1"},
                      Broken{"s: {tasks: 3}", "s: tasks: expected 3, got 1"},
                      Broken{"e: {started_at: 1m}", "e: started_at: expected 1m, got 0s"},
                      Broken{"e: {ended_at: 1h30m}", "e: ended_at: expected 1h30m, got 10m"},
                      Broken{"x: {started_at: 0s}", "x: started_at: expected 0s, got never"},
                      Broken{"s: {partition: other}", "s: partition: expected other, got default"},
                      Broken{"s: {moved: true}", "s: moved: expected true, got false"},
                      Broken{"evicted: []", "f:2:1: evicted: expected [], got [r]"},
                      Broken{"evicted: [r, e]", "evicted: expected [r, e], got [r]"},
                      Broken{"s: {state: suspended}", "s: state: expected suspended, got running"},
                      Broken{"r: {preemptions: 0}", "r: preemptions: expected 0, got 1"},
                      Broken{"preemptions_max: 0", "f:2:1: preemptions_max: expected at most 0, got 1"},
                      Broken{"gpus_evicted_max: 7", "gpus_evicted_max: expected at most 7, got 8"}));

TEST(Expectations, ThatHoldSayNothing) {
  const auto outcome = run(R"(
nodes: [{name: "n[0-1]", gpus: 4}]
jobs: [{name: a, tasks: 3, nodes: 2, gpus_per_task: 2, run_time: 1h}]
expect: {a: {state: ended, at: [n1, n0, n0], nodes: 2, tasks: 3, started_at: 0s, ended_at: 60m, moved: false, preemptions: 0}, evicted: [], moves_max: 0, preemptions_max: 0}
)");
  EXPECT_THAT(outcome.failures, IsEmpty());
}

TEST(Scenarios, GuaranteesThatTheNodesDoNotHaveAreWarnedOf) {
  const auto outcome = run("nodes: [{name: n0, gpus: 8}]\nqos: [{name: a, guaranteed: {gpu: 9}}]\n");
  ASSERT_EQ(outcome.warnings.size(), 1);
  EXPECT_THAT(outcome.warnings[0], HasSubstr("the guarantees below cluster add up to 9 gpu, but it has 8: a 9"));
}

TEST(Scenarios, NamesThatOnlyTheSchedulerKnowsAreCheckedInPlace) {
  const auto error_of = [](const std::string& text) {
    return run_scenario(testing::scenario_of(text), testing::no_topologies()).error().text();
  };
  EXPECT_THAT(error_of("nodes: []\npolicy: {order: fito}"),
              HasSubstr("f:2:17: unknown order fito (did you mean \"fifo\"?)"));
  EXPECT_THAT(error_of("nodes: []\npolicy: {order: multifactor, order_weights: {agee: 1}}"),
              HasSubstr("unknown weight agee"));
  EXPECT_THAT(error_of("nodes: [{name: n0, topology: dgx}]"), HasSubstr("f:1:30: there is no topology named dgx"));
}

TEST(Scenarios, WhoCannotBeSuspendedIsRefusedWhereJobsTakeTurns) {
  const auto error_of = [](const std::string& job) {
    const auto outcome =
        run_scenario(testing::scenario_of(
                         "nodes: [{name: n0, gpus: 8}]\npartitions: [{name: p, nodes: n0, time_slice: 1m}]\njobs: [{" +
                         job + "}]\n"),
                     testing::no_topologies());
    return outcome ? "" : outcome.error().text();
  };
  EXPECT_THAT(error_of("name: a, tasks: 4, min_tasks: 1, gpus_per_task: 1"),
              HasSubstr("job a: jobs of partition p take turns, and this one cannot be suspended"));
  EXPECT_EQ(error_of("name: a, tasks: 4, min_tasks: 1, gpus_per_task: 1, on_preempt: checkpoint"), "");
  EXPECT_EQ(error_of("name: a, tasks: 4, gpus_per_task: 1"), "");
}

LoadTopology one_machine() {
  return [](const std::string&) -> base::Result<model::NodeTopology> {
    model::NodeTopology t = model::flat_topology(8, 1024, 4, "h100");
    t.numa_nodes.push_back({1, 0, 0});
    for (uint32_t c = 0; c < t.cores.size(); ++c) t.cores[c] = {0, c / 4, c / 4, {c, c + 8}};
    return t;
  };
}

TEST(Topologies, MayBeMadeSmallerAndLarger) {
  struct Case {
    const char* node;
    const char* cores;
    const char* gpus;
    uint64_t mem_mb;
    size_t all_cores;
  };
  const Case cases[] = {{"{name: n, topology: t}", "0-7", "0-3", 1024, 8},
                        {"{name: n, topology: t, cpus: 8, gpus: 2}", "0-1,4-5", "0-1", 1024, 8},
                        {"{name: n, topology: t, cpus: 20, memory: 2G}", "0-9", "0-3", 2048, 10},
                        {"{name: n, gpus: 3, cpus: 2, memory: 512}", "0-1", "0-2", 512, 2}};
  for (const Case& c : cases) {
    const auto scenario = testing::scenario_of(std::string("nodes: [") + c.node + "]");
    Users users;
    const auto cluster = build_cluster(scenario.cluster, one_machine(), users);
    ASSERT_TRUE(cluster) << cluster.error().text();
    const sched::NodeFacts& facts = cluster->nodes[0];
    EXPECT_EQ(facts.cores.text(), c.cores) << c.node;
    EXPECT_EQ(facts.gpus.text(), c.gpus) << c.node;
    EXPECT_EQ(facts.mem_mb, c.mem_mb) << c.node;
    EXPECT_EQ(facts.topology->cores.size(), c.all_cores) << c.node;
    EXPECT_TRUE(model::validate(*facts.topology)) << c.node;
  }
  const auto scenario = testing::scenario_of("nodes: [{name: n, topology: t, gpus: 5}]");
  Users users;
  EXPECT_THAT(build_cluster(scenario.cluster, one_machine(), users).error().what,
              HasSubstr("f:1:29: 5 GPUs on node n, but topology t has 4"));
}

TEST(Topologies, NodesOfOneLineAreOfOneMake) {
  const auto scenario = testing::scenario_of("nodes: [{name: \"n[0-1]\", gpus: 1}, {name: m, gpus: 1}]");
  Users users;
  const auto cluster = build_cluster(scenario.cluster, one_machine(), users);
  EXPECT_EQ(cluster->nodes[0].topology, cluster->nodes[1].topology);
  EXPECT_NE(cluster->nodes[0].topology, cluster->nodes[2].topology);
}

TEST(Output, TextAndJsonShowEachJob) {
  const std::string text =
      "name: x\nnodes: [{name: n0, gpus: 1}]\njobs: [{name: a, gpus_per_task: 1, run_time: 90m}]\nexpect: {a: {state: "
      "running}}";
  const auto scenario = testing::scenario_of(text);
  const auto outcome = run(text);
  EXPECT_EQ(scenario_text(scenario, outcome),
            "f:1: x: NOT AS EXPECTED\n"
            "  JOB   STATE       START      END  NODES  WHY\n"
            "  a     ended          0s    1h30m  n0\n"
            "  f:4:10: a: state: expected running, got ended\n");
  const std::string json = scenarios_json({scenario}, {outcome});
  for (const char* part : {"\"schema_version\": 1", "\"ok\": false", "\"name\": \"a\"", "\"state\": \"ended\"",
                           "\"ended_s\": 5400.0", "\"gpus\": \"0\"", "\"failures\": [\n"})
    EXPECT_THAT(json, HasSubstr(part));
}

TEST(Offsets, AreWrittenAsScenarioFilesDo) {
  EXPECT_EQ(format_offset({}), "0s");
  EXPECT_EQ(format_offset(base::microseconds(-4)), "0s");
  EXPECT_EQ(format_offset(base::minutes(-90)), "-1h30m");
  EXPECT_EQ(format_offset(base::hours(49) + base::seconds(1)), "2d1h1s");
  EXPECT_EQ(format_offset(base::milliseconds(1500)), "2s");
}

TEST(Svg, TextsAreEscaped) {
  Svg svg(10, 10);
  svg.text({1, 2}, "<a & \"b\">", "start");
  EXPECT_THAT(svg.finish(), HasSubstr(">&lt;a &amp; &quot;b&quot;&gt;</text>"));
}

TEST(Svg, AxesHaveRoundTicks) {
  const Axis days = time_axis("t", 10 * 86'400.0);
  EXPECT_EQ(days.title, "t (days)");
  EXPECT_EQ(days.ticks[1].label, "2");
  EXPECT_EQ(days.part(5 * 86'400.0), 0.5);
  const Axis log = log_time_axis("t", 5, 50'000);
  EXPECT_EQ(log.min, 1);
  EXPECT_EQ(log.max, 86'400);
  EXPECT_EQ(log.part(1), 0);
  EXPECT_EQ(log.ticks[2].label, "1 min");
  EXPECT_EQ(log.part(1e12), 1) << "cut to the axis";
}

}  // namespace
}  // namespace gw::sim
