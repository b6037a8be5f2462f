// Requests: what is derived, what is refused; feature expressions; job states and names.
#include "model/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/cluster.h"
#include "model/job.h"

namespace gw::model {
namespace {

using testing::HasSubstr;

std::string features(const char* text) {
  auto parsed = parse_features(text);
  return parsed ? format_features(*parsed) : "ERROR " + parsed.error().text();
}

TEST(Features, BecomeAlternatives) {
  EXPECT_EQ(features(""), "");
  EXPECT_EQ(features("ib"), "ib");
  EXPECT_EQ(features("ib&nvlink|pcie"), "ib&nvlink|pcie");
  EXPECT_EQ(features("(a|b)&c"), "a&c|b&c");
  EXPECT_EQ(features("a,b"), "a&b");
  EXPECT_EQ(features("a&a&(a|b)"), "a|a&b");
  EXPECT_EQ(features("((a))"), "a");
}

TEST(Features, BadOnesAreRefused) {
  EXPECT_THAT(features("a&"), HasSubstr("expected a feature name at the end"));
  EXPECT_THAT(features("(a"), HasSubstr("missing )"));
  EXPECT_THAT(features("a)"), HasSubstr("unexpected character at \")\""));
  EXPECT_THAT(features("a b"), HasSubstr("ERROR"));
  EXPECT_THAT(features("|"), HasSubstr("ERROR"));
  EXPECT_THAT(features("[a|b]"), HasSubstr("ERROR"));
  EXPECT_THAT(features(std::string(100, '(').c_str()), HasSubstr("nested too deep"));
  EXPECT_THAT(features("(a|b)&(c|d)&(e|f)&(g|h)&(i|j)&(k|l)&(m|n)&(o|p)&(q|r)"), HasSubstr("too many alternatives"));
}

TEST(Normalise, CountsNodesThatAreNamed) {
  Request r;
  r.nodelist = {"a", "b"};
  ASSERT_TRUE(normalise(r).has_value());
  EXPECT_EQ(r.min_nodes, 2u);
  EXPECT_EQ(r.tasks, 2u);
}

TEST(Normalise, RefusesContradictions) {
  const auto says = [](auto change) {
    Request r;
    change(r);
    auto done = normalise(r);
    return done ? std::string() : done.error().what;
  };
  EXPECT_THAT(says([](Request& r) {
                r.nodes_given = true;
                r.min_nodes = 0;
              }),
              HasSubstr("-N/--nodes"));
  EXPECT_THAT(says([](Request& r) {
                r.tasks_given = true;
                r.tasks = 0;
              }),
              HasSubstr("-n/--ntasks"));
  EXPECT_THAT(says([](Request& r) {
                r.mem_per_cpu_mb = 1;
                r.mem_per_node_mb = 1;
              }),
              HasSubstr("mutually exclusive"));
  EXPECT_THAT(says([](Request& r) { r.gpus = 2; }), HasSubstr("way of counting"));
  EXPECT_THAT(says([](Request& r) {
                r.nodes_given = r.tasks_given = true;
                r.min_nodes = r.max_nodes = 2;
                r.tasks = 1;
              }),
              HasSubstr("fewer than one task"));
  EXPECT_THAT(says([](Request& r) {
                r.tasks_given = true;
                r.tasks = 100'000'000;
                r.cpus_per_task = 65'536;
              }),
              HasSubstr("too many CPUs"));
  EXPECT_THAT(says([](Request& r) {
                r.nodes_given = true;
                r.min_nodes = r.max_nodes = 1'000'000;
                r.gpu_counting = GpuCounting::kPerNode;
                r.gpus = 1000;
              }),
              HasSubstr("GPUs of the whole job"));
  EXPECT_THAT(says([](Request& r) {
                r.nodes_given = true;
                r.min_nodes = r.max_nodes = 1'000'000;
                r.tasks_per_node = 1000;
              }),
              HasSubstr("--ntasks-per-node"));
  EXPECT_THAT(says([](Request& r) {
                r.nodelist = {"a", "b"};
                r.nodes_given = true;
              }),
              HasSubstr("names 2 nodes"));
}

TEST(TotalGpus, ByEachWayOfCounting) {
  Request r;
  r.tasks = 6;
  r.gpus = 4;
  r.gpu_counting = GpuCounting::kPerJob;
  EXPECT_EQ(total_gpus(r, 3), 4u);
  r.gpu_counting = GpuCounting::kPerNode;
  EXPECT_EQ(total_gpus(r, 3), 12u);
  r.gpu_counting = GpuCounting::kPerTask;
  EXPECT_EQ(total_gpus(r, 3), 24u);
  r.gpu_counting = GpuCounting::kNone;
  EXPECT_EQ(total_gpus(r, 3), 0u);
}

TEST(JobStates, HaveNamesThatParse) {
  for (int i = 0; i < kJobStateCount; ++i) {
    const auto s = static_cast<JobState>(i);
    EXPECT_EQ(*parse_job_state(long_name(s)), s);
    EXPECT_EQ(*parse_job_state(short_name(s)), s);
  }
  EXPECT_EQ(*parse_job_state("running"), JobState::kRunning);
  EXPECT_EQ(parse_job_state("runing").error().hint, "did you mean \"RUNNING\"?");
  EXPECT_EQ(name(JobEvent::kEndBootFail), "end-boot-fail");
  EXPECT_EQ(name(WaitReason::kController), "Controller");
  EXPECT_EQ(name(EndReason::kPrologFailed), "Prolog");
  EXPECT_EQ(name(PartitionState::kInactive), "INACTIVE");
}

TEST(Job, PhaseAndStateMustAgree) {
  Job job;
  EXPECT_TRUE(job.is_consistent());
  job.state = JobState::kRunning;
  EXPECT_FALSE(job.is_consistent());
  job.phase = Placed{};
  EXPECT_TRUE(job.is_consistent());
  job.state = JobState::kCompleting;
  EXPECT_FALSE(job.is_consistent());
  job.placed()->outcome = Outcome{};
  EXPECT_TRUE(job.is_consistent());
  job.state = JobState::kFailed;
  job.phase = Ended{};
  EXPECT_FALSE(job.is_consistent());
  std::get<Ended>(job.phase).outcome.end = JobState::kFailed;
  EXPECT_TRUE(job.is_consistent());
}

}  // namespace
}  // namespace gw::model
