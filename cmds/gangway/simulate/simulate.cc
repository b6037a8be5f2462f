// gangway simulate --scenario FILE..., --cluster FILE --trace FILE, and --from-live [FILE] (simulate_live.cc).
#include "cmds/gangway/simulate/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <ctime>

#include "base/text.h"
#include "cmds/gangway/simulate/simulate_progress.h"
#include "config/scenario.h"
#include "sched/queue/order.h"
#include "sim/scenario.h"

namespace gw::cmds {
namespace {

using base::Status;
using client::Option;

const client::CommandDoc kDoc = {
    "run the scheduler over a scenario or a trace, under a virtual clock",
    "--scenario FILE... | --cluster FILE --trace FILE | --from-live [FILE]",
    "Runs the controller's own scheduler; nothing else decides. With --scenario it reads small situations, lets the "
    "scheduler run, prints a line for each job, and compares with what the file expects. With --trace it replays a "
    "trace "
    "of jobs (CSV) on a cluster and prints what came of it: completion times, waits, utilisation, fragmentation, "
    "preemptions, fairness. With --from-live it takes a snapshot of the running controller (or one that gcontrol "
    "snapshot wrote), makes the controller's last decisions once more, and says whether they are the same.\n\nWith "
    "--compare the same "
    "jobs run once more under other rules, and it says who gains and who loses.\n\nThe files are described in "
    "docs/scenario.md. Equal input gives equal output.",
    {{"0", "done; every expectation held"},
     {"1",
      "an expectation did not hold (each is named), the controller decided otherwise, or the output could not be "
      "written"},
     {"2", "a file is wrong (FILE:LINE:COLUMN), or an option is"}},
    {},
    {{"gangway simulate --scenario tests/scenario/*.yaml", "check that the scheduler does what the files say"},
     {"gangway simulate --cluster cluster.yaml --trace jobs.csv --order srtf --out result",
      "replay a trace, with charts in result/"},
     {"gangway simulate --cluster cluster.yaml --trace philly.csv --trace-format philly --fit count",
      "a public trace, GPUs counted wherever they are"},
     {"gangway simulate --cluster cluster.yaml --trace jobs.csv --sweep nodes=40..60:5",
      "how long would the same jobs wait on 40, 45, ... 60 nodes?"},
     {"gangway simulate --from-live --forward", "when will the waiting jobs start at the latest?"}},
    {},
};

Option value_option(std::string_view name, std::string_view value, std::string_view help, client::Handler handler) {
  Option o;
  o.name = name;
  o.arg = client::Arg::kRequired;
  o.value = value;
  o.help = help;
  o.handler = std::move(handler);
  return o;
}

Status set_scale(std::string_view text, std::optional<double>& scale) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || at != end || !std::isfinite(value) || value <= 0)
    return base::invalid(fmt::format("--scale-time: \"{}\" is not a number above 0", base::printable(text)),
                         "0.001 for times in milliseconds");
  scale = value;
  return {};
}

Status set_cost(std::string_view text, base::Duration& cost) {
  const auto parsed = base::parse_duration(text);
  const bool is_bare = text.find_first_not_of("0123456789") == std::string_view::npos && text != "0";
  if (!parsed || is_bare || *parsed == base::kUnlimited)
    return base::invalid(fmt::format("--preempt-cost: \"{}\" is not a length of time", base::printable(text)),
                         "write it with its unit, such as 30s");
  cost = *parsed;
  return {};
}

Status set_every(std::string_view text, uint32_t& every) {
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, every);
  if (error == std::errc() && at == end && every > 0) return {};
  return base::invalid(fmt::format("--estimate: \"{}\" is not a number above 0", base::printable(text)),
                       "1 tells every job, 10 one of ten");
}

/// "age=1000,size=5"
Status set_weights(std::string_view text, sched::Weights& weights) {
  for (const std::string& word : base::split(text, ',')) {
    const size_t at = word.find('=');
    double value = 0;
    const char *from = word.data() + std::min(word.size(), at + 1), *end = word.data() + word.size();
    const auto [stop, error] = std::from_chars(from, end, value);
    if (at == std::string::npos || at == 0 || error != std::errc() || stop != end || !std::isfinite(value))
      return base::invalid(fmt::format("--order-weights: \"{}\" is not a name and a number", base::printable(word)),
                           "write age=1000,size=500");
    if (!weights.emplace(word.substr(0, at), value).second)
      return base::invalid(fmt::format("--order-weights: {} stands twice", base::printable(word.substr(0, at))),
                           "leave one");
  }
  return {};
}

