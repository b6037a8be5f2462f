// Filters of partitions: which nodes a job may go on beyond what it asks for, and what is told where that leaves none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster_builder.h"
#include "sched/cycle/plan.h"
#include "sched/place/place.h"
#include "sched/policy/filter_policy.h"

namespace gw::sched::testing {
namespace {

using ::testing::HasSubstr;

/// A job of so many thousandths of GPUs and CPUs, on a node of 64 CPUs.
bool lets(std::string_view name, const Weights& weights, uint64_t gpu_milli, uint32_t gpus, uint64_t cpus = 1) {
  FilterJob job;
  job.gpu_milli = gpu_milli;
  job.cpus = cpus;
  return (*make_filter(name, weights))->lets_on(job, {gpus, 64, 1'000, {}});
}

TEST(Filters, GpuJobsKeepsTheOthersOffNodesWithGpus) {
  EXPECT_FALSE(lets("gpu_jobs", {}, 0, 8));
  EXPECT_TRUE(lets("gpu_jobs", {}, 0, 0));
  EXPECT_TRUE(lets("gpu_jobs", {}, 1, 8));
}

TEST(Filters, LeastPartKeepsSmallJobsOff) {
  EXPECT_TRUE(lets("least_part", {}, 4'000, 8)) << "half of the GPUs, by default";
  EXPECT_FALSE(lets("least_part", {}, 3'999, 8));
  EXPECT_TRUE(lets("least_part", {}, 0, 0)) << "a node without GPUs";
  EXPECT_TRUE(lets("least_part", {{"gpus", 0}, {"cpus", 0.25}}, 0, 8, 16));
  EXPECT_FALSE(lets("least_part", {{"gpus", 0}, {"cpus", 0.25}}, 8'000, 8, 15));
  EXPECT_EQ((*make_filter("least_part"))->kept_for(), "jobs that can take 50 % of the GPUs of a node");
  EXPECT_EQ((*make_filter("least_part", {{"gpus", 1}, {"cpus", 0.25}}))->kept_for(),
            "jobs that can take 100 % of the GPUs and 25 % of the CPUs of a node");
}

TEST(Filters, WhatHasNoSenseIsRefused) {
  const auto what = [](std::string_view name, const Weights& weights) {
    return make_filter(name, weights).error().text();
  };
  EXPECT_THAT(what("gpu_job", {}), HasSubstr("unknown filter gpu_job (did you mean \"gpu_jobs\"?)"));
  EXPECT_THAT(what("zzz", {}), HasSubstr("one of gpu_jobs, least_part"));
  EXPECT_THAT(what("gpu_jobs", {{"gpus", 1}}), HasSubstr("no weights, but got gpus"));
  EXPECT_THAT(what("least_part", {{"gpu", 1}}), HasSubstr("unknown weight gpu (did you mean \"gpus\"?)"));
  EXPECT_THAT(what("least_part", {{"gpus", 1.5}}), HasSubstr("0 to 1"));
  EXPECT_THAT(what("least_part", {{"gpus", 0}}), HasSubstr("keeps nobody off"));
}

/// Two nodes of eight GPUs.
struct Filtered : Cluster {
  Filtered() : Cluster(2, machine(64, 8, 512'000)) {}
  void filter(const std::string& name, const Weights& weights = {}) {
    PartitionFacts facts = *view.capacity().partition("main");
    facts.filter = {name, weights, {}, {}};
    if (!name.empty()) facts.filter.policy = *make_filter(name, weights);
    apply(PartitionSet{facts});
  }
  std::string ever(const model::Request& r) {
    const auto status = could_ever_run(view.capacity(), *view.capacity().partition("main"), r);
    return status ? "" : status.error().text();
  }
  size_t started() {
    size_t starts = 0;
    for (const Group& group : plan(view, Time{1}, {}).groups)
      for (const Decision& decision : group.decisions) starts += std::holds_alternative<Start>(decision);
    return starts;
  }
};

TEST(Filters, WhoFitsNowhereIsToldForWhomTheNodesAre) {
  Filtered c;
  c.filter("gpu_jobs");
  EXPECT_EQ(c.ever(gang(1, 1)), "");
  EXPECT_EQ(c.ever(tasks(1, 4)),
            "the filter gpu_jobs of partition main keeps its nodes for jobs that ask for GPUs (name another "
            "--partition, or ask for that)");
  model::Request named = tasks(1, 4);
  named.nodelist = {"n1"};
  EXPECT_THAT(c.ever(named), HasSubstr("node n1 of --nodelist is kept for other jobs by the partition's filter"));
}

TEST(Filters, TheMostThatAJobCouldTakeOfANodeCounts) {
  Filtered c;
  c.filter("least_part");
  EXPECT_EQ(c.ever(gang(2, 4)), "");
  EXPECT_NE(c.ever(gang(2, 3)), "");
  model::Request by_task = tasks(4, 1);  // they could all go on one node
  by_task.gpu_counting = model::GpuCounting::kPerTask;
  by_task.gpus = 1;
  EXPECT_EQ(c.ever(by_task), "");
  by_task.nodes_given = by_task.tasks_given = true;
  by_task.min_nodes = by_task.max_nodes = 2;  // three at most, since the other node has one, too
  EXPECT_NE(c.ever(by_task), "");
  model::Request in_all = tasks(1, 1);
  in_all.gpu_counting = model::GpuCounting::kPerJob;
  in_all.gpus = 5;
  EXPECT_EQ(c.ever(in_all), "");
  in_all.gpus = 3;
  EXPECT_NE(c.ever(in_all), "");
  model::Request whole = tasks(1, 1);
  whole.exclusive = true;
  EXPECT_EQ(c.ever(whole), "");
}

TEST(Filters, AFilterThatComesLaterKeepsAJobWaitingUntilItGoes) {
  Filtered c;
  c.apply(JobQueued{pending(1, tasks(1, 4))});
  c.filter("gpu_jobs");
  EXPECT_EQ(c.started(), 0U);
  c.filter("");
  EXPECT_EQ(c.started(), 1U);
}

}  // namespace
}  // namespace gw::sched::testing
