// Scenario and cluster files: what they mean, and every mistake with its place and remedy.
#include "config/scenario.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "config/scenario_keys.h"

namespace gw::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Scenario only(const std::string& text) {
  auto scenarios = parse_scenarios(text, "f");
  EXPECT_TRUE(scenarios) << (scenarios ? "" : scenarios.error().text());
  if (!scenarios || scenarios->empty()) return {};
  EXPECT_EQ(scenarios->size(), 1u);
  return std::move(scenarios->front());
}

std::string errors_of(const std::string& text) {
  auto scenarios = parse_scenarios(text, "f");
  EXPECT_FALSE(scenarios) << text;
  return scenarios ? "" : scenarios.error().text();
}

// ---- Meaning

TEST(Scenario, TheContractsExampleIsRead) {
  const Scenario s = only(R"(
name: idle share is lent and comes back      # shown in reports
policy:
  order: multifactor
  fit: best
  reclaim: fair_share
  consolidate: true
  preempt: true
  grace: 0s
nodes:
  - {name: "n[0-3]", gpus: 8, cpus: 64, memory: 512G, topology: dgx-h100, gpu_type: h100, features: [ib]}
network:
  - {switch: leaf0, nodes: "n[0-1]"}
  - {switch: leaf1, nodes: "n[2-3]"}
  - {switch: block0, switches: "leaf[0-1]"}
partitions:
  - {name: train, nodes: "n[0-3]"}
qos:
  - {name: dept, guaranteed: {gpu: 32}, limit: {gpu: 32}}
  - {name: a, parent: dept, guaranteed: {gpu: 16}, limit: {gpu: 24}, weight: 1, priority: 0, min_runtime: 0s, preempt_children: false}
  - {name: b, parent: dept, guaranteed: {gpu: 16}}
jobs:
  - {name: r0, qos: a, state: running, at: [n0, n0, n1], gpus_per_task: 2, tasks: 3, priority: 50, preemptible: true, started: -2h, time_limit: 10h}
  - {name: p0, qos: b, tasks: 2, gpus_per_task: 8, nodes: 2, priority: 50, submitted: -5m, locality: leaf}
  - {name: p1, qos: b, tasks: 1, cpus_per_task: 4, mem_per_task: 8G, submit: 10m, run_time: 30m}
  - {name: e0, qos: a, tasks: 4, min_tasks: 2, gpus_per_task: 1}
until: 1h
expect:
  p0: {state: running, at: [n2, n3]}
  r0: {state: running}
  p1: {state: ended, started_at: 10m}
  evicted: [e0]
  gpus_evicted_max: 4
  moves_max: 1
)");
  EXPECT_EQ(s.name, "idle share is lent and comes back");
  ASSERT_EQ(s.cluster.nodes.size(), 4u);
  EXPECT_EQ(s.cluster.nodes[3].name, "n3");
  EXPECT_EQ(s.cluster.nodes[3].topology, "dgx-h100");
  EXPECT_EQ(*s.cluster.nodes[3].mem_mb, 512u << 10);
  EXPECT_EQ(s.cluster.network.switches.size(), 3u);
  EXPECT_EQ(*s.cluster.policy.order, "multifactor");
  EXPECT_EQ(*s.cluster.policy.reclaim, model::Reclaim::kFairShare);
  EXPECT_EQ(s.cluster.qos[1].limit.at("gpu"), 24'000u);
  EXPECT_EQ(s.cluster.qos[1].parent, "dept");
  ASSERT_EQ(s.jobs.size(), 4u);
  EXPECT_THAT(s.jobs[0].at, ElementsAre("n0", "n0", "n1"));
  EXPECT_EQ(*s.jobs[0].started, base::hours(-2));
  EXPECT_EQ(s.jobs[1].asks.request.min_nodes, 2u);
  EXPECT_EQ(s.jobs[1].asks.request.locality.front().level, model::Locality::kLeaf);
  EXPECT_EQ(*s.jobs[1].submit, base::minutes(-5));
  EXPECT_EQ(s.jobs[2].asks.request.mem_per_task_mb, 8u << 10);
  EXPECT_EQ(s.jobs[2].run_time, base::minutes(30));
  EXPECT_EQ(s.jobs[3].min_tasks, 2u);
  EXPECT_EQ(*s.until, base::hours(1));
  EXPECT_THAT(*s.expect.jobs[0].at, ElementsAre("n2", "n3"));
  EXPECT_EQ(*s.expect.jobs[2].started_at, base::minutes(10));
  EXPECT_THAT(*s.expect.evicted, ElementsAre("e0"));
  EXPECT_EQ(*s.expect.gpus_evicted_max, 4u);
}

TEST(Scenario, DefaultsOfAJobAreThoseOfTheContract) {
  const Scenario s = only("nodes: [n0]\njobs: [{name: a}, {name: b, cpus_per_task: 0, nodes: 3, tasks_per_node: 2}]");
  const ScenarioJob& a = s.jobs[0];
  EXPECT_EQ(a.asks.request.tasks, 1u);
  EXPECT_EQ(a.asks.request.cpus_per_task, 1u);
  EXPECT_EQ(a.asks.request.gpus, 0u);
  EXPECT_TRUE(a.asks.request.mem_none);
  EXPECT_FALSE(a.asks.request.nodes_given);
  EXPECT_EQ(a.priority, 50);
  EXPECT_TRUE(a.preemptible);
  EXPECT_EQ(a.qos, "");
  EXPECT_EQ(a.run_time, base::kUnlimited);
  EXPECT_EQ(a.time_limit, base::kUnlimited);
  EXPECT_THAT(a.asks.partitions, ElementsAre("default"));
  EXPECT_FALSE(a.submit.has_value());
  EXPECT_EQ(s.jobs[1].asks.request.cpus_per_task, 0u);
  EXPECT_EQ(s.jobs[1].asks.request.tasks, 6u);
  EXPECT_EQ(s.cluster.partitions[0].cores_per_gpu_kept, 0u) << "no cores kept back for GPUs";
}

TEST(Scenario, WordsAreWordsAndOnlyTrueAndFalseAreTruthValues) {
  const Scenario s =
      only("name: on\nnodes: [{name: no, features: [off, yes]}]\njobs: [{name: on, preemptible: false}]");
  EXPECT_EQ(s.name, "on");
  EXPECT_EQ(s.cluster.nodes[0].name, "no");
  EXPECT_THAT(s.cluster.nodes[0].features, ElementsAre("off", "yes"));
  EXPECT_EQ(s.jobs[0].name, "on");
  EXPECT_FALSE(s.jobs[0].preemptible);
}

TEST(Scenario, SeveralDocumentsOfOneFileKeepTheirPlaces) {
  const auto scenarios = parse_scenarios("---\nname: a\nnodes: []\n---\n\nname: b\nnodes: []\n---\n# nothing\n", "f");
  ASSERT_TRUE(scenarios) << scenarios.error().text();
  ASSERT_EQ(scenarios->size(), 2u);
  EXPECT_EQ((*scenarios)[1].name, "b");
  EXPECT_EQ((*scenarios)[1].place.says("x"), "f:6:1: x");
}

TEST(Scenario, MistakesOfAllDocumentsAreToldInOrder) {
  const std::string errors = errors_of("nodes: [n0]\njobs: [{name: a, qos: x}, {nam: b}]\n---\nnodez: []\n");
  EXPECT_THAT(errors, HasSubstr("f:2:23: no QOS \"x\""));
  EXPECT_THAT(errors, HasSubstr("\nf:2:28: unknown key \"nam\" (did you mean \"name\"?)"));
  EXPECT_THAT(errors, HasSubstr("\nf:4:1: unknown key \"nodez\" (did you mean \"nodes\"?)"));
}

TEST(Scenario, AJobGoesWhereItsKindBelongs) {
  const Scenario s = only(R"(
nodes: ["n[0-3]"]
partitions:
  - {name: big, nodes: ALL, default_for: compute}
  - {name: small, nodes: n0, default_for: aux, default_time: 1h}
jobs: [{name: g, gpus_per_task: 1}, {name: c}, {name: both, partition: [small, big]}]
)");
  EXPECT_EQ(s.cluster.partitions[0].nodes.size(), 4u);
  EXPECT_THAT(s.jobs[0].asks.partitions, ElementsAre("big"));
  EXPECT_THAT(s.jobs[1].asks.partitions, ElementsAre("small"));
  EXPECT_EQ(s.jobs[1].time_limit, base::hours(1)) << "the partition's default_time";
  EXPECT_THAT(s.jobs[2].asks.partitions, ElementsAre("small", "big"));
}

TEST(Scenario, ComponentsTakeTheirJobsPartitionUnlessTheySay) {
  const Scenario s = only(R"(
nodes: ["n[0-1]"]
partitions: [{name: a, nodes: n0}, {name: b, nodes: n1}]
jobs: [{name: h, partition: a, hetjob: [{tasks: 4}, {gpus_per_task: 1, partition: b}]}]
expect: {h: {at: n0}, h+1: {tasks: 4}, h+2: {at: [n1]}}
)");
  ASSERT_EQ(s.jobs[0].components.size(), 2u);
  EXPECT_EQ(s.jobs[0].components[0].request.tasks, 4u);
  EXPECT_THAT(s.jobs[0].components[0].partitions, ElementsAre("a"));
  EXPECT_THAT(s.jobs[0].components[1].partitions, ElementsAre("b"));
}

TEST(Scenario, MemoryMayBePerTaskCpuGpuOrNode) {
  const Scenario s = only(R"(
nodes: [n0]
partitions: [{name: p, nodes: n0, default_mem_per_cpu: 1G}]
jobs: [{name: a}, {name: b, mem_per_task: 0}, {name: c, mem_per_node: 2G}, {name: d, mem_per_cpu: 3}]
)");
  EXPECT_FALSE(s.jobs[0].asks.request.mem_none) << "the partition says how much";
  EXPECT_TRUE(s.jobs[1].asks.request.mem_none);
  EXPECT_EQ(s.jobs[2].asks.request.mem_per_node_mb, 2048u);
  EXPECT_EQ(s.jobs[3].asks.request.mem_per_cpu_mb, 3u);
}

TEST(Scenario, OverbookedGuaranteesAreAWarning) {
  const Scenario s = only(R"(
nodes: [{name: n0, gpus: 8}]
qos: [{name: p, guaranteed: {gpu: 8}}, {name: a, parent: p, guaranteed: {gpu: 6}}, {name: b, parent: p, guaranteed: {gpu: 2.5}}]
)");
  ASSERT_EQ(s.warnings.size(), 1u);
  EXPECT_THAT(s.warnings[0],
              HasSubstr("f:3:6: the guarantees below QOS p add up to 8.5 gpu, but it has 8: a 6, b 2.5"));
}

TEST(Scenario, JobsWaitForOthersByName) {
  const std::string nodes = "nodes: [{name: n0, gpus: 1}]\njobs:\n";
  const auto read = parse_scenarios(
      nodes +
          "  - {name: last, dependency: \"afterok:a[0-1],after:b+5\"}\n  - {name: \"a[0-1]\", throttle: 1}\n"
          "  - {name: b}\n  - {name: \"c[0-1]\", dependency: \"aftercorr:a[0-1]\"}\n",
      "f");
  ASSERT_TRUE(read) << read.error().text();
  const std::vector<ScenarioJob>& jobs = read->front().jobs;
  EXPECT_EQ(model::format_dependency(jobs[0].dependency),
            "afterok:2(unfulfilled),afterok:3(unfulfilled),after:4+5(unfulfilled)");
  EXPECT_EQ(model::format_dependency(jobs[5].dependency), "afterok:3(unfulfilled)");
  EXPECT_TRUE(jobs[1].line == jobs[2].line && jobs[1].line != jobs[3].line && jobs[1].throttle == 1);
  const auto error = [&](const std::string& line) {
    const auto bad = parse_scenarios(nodes + "  - {name: \"a[0-1]\"}\n  - " + line + "\n", "f");
    return bad ? "" : bad.error().text();
  };
  EXPECT_NE(error("{name: b, dependency: \"afterok:a2\"}").find("no job \"a2\""), std::string::npos);
  EXPECT_NE(error("{name: \"b[0-2]\", dependency: \"aftercorr:a[0-1]\"}").find("a[0-1] has no job 3"),
            std::string::npos);
  EXPECT_NE(error("{name: b, dependency: \"afterok:b\"}").find("job b waits for itself"), std::string::npos);
  EXPECT_NE(error("{name: b, throttle: 0}").find("throttle"), std::string::npos);
  EXPECT_NE(error("{name: b, state: running, at: [n0], dependency: \"afterok:a0\"}").find("waits for nobody"),
            std::string::npos);
}

TEST(Cluster, IsReadWithoutJobs) {
  const auto file = parse_cluster("nodes: [{name: \"n[0-1]\", gpus: 8}]\npolicy: {order: srtf}\nqos: [a, b]", "f");
  ASSERT_TRUE(file) << file.error().text();
  EXPECT_EQ(file->cluster.nodes.size(), 2u);
  EXPECT_EQ(file->cluster.partitions.size(), 1u);
  EXPECT_EQ(file->cluster.qos.size(), 2u);
}

TEST(Cluster, RefusesJobsAndWantsNodes) {
  EXPECT_THAT(parse_cluster("nodes: [n0]\njobs: []", "f").error().text(), HasSubstr("f:2:1: unknown key \"jobs\""));
  EXPECT_THAT(parse_cluster("policy: {}", "f").error().text(), HasSubstr("the cluster has no nodes"));
  EXPECT_THAT(parse_cluster("nodes: [n0]\n---\nnodes: [n1]", "f").error().text(), HasSubstr("second document"));
}

// ---- Mistakes

struct Mistake {
  const char* text;  ///< After the line `nodes: [{name: "n[0-1]", gpus: 8, cpus: 8}]`: its first line is line 2.
  const char* expected;
};

class ScenarioMistakes : public ::testing::TestWithParam<Mistake> {};

TEST_P(ScenarioMistakes, AreTold) {
  const std::string errors =
      errors_of(std::string("nodes: [{name: \"n[0-1]\", gpus: 8, cpus: 8}]\n") + GetParam().text);
  EXPECT_THAT(errors, HasSubstr(GetParam().expected));
  EXPECT_THAT(errors, Not(HasSubstr("\n"))) << "one mistake, one line";
}

INSTANTIATE_TEST_SUITE_P(Top, ScenarioMistakes,
                         ::testing::Values(Mistake{"job: []", "f:2:1: unknown key \"job\" (did you mean \"jobs\"?)"},
                                           Mistake{"jobs: {name: a}", "f:2:7: jobs is a list"},
                                           Mistake{"jobs: [5]", "f:2:8: an entry of jobs"},
                                           Mistake{"policy: fifo", "f:2:9: policy is a map"},
                                           Mistake{"until: 5", "f:2:8: until: 5 has no unit"},
                                           Mistake{"until: -5m", "until: "},
                                           Mistake{"expect: [a]", "f:2:9: expect is a map"},
                                           Mistake{"nodes: [n2]", "f:2:1: the key nodes stands twice, first in line 1"},
                                           Mistake{"jobs: [{name: a, name: b}]", "f:2:18: the key name stands twice"}));

INSTANTIATE_TEST_SUITE_P(
    Policy, ScenarioMistakes,
    ::testing::Values(
        Mistake{"policy: {ordre: fifo}", "f:2:10: unknown key \"ordre\" (did you mean \"order\"?)"},
        Mistake{"policy: {fit: bst}", "f:2:15: fit: \"bst\" is none of best, worst, spread (did you mean"},
        Mistake{"policy: {reclaim: all}", "f:2:19: reclaim: \"all\" is none of"},
        Mistake{"policy: {consolidate: on}", "f:2:23: consolidate: \"on\" is not a truth value"},
        Mistake{"policy: {grace: 30}", "f:2:17: grace: 30 has no unit (write 30s or 30m)"},
        Mistake{"policy: {reservations: -1}", "f:2:24: reservations"},
        Mistake{"policy: {order_weights: 5}", "f:2:25: order_weights takes a map"},
        Mistake{"policy: {order_weights: {age: x}}", "f:2:31: order_weights: \"x\" is not a number"},
        Mistake{"policy: {fairness_over_time: nan}", "f:2:30: fairness_over_time: \"nan\" is not a number"},
        Mistake{"policy: {usage_half_life: 0s}", "f:2:27: usage_half_life must be longer"}));

INSTANTIATE_TEST_SUITE_P(
    NetworkAndPartitions, ScenarioMistakes,
    ::testing::Values(
        Mistake{"network: [{switch: s, nodes: n7}]", "f:2:30: "},
        Mistake{"network: [{switch: s, node: n0}]", "f:2:23: unknown key \"node\" (did you mean \"nodes\"?)"},
        Mistake{"network: [{nodes: n0}]", "f:2:11: this entry of network has no name"},
        Mistake{"partitions: [{name: p}]", "f:2:14: partition p does not say which nodes"},
        Mistake{"partitions: [{nodes: ALL}]", "f:2:14: this partition has no name"},
        Mistake{"partitions: [{name: p, nodes: m0}]", "f:2:31: no node \"m0\" (did you mean \"n0\"?)"},
        Mistake{"partitions: [{name: p, nodes: n0}, {name: p, nodes: n1}]", "f:2:36: partition p stands twice"},
        Mistake{"partitions: [{name: p, nodes: n0, teir: 2}]", "did you mean \"tier\"?"},
        Mistake{"partitions: [{name: p, nodes: n0, lease: 5m}]", "f:2:35: unknown key \"lease\""},
        Mistake{"partitions: [{name: p, nodes: n0, default_for: gpu}]", "no kind of jobs \"gpu\""},
        Mistake{"partitions: [{name: p, nodes: n0, default: true}, {name: q, nodes: n1, default: true}]",
                "f:2:81: a second partition is the default"}));

INSTANTIATE_TEST_SUITE_P(
    Qos, ScenarioMistakes,
    ::testing::Values(Mistake{"qos: [{name: a, guarantee: {gpu: 1}}]", "did you mean \"guaranteed\"?"},
                      Mistake{"qos: [{name: a, guaranteed: 5}]", "f:2:29: guaranteed is a map of resources"},
                      Mistake{"qos: [{name: a, guaranteed: {gpus: 5}}]",
                              "f:2:30: no resource \"gpus\" (did you mean \"gpu\"?)"},
                      Mistake{"qos: [{name: a, guaranteed: {gpu: x}}]", "f:2:35: gpu: "},
                      Mistake{"qos: [{name: a, guaranteed: {gpu: 0.0005}}]", "at most three decimals"},
                      Mistake{"qos: [{name: a, limit: {mem: 5X}}]", "f:2:30: "},
                      Mistake{"qos: [{name: a, parent: b}]", "f:2:25: no QOS \"b\""},
                      Mistake{"qos: [{name: a, parent: b}, {name: b, parent: b}]", "QOS b is below itself"},
                      Mistake{"qos: [a, a]", "f:2:10: QOS a stands twice, first in line 2"},
                      Mistake{"qos: [cluster]", "f:2:7: the root of the QOS tree (cluster) is implied"},
                      Mistake{"qos: [{name: a, weight: -1}]", "f:2:25: weight"},
                      Mistake{"qos: [{name: a, min_runtime: 5}]", "min_runtime: 5 has no unit"},
                      Mistake{"qos: [{parent: cluster}]", "f:2:7: this QOS has no name"}));

INSTANTIATE_TEST_SUITE_P(
    Reservations, ScenarioMistakes,
    ::testing::Values(
        Mistake{"reservations: [{name: r, nodes: n0, users: [u], start: 1h}]", "needs one of end and duration"},
        Mistake{"reservations: [{name: r, nodes: n0, users: [u], end: 1h, duration: 1h}]", "needs one of"},
        Mistake{"reservations: [{name: r, nodes: n0, users: [u], start: 2h, end: 1h}]", "ends before it begins"},
        Mistake{"reservations: [{name: r, nodes: n0, duration: 1h}]", "nobody may use reservation r"},
        Mistake{"reservations: [{name: r, users: [u], duration: 1h}]", "reservation r has no nodes"},
        Mistake{"reservations: [{name: r, nodes: n9, users: [u], duration: 1h}]", "f:2:33: no node \"n9\""}));

INSTANTIATE_TEST_SUITE_P(
    JobSizes, ScenarioMistakes,
    ::testing::Values(
        Mistake{"jobs: [{tasks: 2}]", "f:2:8: this job has no name"},
        Mistake{"jobs: [{name: a/b}]", "unexpected \"/\" at character 2"},
        Mistake{"jobs: [{name: evicted}]", "a job cannot be called evicted"},
        Mistake{"jobs: [{name: a}, {name: a}]", "f:2:19: job a stands twice, first in line 2"},
        Mistake{"jobs: [{name: a, task: 2}]", "f:2:18: unknown key \"task\" (did you mean \"tasks\"?)"},
        Mistake{"jobs: [{name: a, tasks: 0}]", "f:2:25: tasks"}, Mistake{"jobs: [{name: a, tasks: 1.5}]", "tasks"},
        Mistake{"jobs: [{name: a, tasks: 1, nodes: 2}]", "f:2:35: 1 tasks cannot be on 2 nodes"},
        Mistake{"jobs: [{name: a, gpus_per_task: 1, gpus: 2}]", "f:2:42: gpus beside gpus_per_task (give one of them)"},
        Mistake{"jobs: [{name: a, mem_per_task: 1G, mem_per_cpu: 1G}]", "mem_per_cpu beside mem_per_task"},
        Mistake{"jobs: [{name: a, gpu_type: h100}]", "f:2:28: gpu_type without GPUs"},
        Mistake{"jobs: [{name: a, gpus_per_task: 2, gpu_milli: 500}]", "f:2:47: gpu_milli is a part of one GPU"},
        Mistake{"jobs: [{name: a, tasks: 2, gpus_per_task: 1, gpu_milli: 500}]", "gpu_milli is a part of one GPU"},
        Mistake{"jobs: [{name: a, nodelist: n0, exclude: n0}]", "both in -w/--nodelist and in -x/--exclude"},
        Mistake{"jobs: [{name: a, nodelist: x0}]", "f:2:28: no node \"x0\""},
        Mistake{"jobs: [{name: a, exclude: \"n[0-\"}]", "f:2:27: exclude: "},
        Mistake{"jobs: [{name: a, partition: p}]", "f:2:29: no partition \"p\" (one of default)"},
        Mistake{"jobs: [{name: a, qos: q}]", "f:2:23: no QOS \"q\""},
        Mistake{"jobs: [{name: a, constraint: \"a&\"}]", "f:2:30: constraint: "},
        Mistake{"jobs: [{name: a, locality: laef}]", "f:2:28: locality: "},
        Mistake{"jobs: [{name: a, switches: two}]", "f:2:28: switches: "},
        Mistake{"jobs: [{name: a, switches: 1@soon}]", "f:2:28: "},
        Mistake{"jobs: [{name: a, fit: tight}]", "f:2:23: fit: "},
        Mistake{"jobs: [{name: a, hetjob: {tasks: 1}}]", "f:2:26: hetjob is a list"},
        Mistake{"jobs: [{name: a, hetjob: [{name: b}]}]", "f:2:28: unknown key \"name\""}));

INSTANTIATE_TEST_SUITE_P(
    JobTimes, ScenarioMistakes,
    ::testing::Values(Mistake{"jobs: [{name: a, submit: 10}]", "f:2:26: submit: 10 has no unit (write 10s or 10m)"},
                      Mistake{"jobs: [{name: a, submit: 1m, submitted: -1m}]", "f:2:41: submitted beside submit"},
                      Mistake{"jobs: [{name: a, run_time: -5m}]", "f:2:28: run_time: "},
                      Mistake{"jobs: [{name: a, run_time: x}]", "run_time"},
                      Mistake{"jobs: [{name: a, run_time: 9999999h}]", "longer than 3660 days"},
                      Mistake{"jobs: [{name: a, time_limit: 0s}]", "f:2:30: a time limit of nothing"},
                      Mistake{"jobs: [{name: a, time_limit: 1h, time_min: 2h}]",
                              "f:2:44: time_min is above time_limit"},
                      Mistake{"jobs: [{name: a, deadline: now}]", "f:2:28: deadline: "},
                      Mistake{"jobs: [{name: a, priority: high}]", "f:2:28: priority"},
                      Mistake{"jobs: [{name: a, preemptible: no}]", "f:2:31: preemptible: \"no\" is not a truth value"},
                      Mistake{"jobs: [{name: a, on_preempt: suspnd}]",
                              "f:2:30: on_preempt: \"suspnd\" is none of requeue, checkpoint, suspend, cancel"},
                      Mistake{"jobs: [{name: a, preemptible: false, on_preempt: cancel}]",
                              "f:2:50: on_preempt of a job that is never preempted (leave out on_preempt or"},
                      Mistake{"qos: [{name: a, max_wall: 60}]", "f:2:27: max_wall: 60 has no unit"},
                      Mistake{"qos: [{name: a, limit_per_user: 4}]", "f:2:33: limit_per_user is a map of resources"},
                      Mistake{"qos: [{name: a, max_jobs: many}]", "f:2:27: max_jobs"},
                      Mistake{"jobs: [{name: preemptions_max}]", "a job cannot be called preemptions_max"},
                      Mistake{"jobs: [{name: a, tasks: 2, min_tasks: 3}]", "f:2:39: min_tasks is above tasks"},
                      Mistake{"jobs: [{name: a, tasks: 2, min_tasks: 1, hetjob: [{tasks: 1}]}]",
                              "f:2:39: min_tasks does not go with hetjob"},
                      Mistake{"jobs: [{name: a, reservation: r}]", "f:2:31: no reservation \"r\""}));

INSTANTIATE_TEST_SUITE_P(
    RunningJobs, ScenarioMistakes,
    ::testing::Values(
        Mistake{"jobs: [{name: a, state: runing}]", "f:2:25: state: \"runing\" is none of pending, running"},
        Mistake{"jobs: [{name: a, state: running}]", "f:2:8: where does job a run?"},
        Mistake{"jobs: [{name: a, at: [n0]}]", "f:2:22: only a running job has a place and a start"},
        Mistake{"jobs: [{name: a, started: -1h}]", "f:2:27: only a running job has a place and a start"},
        Mistake{"jobs: [{name: a, state: running, at: [n9]}]", "f:2:38: no node \"n9\""},
        Mistake{"jobs: [{name: a, state: running, at: [n0, n1]}]", "f:2:38: 2 nodes for 1 tasks"},
        Mistake{"jobs: [{name: a, state: running, at: [n0], tasks: 2}]", "f:2:38: 1 nodes for 2 tasks"},
        Mistake{"jobs: [{name: a, state: running, at: [n0, n0], tasks: 2, nodes: 2}]",
                "1 nodes, where 2 are asked for"},
        Mistake{"jobs: [{name: a, state: running, at: [n0], started: 5m}]",
                "f:2:53: a running job has started before now"},
        Mistake{"jobs: [{name: a, state: running, at: [n0], submit: 5m}]", "runs before it was submitted"},
        Mistake{"jobs: [{name: a, state: running, at: [n0], hetjob: [{tasks: 1}]}]",
                "heterogeneous job cannot run at"}));

INSTANTIATE_TEST_SUITE_P(
    Expect, ScenarioMistakes,
    ::testing::Values(Mistake{"jobs: [{name: job0}]\nexpect: {jb0: {}}",
                              "f:3:10: no job \"jb0\" (did you mean \"job0\"?)"},
                      Mistake{"jobs: [{name: a}]\nexpect: {a: running}", "f:3:13: what is expected of a is a map"},
                      Mistake{"jobs: [{name: a}]\nexpect: {a: {sate: running}}",
                              "f:3:14: unknown key \"sate\" (did you mean \"state\"?)"},
                      Mistake{"jobs: [{name: a}]\nexpect: {a: {state: done}}",
                              "f:3:21: state: \"done\" is none of running, pending, suspended, ended"},
                      Mistake{"jobs: [{name: a}]\nexpect: {a: {started_at: 5}}", "f:3:26: started_at: 5 has no unit"},
                      Mistake{"jobs: [{name: a}]\nexpect: {a+1: {}}", "f:3:10: no job \"a+1\""},
                      Mistake{"jobs: [{name: a}]\nexpect: {evicted: [b]}", "f:3:19: no job \"b\""},
                      Mistake{"jobs: [{name: a}]\nexpect: {moves_max: x}", "f:3:21: moves_max"},
                      Mistake{"jobs: [{name: a}]\nexpect: {a: {}, a: {}}", "f:3:17: the key a stands twice"}));

struct NodeMistake {
  const char* text;
  const char* expected;
};
class NodeMistakes : public ::testing::TestWithParam<NodeMistake> {};
TEST_P(NodeMistakes, AreTold) { EXPECT_THAT(errors_of(GetParam().text), HasSubstr(GetParam().expected)); }

INSTANTIATE_TEST_SUITE_P(
    Nodes, NodeMistakes,
    ::testing::Values(NodeMistake{"", "f:1:1: no scenario"}, NodeMistake{"jobs: []", "f:1:1: a scenario needs nodes"},
                      NodeMistake{"[a]", "f:1:1: not a map"}, NodeMistake{"nodes: 5", "f:1:8: nodes is a list"},
                      NodeMistake{"nodes: [{gpus: 8}]", "f:1:9: this node has no name"},
                      NodeMistake{"nodes: [n0, n0]", "f:1:13: node n0 stands twice, first in line 1"},
                      NodeMistake{"nodes: [{name: n0, gpu: 8}]",
                                  "f:1:20: unknown key \"gpu\" (did you mean \"gpus\"?)"},
                      NodeMistake{"nodes: [{name: n0, gpus: many}]", "f:1:26: gpus"},
                      NodeMistake{"nodes: [{name: n0, memory: 5Q}]", "f:1:28: memory"},
                      NodeMistake{"nodes: [{name: n0, cpus: 0}]", "f:1:26: cpus"},
                      NodeMistake{"nodes: [{name: n0, features: {a: b}}]", "f:1:30: features takes a list"},
                      NodeMistake{"nodes: [\"n[0-\"]", "f:1:9: name: "}, NodeMistake{"nodes: [&a n0, *a]", "aliases"},
                      NodeMistake{"nodes: [n0\njobs: []", "f:"}, NodeMistake{"nodes: [n0]\n\tjobs: []", "f:2:"}));

// ---- Documentation

TEST(ScenarioDocs, EveryKeyIsInTheGuide) {
  std::ifstream in(std::string(GW_SOURCE_DIR) + "/docs/scenario.md");
  std::ostringstream text;
  text << in.rdbuf();
  const std::string guide = text.str();
  ASSERT_THAT(guide, Not(IsEmpty()));
  for (const std::string& row : scenario_reference()) EXPECT_THAT(guide, HasSubstr(row));
}

}  // namespace
}  // namespace gw::config
