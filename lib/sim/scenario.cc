// See scenario.h.
#include "sim/scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/hostlist.h"
#include "base/text.h"
#include "sim/expect.h"

namespace gw::sim {
namespace {

using config::Scenario;
using config::ScenarioJob;
using nlohmann::ordered_json;

// ---- Output

std::string nodes_of(const Record& record) {
  if (!has_place(record)) return "-";
  std::vector<std::string> nodes = record.allocation.node_names();
  for (const model::Allocation& part : record.components)
    for (const std::string& node : part.node_names()) nodes.push_back(node);
  std::vector<std::string> sorted = nodes;
  base::sort_hostlist(sorted);
  return sorted.empty() ? "-" : base::compress_hostlist(sorted);
}

std::string time_of(Time t) { return t ? format_offset(t - kStart) : "-"; }

ordered_json allocation_json(const model::Allocation& allocation) {
  ordered_json shares = ordered_json::array();
  for (const model::NodeShare& share : allocation.shares)
    shares.push_back({{"node", share.name},
                      {"tasks", share.tasks},
                      {"cpus", share.cpus},
                      {"cores", share.cores.text()},
                      {"gpus", share.gpus.text()},
                      {"gpu_milli", share.gpu_milli},
                      {"memory_mb", share.mem_mb}});
  return shares;
}

ordered_json seconds_json(Time t) {
  return t ? ordered_json(static_cast<double>((t - kStart).us) / 1e6) : ordered_json(nullptr);
}

ordered_json job_json(const SimJob& job, const Record& record) {
  const bool is_placed = has_place(record);
  ordered_json out = {{"name", job.name}, {"state", std::string(name(phase_of(record)))}};
  out["at"] = is_placed ? ordered_json(task_nodes(record.allocation)) : ordered_json::array();
  out["partition"] = is_placed ? record.partition : "";
  out["submitted_s"] = seconds_json(record.submitted);
  out["started_s"] = seconds_json(record.started);
  out["ended_s"] = seconds_json(record.ended);
  out["waited_s"] = static_cast<double>(record.waited.us) / 1e6;
  out["evicted"] = is_evicted(record);
  out["preemptions"] = record.preemptions;
  out["moves"] = record.moves;
  out["why"] = record.why;
  out["allocation"] = is_placed ? allocation_json(record.allocation) : ordered_json::array();
  if (!record.components.empty()) {
    out["components"] = ordered_json::array();
    for (const model::Allocation& part : record.components) out["components"].push_back(allocation_json(part));
  }
  return out;
}

// ---- Jobs

/// As the controller tells the scheduler: what cannot be suspended is requeued instead.
void set_on_preempt(const ScenarioJob& written, SimJob& job) {
  using model::OnPreempt;
  const bool is_plain = written.components.empty() && written.min_tasks == 0 && written.reservation.empty();
  job.saves_work = written.on_preempt == OnPreempt::kCheckpoint;
  job.ends_preempted = written.on_preempt == OnPreempt::kCancel;
  job.job.may_move = !job.ends_preempted;
  job.job.saves_work = job.saves_work;
  if (written.on_preempt == OnPreempt::kSuspend && is_plain) job.job.suspends = sched::Suspends::kAtOnce;
  if (!job.saves_work && is_plain) job.job.between_turns = sched::Suspends::kAtOnce;
}

}  // namespace

std::vector<SimJob> jobs_of(const Scenario& scenario, Users& users) {
  std::vector<SimJob> jobs;
  const auto count = static_cast<int64_t>(scenario.jobs.size());
  for (const ScenarioJob& written : scenario.jobs) {
    const int64_t index = static_cast<int64_t>(jobs.size());
    SimJob job;
    job.name = written.name;
    job.work = written.run_time;
    job.told = written.told_time;
    if (job.told) job.job.remaining = *job.told;
    job.stages = written.stages;
    sched::PendingJob& p = job.job;
    p.request = written.asks.request;
    if (written.min_tasks > 0) {
      p.request.elastic = true;
      p.request.min_tasks = written.min_tasks;
      p.most_tasks = p.request.tasks;
      p.request = model::least_of(p.request);
    }
    p.partitions = written.asks.partitions;
    p.qos = written.qos;
    p.uid = users.id(written.user);
    p.priority = written.priority;
    p.nice = written.nice;
    p.time_limit = written.time_limit;
    p.scaling = written.scaling;
    p.time_min = written.time_min;
    if (written.deadline) p.deadline = kStart + *written.deadline;
    p.reservation = written.reservation;
    p.preemptible = written.preemptible;
    set_on_preempt(written, job);
    for (const config::ScenarioRequest& part : written.components)
      p.components.push_back({{}, part.request, part.partitions});
    // Those that run started before the clock did, in the order of the file.
    const Duration started = written.started.value_or(base::microseconds(index - count));
    job.after = written.dependency;
    job.line = written.line;
    job.throttle = written.throttle;
    if (written.is_running()) job.running = SimJob::Running{written.at, kStart + started};
    p.submitted = kStart + written.submit.value_or(written.is_running() ? started : Duration{});
    p.eligible = p.submitted;
    jobs.push_back(std::move(job));
  }
  return jobs;
}

namespace {

/// As the controller refuses it: where jobs take turns, one that never yields would keep the GPUs of the others.
base::Status check_turns(const Cluster& cluster, const std::vector<SimJob>& jobs) {
  const sched::Policy& policy = cluster.policy;
  const sched::Orders orders(policy.order, policy.pool_orders, {}, {}, policy.qos_orders);
  for (const SimJob& job : jobs) {
    const bool has_turns = job.job.components.empty() && job.job.most_tasks == 0 && job.job.reservation.empty();
    if (has_turns || job.saves_work) continue;
    for (const std::string& partition : job.job.partitions)
      if (orders.takes_turns(partition))
        return base::invalid(
            fmt::format("job {}: jobs of partition {} take turns, and this one cannot be suspended: it "
                        "has several components, is elastic, or is in a reservation",
                        job.name, partition),
            "write on_preempt: checkpoint, or another partition");
  }
  return {};
}

}  // namespace

base::Result<ScenarioOutcome> run_scenario(const Scenario& scenario, const LoadTopology& load, const Makers& makers) {
  Users users;
  GW_TRY(cluster, build_cluster(scenario.cluster, load, users, makers));
  EngineOptions options;
  if (scenario.until) options.until = kStart + *scenario.until;
  std::vector<SimJob> all = jobs_of(scenario, users);
  if (auto has_turns = check_turns(cluster, all); !has_turns) {
    has_turns.error().what = scenario.place.says(has_turns.error().what);
    return tl::unexpected(std::move(has_turns.error()));
  }
  Engine engine(cluster, std::move(all), options);
  if (const auto ran = engine.run(); !ran) {
    base::Error error = ran.error();
    error.what = scenario.place.says(error.what);
    return tl::unexpected(error);
  }
  ScenarioOutcome outcome;
  for (const std::string& warning : cluster.warnings) outcome.warnings.push_back(scenario.place.says(warning));
  outcome.jobs = engine.jobs();
  outcome.records = engine.records();
  outcome.clock = engine.now() - kStart;
  outcome.failures = check_expectations(scenario, outcome.jobs, outcome.records);
  return outcome;
}

std::string scenario_text(const Scenario& scenario, const ScenarioOutcome& outcome) {
  const std::string title = scenario.name.empty() ? "scenario" : scenario.name;
  const char* verdict = outcome.is_as_expected() ? "as expected" : "NOT AS EXPECTED";
  std::string out = fmt::format("{}:{}: {}: {}\n", scenario.place.path, scenario.place.line, title, verdict);
  size_t width = 4, where = 5;
  for (size_t i = 0; i < outcome.jobs.size(); ++i) {
    width = std::max(width, outcome.jobs[i].name.size());
    where = std::max(where, nodes_of(outcome.records[i]).size());
  }
  if (!outcome.jobs.empty())
    out += fmt::format("  {:<{}}  {:<8} {:>8} {:>8}  {:<{}}  {}\n", "JOB", width, "STATE", "START", "END", "NODES",
                       where, "WHY");
  for (size_t i = 0; i < outcome.jobs.size(); ++i) {
    const Record& r = outcome.records[i];
    std::string line = fmt::format("  {:<{}}  {:<8} {:>8} {:>8}  {:<{}}  {}", outcome.jobs[i].name, width,
                                   name(phase_of(r)), time_of(r.started), time_of(r.ended), nodes_of(r), where, r.why);
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  for (const std::string& failure : outcome.failures) out += "  " + failure + "\n";
  return out;
}

std::string scenarios_json(const std::vector<Scenario>& scenarios, const std::vector<ScenarioOutcome>& outcomes) {
  ordered_json all = {{"schema_version", 1}};
  all["ok"] = std::all_of(outcomes.begin(), outcomes.end(), [](const auto& o) { return o.is_as_expected(); });
  all["scenarios"] = ordered_json::array();
  for (size_t i = 0; i < outcomes.size(); ++i) {
    ordered_json one = {{"name", scenarios[i].name},
                        {"file", scenarios[i].place.path},
                        {"line", scenarios[i].place.line},
                        {"ok", outcomes[i].is_as_expected()},
                        {"clock_s", static_cast<double>(outcomes[i].clock.us) / 1e6}};
    one["jobs"] = ordered_json::array();
    for (size_t j = 0; j < outcomes[i].jobs.size(); ++j)
      one["jobs"].push_back(job_json(outcomes[i].jobs[j], outcomes[i].records[j]));
    one["failures"] = outcomes[i].failures;
    all["scenarios"].push_back(std::move(one));
  }
  return all.dump(2) + "\n";
}

}  // namespace gw::sim