void add_trace_options(std::vector<Option>& table, SimulateOptions& o) {
  table.push_back(text_option("cluster", 0, "FILE", "YAML file of the cluster that the trace runs on", o.cluster));
  table.push_back(text_option("trace", 0, "FILE", "CSV file of jobs", o.trace));
  table.push_back(text_option("trace-format", 0, "NAME",
                              "gangway (default), philly, muri, tiresias, openb, swf or helios",
                              o.trace_options.format));
  table.push_back(value_option("map", "COLUMN=NAME", "the file calls our COLUMN by NAME; may be repeated",
                               [&o](std::string_view v) { return sim::parse_column_map(v, o.trace_options.map); }));
  table.push_back(value_option("scale-time", "FACTOR", "seconds in a unit of the file's times: 0.001 for milliseconds",
                               [&o](std::string_view v) { return set_scale(v, o.trace_options.scale_time); }));
  table.push_back(flag("skip-bad", 0, "leave bad rows out instead of refusing the file", o.trace_options.skip_bad));
}

void add_policy_options(std::vector<Option>& table, SimulateOptions& o) {
  table.push_back(text_option("plugins", 0, "DIR", "folder of orders that are not the project's own", o.plugins));
  table.push_back(
      text_option("order", 0, "NAME", "order of the jobs, instead of the cluster's policy.order", o.replay.order));
  table.push_back(value_option("order-weights", "NAME=NUMBER,...", "weights of that order, instead of the cluster's",
                               [&o](std::string_view v) { return set_weights(v, o.replay.order_weights); }));
  table.push_back(
      text_option("fit", 0, "NAME", "best, worst, spread, or count: GPUs are counted wherever they are", o.replay.fit));
  table.push_back(text_option("rate-model", 0, "NAME",
                              "how fast jobs get on by size and company, instead of the cluster's policy.rate_model",
                              o.replay.rate_model));
  table.push_back(value_option("preempt-cost", "TIME", "what each restart of a preempted job adds to its run (0s)",
                               [&o](std::string_view v) { return set_cost(v, o.replay.preempt_cost); }));
  table.push_back(value_option("estimate", "N", "tell every Nth job when it will start, and say how true that came",
                               [&o](std::string_view v) { return set_every(v, o.replay.estimate_every); }));
  table.push_back(flag("lose-work", 0, "preempted jobs start again from zero", o.replay.lose_work));
}

std::vector<Option> option_table(SimulateOptions& o) {
  std::vector<Option> table;
  table.push_back(value_option("scenario", "FILE", "scenarios to run; more files may follow as arguments",
                               [&o](std::string_view v) {
                                 o.scenarios.emplace_back(v);
                                 return Status{};
                               }));
  Option live =
      flag("from-live", 0, "replay the controller's last pass, from a snapshot FILE (-: standard input) or a new one",
           o.from_live);
  live.arg = client::Arg::kOptional;
  live.value = "FILE";
  live.handler = [&o](std::string_view v) {
    o.from_live = true;
    o.live_file = v;
    return Status{};
  };
  table.push_back(std::move(live));
  table.push_back(flag("forward", 0, "and look ahead until every job has started and reached its limit", o.forward));
  add_trace_options(table, o);
  add_policy_options(table, o);
  table.push_back(text_option("compare", 0, "NEW.yaml",
                              "run once more with the keys of NEW.yaml laid over; who gains, who loses", o.compare));
  table.push_back(value_option("sweep", "nodes=A..B[:STEP]", "replay on clusters of A to B nodes, a line for each size",
                               [&o](std::string_view v) -> Status {
                                 GW_TRY(sweep, sim::parse_sweep(v));
                                 o.sweep = sweep;
                                 return {};
                               }));
  table.push_back(text_option("out", 0, "DIR", "write jobs.csv, summary.json and SVG charts there", o.out));
  table.push_back(flag("json", 0, "as JSON, with schema_version", o.json));
  return table;
}

Status check_options(const SimulateOptions& o) {
  const bool has_trace = !o.trace.empty() || !o.cluster.empty();
  if (o.sweep && (!o.compare.empty() || !o.out.empty()))
    return base::invalid("--sweep prints alone: neither --compare nor --out goes with it", "leave one of them out");
  if (o.sweep && (o.from_live || !o.scenarios.empty()))
    return base::invalid("--sweep replays a trace on clusters of several sizes",
                         "give --cluster FILE and --trace FILE");
  if (!o.replay.order_weights.empty() && (o.from_live || !o.scenarios.empty()))
    return base::invalid("--order-weights goes with --trace",
                         "write policy: {order_weights: {NAME: NUMBER}} to the file");
  if (!o.replay.rate_model.empty() && (o.from_live || !o.scenarios.empty()))
    return base::invalid("--rate-model goes with --trace", "write policy: {rate_model: NAME} to the scenario");
  if (o.from_live && (has_trace || !o.scenarios.empty() || !o.out.empty()))
    return base::invalid("--from-live goes with neither --scenario nor --trace", "give one of them");
  if (!o.compare.empty() && !o.out.empty()) return base::invalid("--compare prints alone: --out does not go with it");
  if (!o.compare.empty() && o.forward) return base::invalid("--compare looks ahead by itself: leave --forward out");
  if (o.from_live && !o.replay.order.empty())
    return base::invalid("--order goes with --trace; a snapshot is replayed as the controller was",
                         "write policy: {order: NAME} to a file and give it as --compare FILE");
  if (o.forward && !o.from_live) return base::invalid("--forward needs --from-live: it looks ahead from there");
  if (o.from_live) return {};
  if (!o.scenarios.empty() && has_trace)
    return base::invalid("--scenario and --trace are two different things", "give one of them");
  if (o.scenarios.empty() && !has_trace)
    return base::invalid("nothing to simulate", "give --scenario FILE, or --cluster FILE and --trace FILE");
  if (o.scenarios.empty() && o.cluster.empty())
    return base::invalid("--trace needs --cluster: the nodes that the jobs run on");
  if (o.scenarios.empty() && o.trace.empty()) return base::invalid("--cluster needs --trace: the jobs");
  if (!o.scenarios.empty() && !o.out.empty()) return base::invalid("--out is for traces");
  return {};
}

