// Replays: how rows become requests, and what is told of the outcome.
#include "sim/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/plots.h"
#include "small.h"

namespace gw::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Replayed;
using testing::seconds_of;

constexpr const char* kHeader = "job_id,submit_s,duration_s,gpus\n";

std::vector<std::string> nodes_of(const Record& r) { return r.allocation.node_names(); }

TEST(Replay, AJobWithMoreGpusThanANodeSpansNodes) {
  Replayed r;
  r.cluster = "nodes: [{name: \"n[0-3]\", gpus: 8}]";
  r.trace = std::string(kHeader) + "one,0,10,8\nspans,0,10,16\nodd,20,10,12\n";
  const Replay replay = r.result();
  const auto& records = replay.engine->records();
  EXPECT_EQ(nodes_of(records[0]).size(), 1u);
  EXPECT_EQ(nodes_of(records[1]).size(), 2u);
  EXPECT_EQ(nodes_of(records[2]).size(), 2u);
  EXPECT_EQ(records[2].allocation.total_gpus(), 12u);
}

TEST(Replay, ALimitOfTimeThatTheQosHasCutsAJobThatNamesNone) {
  Replayed r;
  r.cluster = "nodes: [{name: n0, gpus: 8}]\nqos: [{name: top, max_wall: 1m}, {name: a, parent: top}]\n";
  r.trace = "job_id,submit_s,duration_s,gpus,qos,time_limit_s\ncut,0,100,1,a,\nlong,0,100,1,a,90\nshort,0,100,1,a,30\n";
  const Replay replay = r.result();
  EXPECT_EQ(seconds_of(replay.engine->records()[0].ended), 60);
  EXPECT_TRUE(replay.engine->records()[1].is_refused);
  EXPECT_EQ(seconds_of(replay.engine->records()[2].ended), 30);
}

TEST(Replay, WeightsAreThoseOfTheOptionAndOfTheOrderInForce) {
  Replayed r;
  r.trace = std::string(kHeader) + "first,0,100,8\nsmall,1,10,1\nlarge,2,10,8\n";
  r.options.order_weights = {{"size", 1000}};
  EXPECT_THAT(r.run().error().text(), HasSubstr("--order-weights: this plug-in has no weights, but got size"));
  r.options.order = "multifactor";
  EXPECT_EQ(seconds_of(r.result().engine->records()[2].started), 100);
  r.options.order_weights = {{"size", -1000}};
  EXPECT_EQ(seconds_of(r.result().engine->records()[1].started), 100);
  r.options.order_weights = {{"sizes", 1}};
  EXPECT_THAT(r.run().error().text(), HasSubstr("--order-weights: unknown weight sizes"));
}

TEST(Replay, RowsWaitForOthersWhereverTheyStand) {
  Replayed r;
  r.trace =
      "job_id,submit_s,duration_s,gpus,dependency\n2,0,10,1,afterok:7\n7,0,100,1,\n9,0,10,1,afterany:2:7\n11,50,10,1,"
      "\n";
  const Replay replay = r.result();
  const auto& records = replay.engine->records();
  EXPECT_EQ(seconds_of(records[0].started), 100);
  EXPECT_EQ(seconds_of(records[2].started), 110);
  EXPECT_EQ(seconds_of(records[3].started), 50);
  EXPECT_EQ(records[0].waited.us, 0) << "it could not have started sooner";
}

TEST(Replay, JobsThatAreNotInTheTraceAreOver) {
  Replayed r;
  r.trace =
      "job_id,submit_s,duration_s,gpus,dependency\n1+0,0,100,1,\nb,0,10,1,afterok:gone:1+0\nc,0,10,1,after:gone+5\n";
  const Replay replay = r.result();
  EXPECT_EQ(seconds_of(replay.engine->records()[1].started), 100);
  EXPECT_EQ(seconds_of(replay.engine->records()[2].started), 0);
  EXPECT_THAT(replay.warnings, ::testing::Contains(HasSubstr("2 conditions on jobs that are not in the trace")));
}

TEST(Replay, DependenciesThatCannotBeAreNamedByLine) {
  Replayed r;
  const auto error = [&r](const std::string& dependency) {
    r.trace = "job_id,submit_s,duration_s,gpus,dependency\na,0,10,1,\nb,0,10,1," + dependency + "\n";
    return r.run().error().text();
  };
  EXPECT_THAT(error("aftrok:a"), HasSubstr("did you mean \"afterok\"?"));
  EXPECT_THAT(error("afterok:b"), HasSubstr(":3: dependency: job b waits for itself"));
}

