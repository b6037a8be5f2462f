// Elastic gangs in small random clusters that are left to themselves: sizes, room, who grows, and who goes first.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/prop/quota_world.h"
#include "tests/unit/sim/small.h"

namespace gw::prop {
namespace {

using sim::Phase;
using sim::Record;

struct DrawnJob {
  std::string name, qos;
  int64_t tasks = 1, least = 0, gpus = 1;
  bool is_elastic() const { return least > 0; }
};

struct Drawn {
  int64_t nodes = 1, gpus = 1;  // of each node
  std::vector<DrawnJob> jobs;
  std::string text;
};

std::string job_text(const DrawnJob& job, bool runs_for_ever) {
  std::string text =
      fmt::format("  - {{name: {}, qos: {}, tasks: {}, gpus_per_task: {}", job.name, job.qos, job.tasks, job.gpus);
  if (job.is_elastic()) text += fmt::format(", min_tasks: {}", job.least);
  if (one_in(4)) text += fmt::format(", submit: {}m", draw(1, 30));
  if (!runs_for_ever && one_in(2)) text += fmt::format(", run_time: {}m", draw(1, 20));
  if (one_in(6)) text += ", preemptible: false";
  if (one_in(5)) text += fmt::format(", priority: {}", draw(49, 51));
  return text + "}\n";
}

Drawn draw_cluster() {
  Drawn out;
  out.nodes = draw(1, 3);
  out.gpus = draw(1, 6);
  const int64_t all = out.nodes * out.gpus;
  out.text =
      fmt::format("policy: {{grace: {}, preempt: {}}}\nnodes: [{{name: \"n[0-{}]\", gpus: {}, cpus: 64}}]\nqos:\n",
                  one_in(2) ? "1m" : "0s", one_in(2), out.nodes - 1, out.gpus);
  const int64_t tree = draw(1, 3);
  for (int64_t q = 0; q < tree; ++q) {
    out.text += fmt::format("  - {{name: q{}, guaranteed: {{gpu: {}}}", q, draw(0, all / tree));
    if (one_in(4)) out.text += fmt::format(", limit: {{gpu: {}}}", draw(1, all));
    out.text += "}\n";
  }
  out.text += "jobs:\n";
  const int64_t count = draw(1, 7);
  for (int64_t i = 0; i < count; ++i) {
    DrawnJob job{fmt::format("j{}", i), fmt::format("q{}", draw(0, tree - 1)), draw(1, 6), 0, draw(1, 2)};
    if (job.tasks > 1 && one_in(2)) job.least = draw(1, job.tasks - 1);
    out.text += job_text(job, false);
    out.jobs.push_back(job);
  }
  return out;
}

uint64_t gpus_of(const model::Allocation& allocation) { return allocation.total_gpus(); }

uint64_t tasks_of(const model::Allocation& allocation) {
  uint64_t tasks = 0;
  for (const model::NodeShare& share : allocation.shares) tasks += share.tasks;
  return tasks;
}

RC_GTEST_PROP(Elastic, ComeToRestWithinTheirSizesAndTheRoomThereIs, ()) {
  const Drawn drawn = draw_cluster();
  RC_LOG() << drawn.text;
  const auto outcome = sim::run_scenario(sim::testing::scenario_of(drawn.text), sim::testing::no_topologies());
  if (!outcome) RC_FAIL(outcome.error().text());
  std::map<std::string, base::IndexSet> taken;
  for (size_t i = 0; i < drawn.jobs.size(); ++i) {
    const Record& record = outcome->records[i];
    if (record.phase != Phase::kRunning) continue;
    const DrawnJob& job = drawn.jobs[i];
    const auto tasks = static_cast<int64_t>(tasks_of(record.allocation));
    RC_ASSERT(tasks <= job.tasks);
    RC_ASSERT(tasks >= (job.is_elastic() ? job.least : job.tasks));
    RC_ASSERT(static_cast<int64_t>(gpus_of(record.allocation)) == tasks * job.gpus);
    for (const model::NodeShare& share : record.allocation.shares) {
      base::IndexSet both = share.gpus;
      both &= taken[share.name];
      RC_ASSERT(both.empty());
      taken[share.name] |= share.gpus;
    }
  }
}

/// What one gang could still have is idle only if something keeps it from growing.
RC_GTEST_PROP(Elastic, AreAsLargeAsTheRoomAllows, ()) {
  const int64_t nodes = draw(1, 3), gpus = draw(1, 8), each = draw(1, 2);
  DrawnJob gang{"e", "cluster", draw(2, 12), 1, each};
  DrawnJob other{"r", "cluster", draw(1, 4), 0, draw(1, 2)};
  std::string text = fmt::format("nodes: [{{name: \"n[0-{}]\", gpus: {}, cpus: 64}}]\njobs:\n", nodes - 1, gpus);
  const auto line = [](const DrawnJob& j, const std::string& more) {
    return fmt::format("  - {{name: {}, tasks: {}, gpus_per_task: {}{}}}\n", j.name, j.tasks, j.gpus, more);
  };
  text += line(other, ", run_time: 10m") + line(gang, ", min_tasks: 1");
  RC_LOG() << text;
  const auto outcome = sim::run_scenario(sim::testing::scenario_of(text), sim::testing::no_topologies());
  RC_ASSERT(outcome.has_value());
  const Record& record = outcome->records[1];
  const int64_t room = nodes * (gpus / each);
  const bool is_running = record.phase == Phase::kRunning;
  RC_ASSERT(is_running == (room > 0));
  if (is_running) RC_ASSERT(static_cast<int64_t>(tasks_of(record.allocation)) == std::min(gang.tasks, room));
}

/// On one node, where everything is of use to the owner of it all.
RC_GTEST_PROP(Elastic, NoWholeGangGoesWhileThereIsMoreThanTheSmallestSizes, ()) {
  const int64_t count = draw(1, 5);
  std::vector<DrawnJob> jobs;
  std::string text;
  int64_t gpus = 0, spare = 0;
  for (int64_t i = 0; i < count; ++i) {
    DrawnJob job{fmt::format("j{}", i), "lent", draw(1, 5), 0, 1};
    if (job.tasks > 1 && one_in(2)) job.least = draw(1, job.tasks - 1);
    std::string at;
    for (int64_t t = 0; t < job.tasks; ++t) at += t == 0 ? "n0" : ", n0";
    text += fmt::format("  - {{name: {}, qos: lent, state: running, at: [{}], tasks: {}, gpus_per_task: 1{}}}\n",
                        job.name, at, job.tasks, job.is_elastic() ? fmt::format(", min_tasks: {}", job.least) : "");
    gpus += job.tasks;
    if (job.is_elastic()) spare += job.tasks - job.least;
    jobs.push_back(job);
  }
  const int64_t due = draw(1, gpus);
  text = fmt::format(
      "policy: {{grace: {}}}\nnodes: [{{name: n0, gpus: {}, cpus: 64}}]\nqos: [{{name: lent}}, {{name: owner, "
      "guaranteed: {{gpu: {}}}}}]\njobs:\n{}  - {{name: due, qos: owner, gpus_per_task: {}}}\n",
      one_in(2) ? "1m" : "0s", gpus, gpus, text, due);
  RC_LOG() << text;
  const auto outcome = sim::run_scenario(sim::testing::scenario_of(text), sim::testing::no_topologies());
  RC_ASSERT(outcome.has_value());
  RC_ASSERT(outcome->records.back().phase == Phase::kRunning);
  bool is_any_whole = false;
  int64_t given = 0;
  for (size_t i = 0; i < jobs.size(); ++i) {
    is_any_whole |= outcome->records[i].preemptions > 0;
    given += static_cast<int64_t>(outcome->records[i].given_back_milli / model::kWholeGpu);
  }
  RC_ASSERT(is_any_whole == (due > spare));
  if (due <= spare) RC_ASSERT(given == due);
}

}  // namespace
}  // namespace gw::prop
