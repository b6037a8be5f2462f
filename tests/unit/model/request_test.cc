// Requests: what is derived, what is refused; feature expressions; job states and names.
#include "model/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

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

/// A request with one change; what normalise() says of it, empty if it agrees.
std::string verdict(Request& r) {
  const auto done = normalise(r);
  if (!done) return done.error().text();
  Request again = r;
  EXPECT_TRUE(normalise(again).has_value());
  EXPECT_EQ(again, r) << "the second time changed something";
  return "";
}

Request with_gpus(GpuCounting counting, uint32_t gpus) {
  Request r;
  r.gpu_counting = counting;
  r.gpus = gpus;
  return r;
}

TEST(Normalise, ChecksPartsOfGpus) {
  struct Case {
    const char* title;
    uint32_t milli, gpus;
    GpuCounting counting;
    std::function<void(Request&)> change;
    const char* says;
  };
  const auto nothing = [](Request&) {};
  const auto per_node = GpuCounting::kPerNode, per_job = GpuCounting::kPerJob, per_task = GpuCounting::kPerTask;
  const Case kCases[] = {
      {"half a GPU", 500, 1, per_node, nothing, ""},
      {"of the job", 1, 1, per_job, nothing, ""},
      {"of the only task", 999, 1, per_task, nothing, ""},
      {"none of it", 0, 1, per_node, nothing, "out of range"},
      {"more than it", 1001, 1, per_node, nothing, "out of range"},
      {"two GPUs", 500, 2, per_node, nothing, "more than one GPU"},
      {"without a GPU", 500, 0, GpuCounting::kNone, nothing, "but no GPU"},
      {"two tasks with one each", 500, 1, per_task, [](Request& r) { r.tasks = 2, r.tasks_given = true; },
       "more than one GPU"},
      {"two nodes", 500, 1, per_node, [](Request& r) { r.nodes_given = true, r.min_nodes = r.max_nodes = 2; },
       "more than one node"},
      {"up to two nodes", 500, 1, per_node, [](Request& r) { r.nodes_given = true, r.max_nodes = 2; },
       "more than one node"},
      {"exclusive", 500, 1, per_node, [](Request& r) { r.exclusive = true; }, "--exclusive contradicts"},
  };
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.title);
    Request r = with_gpus(c.counting, c.gpus);
    r.gpu_milli = c.milli;
    c.change(r);
    const std::string said = verdict(r);
    if (*c.says == 0)
      EXPECT_EQ(said, "");
    else
      EXPECT_THAT(said, HasSubstr(c.says));
  }
}

TEST(Normalise, TasksThatShareAGpuShareANode) {
  Request r = with_gpus(GpuCounting::kPerNode, 1);
  r.gpu_milli = 250;
  r.tasks = 4;
  r.tasks_given = true;
  EXPECT_EQ(verdict(r), "");
  EXPECT_EQ(r.max_nodes, 1u);
}

TEST(Normalise, CoresByGpusAreForJobsWithGpusThatSayNoCpus) {
  const auto stays = [](uint32_t gpus, uint32_t cpus_per_task, uint32_t cpus_per_gpu) {
    Request r;
    r.gpu_counting = gpus > 0 ? GpuCounting::kPerNode : GpuCounting::kNone;
    r.gpus = gpus;
    r.cpus_per_task = cpus_per_task;
    r.cpus_per_gpu = cpus_per_gpu;
    r.cpus_by_gpus = true;
    EXPECT_TRUE(normalise(r));
    return r.cpus_by_gpus;
  };
  EXPECT_TRUE(stays(2, 1, 0));
  EXPECT_FALSE(stays(0, 1, 0));
  EXPECT_FALSE(stays(2, 2, 0));
  EXPECT_FALSE(stays(2, 1, 4));
}