void warn(const client::Program& program, const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) client::print_note(program, "warning: " + warning);
}

int wrong(const client::Program& program, const base::Error& error) {
  client::print_error(program, error);
  return kExitWrongInput;
}

}  // namespace

int run_scenarios(const client::Program& program, const SimulateOptions& options) {
  std::vector<config::Scenario> scenarios;
  std::vector<sim::ScenarioOutcome> outcomes;
  std::string text;
  bool is_wrong = false;
  for (const std::string& path : options.scenarios) {
    const auto content = read_input(path);
    if (!content) return wrong(program, content.error());
    auto parsed = config::parse_scenarios(*content, path);
    if (!parsed) {
      client::print_error(program, parsed.error());
      is_wrong = true;
      continue;
    }
    for (config::Scenario& scenario : *parsed) {
      warn(program, scenario.warnings);
      auto outcome = sim::run_scenario(scenario, topology_loader(path), makers_of(options));
      if (!outcome) {
        client::print_error(program, outcome.error());
        is_wrong = true;
        continue;
      }
      warn(program, outcome->warnings);
      text += sim::scenario_text(scenario, *outcome);
      scenarios.push_back(std::move(scenario));
      outcomes.push_back(std::move(*outcome));
    }
  }
  if (!client::print_out(options.json ? sim::scenarios_json(scenarios, outcomes) : text)) return kExitUnexpected;
  if (is_wrong) return kExitWrongInput;
  for (const sim::ScenarioOutcome& outcome : outcomes)
    if (!outcome.is_as_expected()) return kExitUnexpected;
  return client::kExitOk;
}

int run_replay(const client::Program& program, const SimulateOptions& options) {
  const auto cluster_text = read_input(options.cluster);
  if (!cluster_text) return wrong(program, cluster_text.error());
  const auto file = config::parse_cluster(*cluster_text, options.cluster);
  if (!file) return wrong(program, file.error());
  warn(program, file->warnings);
  const auto trace_text = read_input(options.trace);
  if (!trace_text) return wrong(program, trace_text.error());
  auto trace = sim::read_trace(*trace_text, options.trace, options.trace_options);
  if (!trace) return wrong(program, trace.error());
  const ProgressLine progress;
  sim::ReplayOptions replay_options = options.replay;
  replay_options.tell = progress.teller();
  const auto replay = sim::replay(file->cluster, std::move(*trace), options.trace, replay_options,
                                  topology_loader(options.cluster), makers_of(options));
  progress.clear();
  if (!replay) return wrong(program, replay.error());
  warn(program, replay->warnings);
  if (!options.out.empty()) {
    if (const auto written = write_outputs(*replay, options.out); !written) return failed(program, written.error());
  }
  const std::string text = options.json ? sim::replay_json(*replay) : sim::replay_text(*replay);
  return client::print_out(text) ? client::kExitOk : client::kExitFailed;
}

int simulate_verb(const Invocation& call) {
  SimulateOptions options;
  std::vector<std::string> operands;
  if (const auto code = parse_verb(call, kDoc, option_table(options), operands))
    return *code == client::kExitOk ? client::kExitOk : kExitWrongInput;
  if (!options.scenarios.empty())
    options.scenarios.insert(options.scenarios.end(), operands.begin(), operands.end());
  else if (options.from_live && options.live_file.empty() && operands.size() == 1)
    options.live_file = operands[0];
  else if (!operands.empty())
    return wrong(call.program, {base::ErrorCode::kInvalid, "what is " + base::printable(operands[0]) + "?",
                                "write --scenario before the first file"});
  if (const auto ok = check_options(options); !ok) return wrong(call.program, ok.error());
  if (options.from_live)
    return options.compare.empty() ? run_live(call.program, options) : run_compare(call.program, options);
  setenv("TZ", "UTC0", 1);  // Times in explanations count from the start, wherever this runs.
  tzset();
  if (!options.compare.empty()) return run_compare(call.program, options);
  if (options.sweep) return run_sweep(call.program, options);
  return options.scenarios.empty() ? run_replay(call.program, options) : run_scenarios(call.program, options);
}

}  // namespace gw::cmds