TEST(Replay, TellsHowManyJobsAreDone) {
  Replayed r;
  r.trace = std::string(kHeader) + "a,0,100,8\nhuge,50,10,99\nb,60,10,8\n";
  std::vector<uint64_t> left;
  r.options.tell = [&left](uint64_t done, uint64_t jobs, Time) {
    EXPECT_EQ(jobs, 3u);
    left.push_back(done);
  };
  (void)r.result();
  EXPECT_THAT(left, ElementsAre(0, 1, 1, 2, 3));
}

TEST(Replay, WaitsAreToldBySize) {
  Replayed r;
  r.trace = std::string(kHeader) + "a,0,100,8\nb,0,10,8\nc,0,10,3\nd,200,10,4\n";
  const Replay replay = r.result();
  const std::string json = replay_json(replay);
  EXPECT_THAT(json, HasSubstr("\"gpus\": \"3-4\",\n      \"finished\": 2"));
  EXPECT_THAT(json, HasSubstr("\"max_wait_s\": 110.0"));
  EXPECT_THAT(replay_text(replay), HasSubstr("longest wait            110.0 s (1m50s)"));
  EXPECT_THAT(replay_text(replay), HasSubstr("\n  3-4                     2"));
}

TEST(Replay, AJobThatFitsANodeGetsOne) {
  // 4 GPUs are free, but on two nodes.
  Replayed r;
  r.cluster = "nodes: [{name: \"n[0-1]\", gpus: 4}]\npolicy: {fit: spread}";
  r.trace = std::string(kHeader) + "a,0,100,2\nb,0,100,2\nc,0,10,4\n";
  EXPECT_EQ(seconds_of(r.result().engine->records()[2].started), 100);
}

TEST(Replay, CountedGpusAreWhereverTheyAre) {
  Replayed r;
  r.cluster = "nodes: [{name: \"n[0-1]\", gpus: 4, cpus: 1}]";
  r.trace = "job_id,submit_s,duration_s,gpus,cpus,mem_mb\na,0,100,3,64,1\nb,0,100,2,64,1\nc,0,10,3,64,999999999\n";
  r.options.fit = "count";
  const Replay replay = r.result();
  EXPECT_EQ(seconds_of(replay.engine->records()[2].started), 0);
  EXPECT_EQ(replay.engine->samples()[0].busy_gpu_milli, 8000u);
  EXPECT_EQ(replay.fit, "count");
}

TEST(Replay, ColumnsBecomeRequests) {
  Replayed r;
  r.cluster = R"(
nodes:
  - {name: a0, gpus: 4, gpu_type: a100, cpus: 16, memory: 64G}
  - {name: h0, gpus: 4, gpu_type: h100, cpus: 16, memory: 64G}
partitions: [{name: p, nodes: ALL}, {name: q, nodes: h0}]
)";
  r.trace =
      "job_id,submit_s,duration_s,gpus,cpus,mem_mb,gpu_type,gpu_milli,partition\n"
      "typed,0,10,1,2,,h100,,\n"
      "either,0,10,1,2,,v100|a100,,\n"
      "half,0,10,1,0,,a100,500,\n"
      "other,0,10,1,0,,a100,500,\n"
      "there,0,10,1,2,,,,q\n"
      "cpus,0,10,0,32,1024,,,\n";
  const Replay replay = r.result();
  const auto& records = replay.engine->records();
  EXPECT_THAT(nodes_of(records[0]), ElementsAre("h0"));
  EXPECT_THAT(nodes_of(records[1]), ElementsAre("a0"));
  EXPECT_EQ(records[2].allocation.shares[0].gpus, records[3].allocation.shares[0].gpus);
  EXPECT_THAT(nodes_of(records[4]), ElementsAre("h0"));
  EXPECT_EQ(seconds_of(records[5].started), 10) << "all CPUs of both nodes, when they are free";
  EXPECT_EQ(records[5].allocation.total_cpus(), 32u);
}

