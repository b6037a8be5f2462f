// Runs a scenario and holds what came of it against what was expected.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "config/scenario.h"
#include "sim/engine.h"

namespace gw::sim {

/// What a scenario came to.
struct ScenarioOutcome {
  std::vector<SimJob> jobs;
  std::vector<Record> records;
  Duration clock = {};  ///< How far it went.
  std::vector<std::string> warnings;
  std::vector<std::string> failures;  ///< One a broken expectation: what was expected, and what came instead.
  bool is_as_expected() const { return failures.empty(); }
};

/// Its jobs as an engine takes them.
std::vector<SimJob> jobs_of(const config::Scenario& scenario, Users& users);

/// Errors, with the place in the file: what build_cluster() refuses, a running job that does not fit, rules that the
/// scheduler does not have yet.
base::Result<ScenarioOutcome> run_scenario(const config::Scenario& scenario, const LoadTopology& load,
                                           const Makers& makers = {});

/// A table of the jobs, and what was expected otherwise.
std::string scenario_text(const config::Scenario& scenario, const ScenarioOutcome& outcome);
/// The same of several scenarios: {"schema_version", "ok", "scenarios": [{"name", "jobs": [...], "failures": [...]}]}.
std::string scenarios_json(const std::vector<config::Scenario>& scenarios,
                           const std::vector<ScenarioOutcome>& outcomes);

}  // namespace gw::sim