TEST(Normalise, ChecksCpusAndMemoryPerGpu) {
  struct Case {
    const char* title;
    std::function<void(Request&)> change;
    const char* says;
  };
  const Case kCases[] = {
      {"CPUs per GPU", [](Request& r) { r.cpus_per_gpu = 16; }, ""},
      {"memory per GPU", [](Request& r) { r.mem_per_gpu_mb = 1024; }, ""},
      {"with -c", [](Request& r) { r.cpus_per_gpu = 16, r.cpus_per_task = 2; },
       "--cpus-per-gpu are mutually exclusive"},
      {"too many", [](Request& r) { r.cpus_per_gpu = 65'537; }, "--cpus-per-gpu: 65537 is out of range"},
      {"too many in all", [](Request& r) { r.cpus_per_gpu = 65'536, r.gpus = 65'536; }, "too many CPUs"},
      {"with --mem", [](Request& r) { r.mem_per_gpu_mb = r.mem_per_node_mb = 1; }, "mutually exclusive"},
      {"with --mem=0", [](Request& r) { r.mem_per_gpu_mb = 1, r.mem_all = true; }, "mutually exclusive"},
      {"with --mem-per-cpu", [](Request& r) { r.mem_per_gpu_mb = r.mem_per_cpu_mb = 1; }, "mutually exclusive"},
      {"CPUs without GPUs", [](Request& r) { r = {}, r.cpus_per_gpu = 1; }, "but no GPUs"},
      {"memory without GPUs", [](Request& r) { r = {}, r.mem_per_gpu_mb = 1; }, "but no GPUs"},
      {"zero GPUs", [](Request& r) { r.gpus = 0, r.cpus_per_gpu = 4, r.mem_per_gpu_mb = 4; }, ""},
      {"no CPU for a task", [](Request& r) { r.cpus_per_task = 0; }, ""},
      {"no wait", [](Request& r) { r.switches_wait = base::seconds(-1); }, "no length of time"},
      {"levels upside down",
       [](Request& r) {
         r.locality = {{Locality::kLeaf, {}}, {Locality::kNode, {}}};
       },
       "level node is not wider"},
      {"an endless wait",
       [](Request& r) {
         r.locality = {{Locality::kNode}, {Locality::kLeaf}};
       },
       "no length of time"},
      {"good levels",
       [](Request& r) {
         r.locality = {{Locality::kNode, {}}, {Locality::kLeaf}};
       },
       ""},
  };
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.title);
    Request r = with_gpus(GpuCounting::kPerNode, 1);
    c.change(r);
    const std::string said = verdict(r);
    if (*c.says == 0)
      EXPECT_EQ(said, "");
    else
      EXPECT_THAT(said, HasSubstr(c.says));
  }
}

TEST(Normalise, SegmentsDivideTheNodes) {
  struct Case {
    uint32_t segment, least, most, tasks, per_node;
    const char* nodes;  ///< "2-4", or the refusal
  };
  const Case kCases[] = {
      {2, 4, 4, 0, 0, "4-4"},
      {2, 3, 5, 0, 0, "4-4"},
      {2, 2, 5, 6, 2, "4-4"},  // three nodes hold the tasks, but three are no segments
      {4, 4, 12, 0, 0, "4-12"},
      {1, 3, 3, 0, 0, "3-3"},
      {2, 3, 3, 0, 0, "--segment=2 does not divide the number of nodes (3)"},
      {4, 5, 7, 0, 0, "--segment=4 does not divide the number of nodes (5-7)"},
      {2, 0, 0, 7, 2, "4-6"},  // nodes not given: from one task a node to --ntasks-per-node
      {2'000'000, 1, 1, 0, 0, "--segment: 2000000 is out of range"},
  };
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.nodes);
    Request r;
    r.segment = c.segment;
    if (c.least != 0) r.nodes_given = true, r.min_nodes = c.least, r.max_nodes = c.most;
    if (c.tasks != 0) r.tasks_given = true, r.tasks = c.tasks;
    r.tasks_per_node = c.per_node;
    const std::string said = verdict(r);
    EXPECT_THAT(said.empty() ? std::to_string(r.min_nodes) + "-" + std::to_string(r.max_nodes) : said,
                HasSubstr(c.nodes));
  }
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
  std::get<base::Boxed<Ended>>(job.phase).edit().outcome.end = JobState::kFailed;
  EXPECT_TRUE(job.is_consistent());
}

}  // namespace
}  // namespace gw::model