TEST(Replay, WhatTheClusterLacksIsNamedByLine) {
  struct Case {
    const char* cluster;
    const char* trace;
    const char* order;
    const char* fit;
    const char* what;
  };
  const std::string header = "job_id,submit_s,duration_s,gpus,partition,qos\n";
  const Case cases[] = {
      {"nodes: [{name: n0, gpus: 8}]", "a,0,1,1,,\nb,0,1,1,defaul,\n", "", "",
       "t:3: no partition \"defaul\" in the cluster (did you mean \"default\"?)"},
      {"nodes: [{name: n0, gpus: 8}]\nqos: [team]", "a,0,1,1,,tem\n", "", "", "t:2: no QOS \"tem\" in the cluster"},
      {"nodes: [{name: n0, gpus: 8}]", "a,0,1,1,,\n", "fifi", "",
       "--order: unknown order fifi (did you mean \"fifo\"?)"},
      {"nodes: [{name: n0, gpus: 8}]", "a,0,1,1,,\n", "", "bets",
       "--fit: \"bets\" is none of best, worst, spread, count (did"},
      {"nodes: [{name: n0, gpus: 8}]\npolicy: {order: srft}", "a,0,1,1,,\n", "", "",
       "c:2:17: unknown order srft (did you"},
      {"nodes: [{name: n0, topology: dgx}]", "a,0,1,1,,\n", "", "", "c:1:30: there is no topology named dgx"},
  };
  for (const Case& c : cases) {
    Replayed r;
    r.cluster = c.cluster;
    r.trace = header + c.trace;
    r.options.order = c.order;
    r.options.fit = c.fit;
    const auto replay = r.run();
    ASSERT_FALSE(replay) << c.what;
    EXPECT_THAT(replay.error().text(), HasSubstr(c.what));
  }
}

TEST(Replay, QosWithoutAListAreLabels) {
  Replayed r;
  r.trace = "job_id,submit_s,duration_s,gpus,qos\na,0,10,8,x\nb,0,10,8,y\nc,0,10,8,\n";
  const auto by_qos = summarise_by_qos(*r.result().engine);
  ASSERT_EQ(by_qos.size(), 3u);
  EXPECT_EQ(by_qos.at("x").mean_completion_s, 10);
  EXPECT_EQ(by_qos.at("y").mean_completion_s, 20);
  EXPECT_EQ(by_qos.at("").mean_completion_s, 30);
}

