// Short ways to simulate small things in tests.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "sim/replay.h"
#include "sim/scenario.h"

namespace gw::sim::testing {

inline LoadTopology no_topologies() {
  return [](const std::string& name) -> base::Result<model::NodeTopology> {
    return base::fail(base::ErrorCode::kNotFound, "there is no topology named " + name);
  };
}

inline config::Scenario scenario_of(const std::string& text) {
  auto parsed = config::parse_scenarios(text, "f");
  EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().text());
  return parsed ? parsed->front() : config::Scenario{};
}

inline ScenarioOutcome run(const std::string& text) {
  auto outcome = run_scenario(scenario_of(text), no_topologies());
  EXPECT_TRUE(outcome) << (outcome ? "" : outcome.error().text());
  return outcome ? *outcome : ScenarioOutcome{};
}

inline const Record& record_of(const ScenarioOutcome& outcome, const std::string& name) {
  for (size_t i = 0; i < outcome.jobs.size(); ++i)
    if (outcome.jobs[i].name == name) return outcome.records[i];
  ADD_FAILURE() << "no job " << name;
  static const Record kNone;
  return kNone;
}

inline double seconds_of(Time t) { return static_cast<double>((t - kStart).us) / 1e6; }

struct Replayed {
  std::string cluster = "nodes: [{name: n0, gpus: 8}]";
  std::string trace;
  TraceOptions trace_options = {};
  ReplayOptions options = {};

  base::Result<Replay> run() const {
    GW_TRY(file, config::parse_cluster(cluster, "c"));
    GW_TRY(read, read_trace(trace, "t", trace_options));
    return sim::replay(file.cluster, std::move(read), "t", options, no_topologies());
  }
  Replay result() const {
    auto replay = run();
    EXPECT_TRUE(replay) << (replay ? "" : replay.error().text());
    return replay ? *replay : Replay{};
  }
};

}  // namespace gw::sim::testing
