// gangway simulate ... --compare NEW.yaml: the same jobs under other rules; who gains, who loses.
#include <fmt/format.h>

#include "base/text.h"
#include "cmds/gangway/simulate/simulate.h"
#include "config/merge.h"
#include "config/scenario.h"
#include "sim/compare.h"
#include "sim/scenario.h"

namespace gw::cmds {
namespace {

using base::Result;
using sim::Stay;

/// What both runs have come to: before, after.
using Runs = std::pair<std::vector<Stay>, std::vector<Stay>>;

/// The file with the keys of NEW laid over it. Places in messages then belong to the merged text.
struct Texts {
  std::string old_text, new_text, new_path;
};

Result<Texts> read_texts(const std::string& path, const std::string& compare) {
  GW_TRY(old_text, read_input(path));
  GW_TRY(over, read_input(compare));
  GW_TRY(merged, config::merge_yaml(old_text, over, compare));
  return Texts{old_text, merged, fmt::format("{} laid over {}", compare, path)};
}

Result<std::vector<Stay>> run_one(const std::string& text, const std::string& path, const SimulateOptions& options) {
  GW_TRY(scenarios, config::parse_scenarios(text, path));
  if (scenarios.size() != 1) return base::invalid(path + ": --compare takes a file with one scenario");
  GW_TRY(outcome, sim::run_scenario(scenarios[0], topology_loader(options.scenarios[0]), makers_of(options)));
  std::vector<std::string> users;
  for (const config::ScenarioJob& job : scenarios[0].jobs) users.push_back(job.user);
  return sim::stays_of(outcome.jobs, outcome.records, users);
}

Result<Runs> compare_scenarios(const SimulateOptions& options) {
  if (options.scenarios.size() != 1) return base::invalid("--compare takes one scenario");
  GW_TRY(texts, read_texts(options.scenarios[0], options.compare));
  GW_TRY(before, run_one(texts.old_text, options.scenarios[0], options));
  GW_TRY(after, run_one(texts.new_text, texts.new_path, options));
  return Runs{std::move(before), std::move(after)};
}

Result<std::vector<Stay>> replay_one(const std::string& text, const std::string& path, const sim::Trace& trace,
                                     const SimulateOptions& options) {
  GW_TRY(file, config::parse_cluster(text, path));
  GW_TRY(replay, sim::replay(file.cluster, trace, options.trace, options.replay, topology_loader(options.cluster),
                             makers_of(options)));
  std::vector<std::string> users;
  for (const sim::TraceJob& job : trace.jobs) users.push_back(job.user);
  return sim::stays_of(replay.engine->jobs(), replay.engine->records(), users);
}

Result<Runs> compare_replays(const SimulateOptions& options) {
  GW_TRY(texts, read_texts(options.cluster, options.compare));
  GW_TRY(trace_text, read_input(options.trace));
  GW_TRY(trace, sim::read_trace(trace_text, options.trace, options.trace_options));
  GW_TRY(before, replay_one(texts.old_text, options.cluster, trace, options));
  GW_TRY(after, replay_one(texts.new_text, texts.new_path, trace, options));
  return Runs{std::move(before), std::move(after)};
}

bool has_key(std::string_view yaml, std::string_view key) {
  for (const std::string& line : base::split(yaml, '\n'))
    if (std::string_view(line).starts_with(fmt::format("{}:", key))) return true;
  return false;
}

/// The snapshot's cluster under the policy and partitions of NEW; the rest of it stays.
base::Status lay_over(sched::PassInput& input, const SimulateOptions& options) {
  GW_TRY(over, read_input(options.compare));
  for (const std::string_view key : {"nodes", "network", "qos", "reservations"})
    if (has_key(over, key))
      return base::invalid(fmt::format("{}: {} cannot be compared from a snapshot", options.compare, key),
                           "give policy, partitions or both");
  std::string text = over + "\nnodes: [";
  for (const sched::NodeFacts& node : input.nodes) text += fmt::format("\"{}\", ", node.name);
  GW_TRY(file, config::parse_cluster(text + "]\n", options.compare));
  sim::Users users;
  GW_TRY(cluster, sim::build_cluster(file.cluster, topology_loader(options.compare), users, makers_of(options)));
  if (has_key(over, "partitions")) {
    input.partitions = cluster.partitions;
    input.policy.pool_orders = cluster.policy.pool_orders;
  }
  const config::ScenarioPolicy& written = file.cluster.policy;
  if (written.order || !written.order_weights.empty()) {
    input.policy.order = cluster.policy.order;
    input.policy.order_weights = written.order_weights;
    input.order = cluster.policy.order->name();
  }
  if (written.share || !written.share_weights.empty()) input.policy.share = cluster.policy.share;
  if (written.rate_model)
    return base::invalid(fmt::format("{}: a snapshot has no rate model", options.compare), "leave out rate_model");
  if (written.fit != model::Fit::kDefault) input.policy.fit = cluster.policy.fit;
  if (written.reservations) input.policy.max_planned_starts = *written.reservations;
  if (written.candidates) input.policy.candidates = *written.candidates;
  if (written.quantum) input.policy.quantum = *written.quantum;
  if (written.grace) input.policy.grace = *written.grace;
  if (written.reclaim_delay_max) input.policy.reclaim_delay_max = *written.reclaim_delay_max;
  if (written.preemptions_per_hour) input.policy.preemptions_per_hour = *written.preemptions_per_hour;
  if (written.patience) input.policy.patience = *written.patience;
  if (written.fairness_over_time) input.policy.fairness_over_time = *written.fairness_over_time;
  return {};
}

Result<std::vector<Stay>> ahead(const sched::PassInput& input) {
  GW_TRY(view, sched::restore_view(input));
  GW_TRY(forecasts, forecast::look_ahead(input, *view));
  return sim::stays_of(forecasts);
}

Result<Runs> compare_live(const client::Program& program, const SimulateOptions& options) {
  GW_TRY(snapshot, load_snapshot(program, options));
  GW_TRY(before, ahead(snapshot.input));
  GW_TRY_STATUS(lay_over(snapshot.input, options));
  GW_TRY(after, ahead(snapshot.input));
  return Runs{std::move(before), std::move(after)};
}

}  // namespace

int run_compare(const client::Program& program, const SimulateOptions& options) {
  const auto runs = options.from_live           ? compare_live(program, options)
                    : options.scenarios.empty() ? compare_replays(options)
                                                : compare_scenarios(options);
  if (!runs) {
    client::print_error(program, runs.error());
    return kExitWrongInput;
  }
  const sim::Comparison comparison = sim::compare(runs->first, runs->second);
  const std::string text = options.json ? sim::comparison_json(comparison) : sim::comparison_text(comparison);
  return client::print_out(text) ? client::kExitOk : kExitUnexpected;
}

}  // namespace gw::cmds
