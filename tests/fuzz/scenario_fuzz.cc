// Scenarios and clusters of `gangway simulate`; the first byte says which.
#include <algorithm>

#include "config/scenario.h"
#include "tests/fuzz/fuzz.h"

namespace gw::fuzz {
namespace {

bool is_known(const config::ScenarioCluster& cluster, const std::string& node) {
  return std::any_of(cluster.nodes.begin(), cluster.nodes.end(), [&](const auto& n) { return n.name == node; });
}

void check_cluster(const config::ScenarioCluster& cluster) {
  FUZZ_CHECK(!cluster.partitions.empty());
  for (const model::Partition& p : cluster.partitions)
    for (const std::string& node : p.nodes) FUZZ_CHECK(is_known(cluster, node));
}

bool scenarios(std::string_view text) {
  const auto all = config::parse_scenarios(text, "x.yaml");
  if (!all) {
    check_error(all.error());
    return false;
  }
  for (const config::Scenario& scenario : *all) {
    check_cluster(scenario.cluster);
    for (const config::ScenarioJob& job : scenario.jobs) {
      FUZZ_CHECK(!job.asks.partitions.empty());
      for (const std::string& node : job.at) FUZZ_CHECK(is_known(scenario.cluster, node));
    }
  }
  return true;
}

bool cluster(std::string_view text) {
  const auto file = config::parse_cluster(text, "x.yaml");
  if (!file) {
    check_error(file.error());
    return false;
  }
  check_cluster(file->cluster);
  return true;
}

bool run(std::string_view input) {
  Input in(input);
  const bool is_cluster = in.line() == "cluster";
  const std::string_view text = in.rest();
  return is_cluster ? cluster(text) : scenarios(text);
}

GW_FUZZ_TARGET("scenario", run, nullptr);

}  // namespace
}  // namespace gw::fuzz