TEST(Summary, PercentilesAreInterpolated) {
  EXPECT_EQ(percentile({}, 0.5), 0);
  EXPECT_EQ(percentile({7}, 0.99), 7);
  EXPECT_EQ(percentile({1, 2, 3, 4}, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(percentile({0, 10, 20, 30, 40}, 0.95), 38);
}

TEST(Summary, CountsWhatHappened) {
  Replayed r;  // 8 GPUs: a 100 s x 8, b 50 s x 4, c 50 s x 4
  r.trace = std::string(kHeader) + "a,0,100,8\nb,10,50,4\nc,20,50,4\nhuge,30,1,16\n";
  const Summary s = summarise(*r.result().engine);
  EXPECT_EQ(s.jobs, 4u);
  EXPECT_EQ(s.finished, 3u);
  EXPECT_EQ(s.unfinished, 1u);
  EXPECT_DOUBLE_EQ(s.mean_completion_s, (100 + 140 + 130) / 3.0);
  EXPECT_EQ(s.median_completion_s, 130);
  EXPECT_DOUBLE_EQ(s.mean_wait_s, (0 + 90 + 80) / 3.0);
  EXPECT_EQ(s.makespan_s, 150);
  EXPECT_DOUBLE_EQ(s.utilisation, (800.0 + 200 + 200) / (8 * 150));
  EXPECT_EQ(s.preemptions, 0u);
}

TEST(Summary, FairnessComparesWithAFairPartOfTheCluster) {
  // Two jobs of 8 GPUs on 8: each would need 200 s alone on half of the cluster, had both been there all the time.
  Replayed r;
  r.trace = std::string(kHeader) + "a,0,100,8\nb,0,100,8\n";
  const Replay replay = r.result();
  const Engine& e = *replay.engine;
  EXPECT_DOUBLE_EQ(fairness(e.jobs()[0], e.records()[0], e), 100.0 / (100 * 2));
  EXPECT_DOUBLE_EQ(fairness(e.jobs()[1], e.records()[1], e), 200.0 / (100 * 1.5)) << "1.5 jobs on average";
  const Summary s = summarise(e);
  EXPECT_DOUBLE_EQ(s.worst_fairness, 200.0 / 150);
  EXPECT_DOUBLE_EQ(s.mean_fairness, (0.5 + 200.0 / 150) / 2);
}

TEST(Summary, AJobWithinItsPartIsNotSlowedDownByOthers) {
  Replayed r;  // 1 GPU of 8 with 2 jobs: its fair part is 4, so alone it takes just its duration
  r.trace = std::string(kHeader) + "a,0,100,1\nb,0,100,1\n";
  const Replay replay = r.result();
  EXPECT_DOUBLE_EQ(fairness(replay.engine->jobs()[0], replay.engine->records()[0], *replay.engine), 1.0);
}

TEST(Summary, FragmentationIsWhatNoJobCanUse) {
  // For 100 s 8 GPUs are free, 4 a node, of use to one job of four; then none; then for 100 s a whole node, to all.
  Replayed r;
  r.cluster = "nodes: [{name: \"n[0-1]\", gpus: 8}]\npolicy: {fit: worst}";
  r.trace = "job_id,submit_s,duration_s,gpus,nodes\na,0,100,8,2\nb,0,100,8,1\nc,0,100,8,1\nd,0,100,8,1\n";
  const Summary s = summarise(*r.result().engine);
  EXPECT_DOUBLE_EQ(s.fragmentation, 0.75 * 8 * 100 / (8 * 100 + 8 * 100));
  Replayed whole;
  whole.trace = std::string(kHeader) + "a,0,100,4\nb,200,100,4\n";
  EXPECT_EQ(summarise(*whole.result().engine).fragmentation, 0);
}

// ---- Output

Replay typical() {
  Replayed r;
  r.cluster = "nodes: [{name: \"n[0-1]\", gpus: 8}]";
  r.trace = "job_id,submit_s,duration_s,gpus,qos\n\"a,1\",0,1000,8,x\nb,5,20,1,y\nc,6,30000,16,x\n";
  return r.result();
}

TEST(Output, JsonHasTheContractsKeys) {
  const std::string json = replay_json(typical());
  for (const char* key : {"\"schema_version\": 1", "\"summary\"", "\"mean_completion_s\"", "\"median_completion_s\"",
                          "\"p95_completion_s\"", "\"p99_completion_s\"", "\"mean_wait_s\"", "\"makespan_s\"",
                          "\"utilisation\"", "\"fragmentation\"", "\"preemptions\"", "\"gpu_seconds_lost\"",
                          "\"worst_fairness\"", "\"mean_fairness\"", "\"by_qos\"", "\"jobs\": 3"})
    EXPECT_THAT(json, HasSubstr(key));
}

TEST(Output, CsvHasARowAJob) {
  const std::string csv = replay_csv(typical());
  EXPECT_THAT(csv, HasSubstr("job_id,qos,user,gpus,submit_s,start_s,end_s,wait_s,completion_s,"));
  EXPECT_THAT(csv, HasSubstr("\n\"a,1\",x,,8,0.000,0.000,1000.000,0.000,1000.000,1000.000,0,0.000,"));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 4);
}

TEST(Output, TextNamesTheNumbers) {
  const std::string text = replay_text(typical());
  EXPECT_THAT(text, HasSubstr("3 jobs on 2 nodes with 16 GPUs, order fifo_skip, fit best\n"));
  EXPECT_THAT(text, HasSubstr("  median completion       1000.0 s (16m40s)\n"));
  EXPECT_THAT(text, HasSubstr("\n  QOS "));
}

TEST(Output, OneIsSingular) {
  Replayed r;
  r.trace = "job_id,submit_s,duration_s,gpus\na,0,60,1\n";
  EXPECT_THAT(replay_text(r.result()), HasSubstr("1 job on 1 node with 8 GPUs"));
}

TEST(Output, EqualInputGivesEqualBytes) {
  const Replay a = typical(), b = typical();
  EXPECT_EQ(replay_json(a), replay_json(b));
  EXPECT_EQ(replay_csv(a), replay_csv(b));
  EXPECT_EQ(utilisation_plot(a) + completion_plot(a) + wait_plot(a),
            utilisation_plot(b) + completion_plot(b) + wait_plot(b));
}

TEST(Output, ChartsAreThereEvenOfNothing) {
  Replayed r;
  r.trace = kHeader;
  const Replay empty = r.result();
  for (const std::string& svg : {utilisation_plot(empty), completion_plot(empty), wait_plot(empty)}) {
    EXPECT_THAT(svg, HasSubstr("<svg "));
    EXPECT_THAT(svg, HasSubstr("</svg>"));
    EXPECT_THAT(svg, Not(HasSubstr("nan")));
    EXPECT_THAT(svg, Not(HasSubstr("inf")));
  }
}

}  // namespace
}  // namespace gw::sim
