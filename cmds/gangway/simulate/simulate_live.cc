// gangway simulate --from-live [FILE]: replays the controller's latest pass from a snapshot, and looks ahead.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/counted.h"
#include "base/hostlist.h"
#include "base/text.h"
#include "cmds/gangway/shared/ask_controller.h"
#include "cmds/gangway/simulate/simulate.h"
#include "forecast/forward.h"
#include "plugin/policies.h"
#include "snapshot/snapshot.h"

namespace gw::cmds {
namespace {

using base::Result;
using nlohmann::json;
using snapshot::Snapshot;

/// What the replay came to.
struct Verdict {
  std::vector<std::string> daemon, replay;  // decisions, a line each
  std::string hash;                         // of the replay's
  bool is_same = false;
};

Result<std::string> ask_for_snapshot(const client::Program& program) {
  wire::ApiRequest request;
  request.mutable_take_snapshot();
  GW_TRY(reply, ask_controller(program, request));
  std::string bytes;
  for (const std::string& piece : reply.snapshot().pieces()) bytes += piece;
  return bytes;
}

Result<Verdict> replay(const Snapshot& snapshot) {
  GW_TRY(view, sched::restore_view(snapshot.input));
  const sched::Plan plan = sched::plan(*view, snapshot.input.now, snapshot.input.budget);
  Verdict v;
  v.daemon = snapshot::decision_lines(snapshot.input, snapshot.plan);
  v.replay = snapshot::decision_lines(snapshot.input, plan);
  v.hash = snapshot::plan_hash(plan);
  v.is_same = v.hash == snapshot.plan_hash;
  return v;
}

Result<std::vector<forecast::JobForecast>> ahead(const Snapshot& snapshot) {
  GW_TRY(view, sched::restore_view(snapshot.input));
  return forecast::look_ahead(snapshot.input, *view);
}

// ---- Text

std::string head_text(const Snapshot& s) {
  return fmt::format("cluster {} at {}, gctld {}: {}, {} running, {} pending, order {}\ninput {}\n", s.cluster,
                     base::format_time(s.input.now), s.version, base::counted(s.input.nodes.size(), "node"),
                     base::counted(s.input.running.size(), "job"), s.input.queue.size(), s.input.order, s.input_hash);
}

/// Lines that only one side has, each with its sign; equal lines once, indented.
std::string difference_text(const Verdict& v) {
  std::vector<std::string> daemon = v.daemon, replay = v.replay, both;
  std::sort(daemon.begin(), daemon.end());
  std::sort(replay.begin(), replay.end());
  std::set_intersection(daemon.begin(), daemon.end(), replay.begin(), replay.end(), std::back_inserter(both));
  const auto lines = [&both](const std::vector<std::string>& from, char sign) {
    std::vector<std::string> rest = both;
    std::string out;
    for (const std::string& line : from) {
      const auto it = std::find(rest.begin(), rest.end(), line);
      if (it == rest.end())
        out += fmt::format("  {} {}\n", sign, line);
      else
        rest.erase(it);
    }
    return out;
  };
  std::string out = lines(v.daemon, '-') + lines(v.replay, '+');
  return out.empty() ? "  only their sequence or the time of the next pass differs\n" : out;
}

std::string verdict_text(const Snapshot& s, const Verdict& v) {
  std::string out;
  if (v.is_same) {
    for (const std::string& line : v.replay) out += "  " + line + "\n";
    return out + fmt::format("the daemon took the same decisions: {}\n", v.hash);
  }
  out += difference_text(v);
  return out + fmt::format("the daemon decided otherwise (-) than the replay (+): {}, not {}\n", s.plan_hash, v.hash);
}

std::string when_text(base::Time t) { return t ? base::format_time(t) : "-"; }

std::string forecast_text(const std::vector<forecast::JobForecast>& forecasts) {
  std::string out = fmt::format("{:>10}  {:>8}  {:<10}  {:>5}  {:<19}  {:<19}  {}\n", "JOB", "UID", "QOS", "GPUS",
                                "START", "END", "NODES OR WHY NOT");
  for (const forecast::JobForecast& f : forecasts)
    if (!f.ran_at_start)
      out += fmt::format("{:>10}  {:>8}  {:<10}  {:>5}  {:<19}  {:<19}  {}\n", f.id.value, f.uid, f.qos, f.gpus,
                         when_text(f.started), when_text(f.ended),
                         f.started ? base::compress_hostlist(f.nodes) : base::printable(f.why));
  return out;
}

// ---- JSON

json forecast_json(const forecast::JobForecast& f) {
  json j = {{"job_id", f.id.value},    {"uid", f.uid},     {"qos", f.qos},
            {"gpus", f.gpus},          {"nodes", f.nodes}, {"preemptions", f.preemptions},
            {"partition", f.partition}};
  j["start"] = f.started ? json(f.started.seconds()) : json(nullptr);
  j["end"] = f.ended ? json(f.ended.seconds()) : json(nullptr);
  if (!f.started) j["why"] = base::printable(f.why);
  return j;
}

std::string live_json(const Snapshot& s, const Verdict& v, const std::vector<forecast::JobForecast>* forecasts) {
  json out = {{"schema_version", 1},
              {"cluster", s.cluster},
              {"version", s.version},
              {"time", s.input.now.seconds()},
              {"order", s.input.order},
              {"nodes", s.input.nodes.size()},
              {"running", s.input.running.size()},
              {"pending", s.input.queue.size()},
              {"input_hash", s.input_hash},
              {"same", v.is_same},
              {"daemon", {{"hash", s.plan_hash}, {"decisions", v.daemon}}},
              {"replay", {{"hash", v.hash}, {"decisions", v.replay}}}};
  if (forecasts != nullptr) {
    out["forecast"] = json::array();
    for (const forecast::JobForecast& f : *forecasts)
      if (!f.ran_at_start) out["forecast"].push_back(forecast_json(f));
  }
  return out.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

int wrong(const client::Program& program, const base::Error& error) {
  client::print_error(program, error);
  return kExitWrongInput;
}

void tell_other_version(const client::Program& program, const std::string& plugin, const std::string& there,
                        const std::string& here) {
  if (there != here)
    client::print_note(program, fmt::format("warning: the controller had version {} of {}, here is {}",
                                            base::printable(there), base::printable(plugin), here));
}

}  // namespace

Result<Snapshot> load_snapshot(const client::Program& program, const SimulateOptions& options) {
  GW_TRY(bytes, options.live_file.empty()  ? ask_for_snapshot(program)
                : options.live_file == "-" ? read_standard_input()
                                           : read_input(options.live_file));
  GW_TRY(snapshot, snapshot::decode(bytes));
  sched::PassInput& input = snapshot.input;
  const std::string version = input.policy.order_version;
  const sched::Weights weights = input.policy.order_weights;
  GW_TRY_STATUS(orders_of(options).set(input.policy, input.order, weights));
  tell_other_version(program, "order " + input.order, version, input.policy.order_version);
  if (sched::ChosenShare& share = input.policy.share; !share.name.empty()) {
    GW_TRY(chosen, plugin::load_share(folders_of(options), share.name, share.weights));
    tell_other_version(program, "share policy " + share.name, share.version, chosen.version);
    share = std::move(chosen);
  }
  for (sched::PartitionFacts& p : input.partitions) {
    if (p.filter.name.empty()) continue;
    GW_TRY(chosen, plugin::load_filter(folders_of(options), p.filter.name, p.filter.weights));
    tell_other_version(program, "filter " + p.filter.name, p.filter.version, chosen.version);
    p.filter = std::move(chosen);
  }
  for (sched::PoolOrders* own : {&input.policy.pool_orders, &input.policy.qos_orders}) {
    for (auto& [name, pool] : *own) {
      GW_TRY(chosen, orders_of(options).choose(pool.name, pool.weights));
      tell_other_version(program, "order " + pool.name, pool.version, chosen.version);
      pool = std::move(chosen);
    }
  }
  return std::move(snapshot);
}

int run_live(const client::Program& program, const SimulateOptions& options) {
  const auto snapshot = load_snapshot(program, options);
  if (!snapshot) return wrong(program, snapshot.error());
  const auto verdict = replay(*snapshot);
  if (!verdict) return wrong(program, verdict.error());
  std::optional<std::vector<forecast::JobForecast>> forecasts;
  if (options.forward) {
    auto made = ahead(*snapshot);
    if (!made) return wrong(program, made.error());
    forecasts = std::move(*made);
  }
  std::string text;
  if (options.json) {
    text = live_json(*snapshot, *verdict, forecasts ? &*forecasts : nullptr);
  } else {
    text = head_text(*snapshot) + verdict_text(*snapshot, *verdict);
    if (forecasts) text += forecast_text(*forecasts);
  }
  if (!client::print_out(text)) return kExitUnexpected;
  return verdict->is_same ? client::kExitOk : kExitUnexpected;
}

}  // namespace gw::cmds
