// Fairness over time under the virtual clock: what each QOS has had at the end of a window.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "small.h"

namespace gw::sim {
namespace {

using testing::run;
using testing::seconds_of;

/// 32 GPUs for two days. `large` has gangs of a node that run for hours, and is alone for the first six hours; then
/// come single GPUs and pairs of `small` that run for minutes. Both always have more that waits.
std::string window(const std::string& policy) {
  return "policy: {" + policy + R"(}
nodes: [{name: "n[0-3]", gpus: 8}]
qos: [large, small]
jobs:
  - {name: "l[000-199]", qos: large, gpus_per_task: 8, run_time: 5h}
  - {name: "s[0000-2199]", qos: small, gpus_per_task: 1, run_time: 25m, submit: 6h}
  - {name: "p[0000-1199]", qos: small, gpus_per_task: 2, run_time: 40m, submit: 6h}
until: 48h
)";
}

/// GPU-seconds that jobs whose names begin so have held until the end.
double held(const ScenarioOutcome& o, char letter) {
  double sum = 0;
  for (size_t i = 0; i < o.jobs.size(); ++i) {
    const Record& record = o.records[i];
    if (o.jobs[i].name.front() != letter) continue;
    sum += record.held_gpu_s;
    if (record.phase != Phase::kRunning) continue;
    for (const model::NodeShare& share : record.allocation.shares)
      sum += static_cast<double>(share.gpus.size()) * (48 * 3600 - seconds_of(record.started));
  }
  return sum;
}

/// By how much of the smaller the two differ.
double difference(const ScenarioOutcome& o) {
  const double large = held(o, 'l'), small = held(o, 's') + held(o, 'p');
  return std::abs(large - small) / std::min(large, small);
}

bool someone_waits(const ScenarioOutcome& o, char letter) {
  for (size_t i = 0; i < o.jobs.size(); ++i)
    if (o.jobs[i].name.front() == letter && o.records[i].phase == Phase::kPending) return true;
  return false;
}

TEST(OverTime, EndlessDemandOfEqualWeightEndsWithinTwoPercent) {
  for (const char* reclaim : {"fair_share", "guaranteed", "none"}) {
    const ScenarioOutcome o = run(window(std::string("fairness_over_time: 4, reclaim: ") + reclaim));
    EXPECT_LT(difference(o), 0.02) << reclaim;
    for (char letter : {'l', 's', 'p'}) EXPECT_TRUE(someone_waits(o, letter)) << letter;
  }
}

TEST(OverTime, WithoutItTheFirstIsAhead) {
  const ScenarioOutcome o = run(window(""));
  EXPECT_GT(held(o, 'l'), 1.2 * (held(o, 's') + held(o, 'p')));
  EXPECT_TRUE(someone_waits(o, 's'));
}

}  // namespace
}  // namespace gw::sim
