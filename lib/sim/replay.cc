// From rows of a trace to jobs, and the run. See replay.h.
#include "sim/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/counted.h"
#include "base/text.h"

namespace gw::sim {
namespace {

using model::GpuCounting;
using model::Request;

/// What the largest nodes have, for deciding over how many nodes a job goes.
struct Largest {
  std::map<std::string, uint32_t> gpus;  ///< By type; "": of any type.
  uint32_t cpus = 0;
};

Largest largest_of(const Cluster& cluster) {
  Largest out;
  for (const sched::NodeFacts& node : cluster.nodes) {
    std::map<std::string, uint32_t> here;
    for (uint32_t g = node.gpus.next(0); g != UINT32_MAX; g = node.gpus.next(g + 1)) {
      ++here[base::to_lower(node.topology->gpus[g].type)];
      ++here[""];
    }
    for (const auto& [type, count] : here) out.gpus[type] = std::max(out.gpus[type], count);
    out.cpus = std::max(out.cpus, node.cores.size() * node.topology->threads_per_core());
  }
  return out;
}

uint32_t gpus_of_largest(const Largest& largest, const std::vector<std::string>& types) {
  uint32_t most = 0;
  for (const std::string& type : types.empty() ? std::vector<std::string>{""} : types)
    if (const auto found = largest.gpus.find(type); found != largest.gpus.end()) most = std::max(most, found->second);
  return most;
}

uint32_t divided(uint32_t amount, uint32_t parts) { return (amount + parts - 1) / parts; }

/// A job may take any of several types: nodes tell theirs as features.
std::string type_feature(const std::string& type) { return "gpu_type=" + type; }

void add_type_features(Cluster& cluster) {
  for (sched::NodeFacts& node : cluster.nodes) {
    std::set<std::string> types;
    for (const model::Gpu& gpu : node.topology->gpus) types.insert(base::to_lower(gpu.type));
    for (const std::string& type : types) node.features.push_back(type_feature(type));
  }
}

/// GPUs wherever they are, and nothing else.
Request counted(const TraceJob& job) {
  Request r;
  r.tasks_given = true;
  r.tasks = std::max(job.gpus, 1u);
  r.max_nodes = r.tasks;
  r.cpus_per_task = 0;
  r.mem_none = true;
  r.gpus = job.gpus > 0 ? 1 : 0;
  r.gpu_counting = job.gpus > 0 ? GpuCounting::kPerTask : GpuCounting::kNone;
  r.gpu_milli = job.gpu_milli;
  return r;
}

void set_gpu_nodes(const TraceJob& job, const Largest& largest, Request& r) {
  const uint32_t each = gpus_of_largest(largest, job.gpu_types);
  const uint32_t nodes = job.nodes.value_or(job.gpus > each && each > 0 ? divided(job.gpus, each) : 1);
  r.nodes_given = true;
  r.min_nodes = r.max_nodes = nodes;
  r.tasks = std::max(job.tasks.value_or(nodes), nodes);
  r.cpus_per_task = divided(job.cpus.value_or(0), r.tasks);
  r.gpu_counting = job.gpus % nodes == 0 ? GpuCounting::kPerNode : GpuCounting::kPerJob;
  r.gpus = job.gpus % nodes == 0 ? job.gpus / nodes : job.gpus;
  r.gpu_milli = job.gpu_milli;
  if (job.gpu_types.size() == 1) r.gpu_type = job.gpu_types.front();
  if (job.gpu_types.size() > 1)
    for (const std::string& type : job.gpu_types) r.features.push_back({type_feature(type)});
}

void set_cpu_nodes(const TraceJob& job, const Largest& largest, Request& r) {
  const uint32_t cpus = job.cpus.value_or(job.tasks.value_or(1));
  r.tasks = job.tasks.value_or(cpus > largest.cpus ? cpus : 1);
  r.cpus_per_task = divided(cpus, r.tasks);
  r.nodes_given = job.nodes.has_value();
  r.tasks = std::max(r.tasks, job.nodes.value_or(1));
  r.min_nodes = job.nodes.value_or(1);
  r.max_nodes = job.nodes.value_or(r.tasks);
}

Request placed(const TraceJob& job, const Largest& largest) {
  Request r;
  r.tasks_given = true;
  if (job.gpus > 0)
    set_gpu_nodes(job, largest, r);
  else
    set_cpu_nodes(job, largest, r);
  r.mem_none = job.mem_mb.value_or(0) == 0;
  if (!r.mem_none && r.nodes_given) r.mem_per_node_mb = (*job.mem_mb + r.min_nodes - 1) / r.min_nodes;
  if (!r.mem_none && !r.nodes_given) r.mem_per_task_mb = (*job.mem_mb + r.tasks - 1) / r.tasks;
  return r;
}

base::Status check_name(const std::string& name, const std::vector<std::string>& known, std::string_view what,
                        const TraceJob& job, const std::string& path) {
  if (std::find(known.begin(), known.end(), name) != known.end()) return {};
  return base::invalid(fmt::format("{}:{}: no {} \"{}\" in the cluster", path, job.line, what, base::printable(name)),
                       base::did_you_mean(name, known));
}

class JobMaker {
 public:
  JobMaker(const config::ScenarioCluster& written, const Cluster& cluster, const ReplayOptions& options,
           const std::string& path)
      : written_(written), cluster_(cluster), options_(options), path_(path), largest_(largest_of(cluster)) {
    for (const auto& q : written.qos) qos_.push_back(q.name);
    for (const auto& p : written.partitions) partitions_.push_back(p.name);
    tells_work_ = sched::Orders(cluster.policy.order, cluster.policy.pool_orders, {}, {}, cluster.policy.qos_orders)
                      .needs()
                      .durations;
  }

  base::Result<SimJob> make(const TraceJob& row, Users& users) const {
    SimJob job;
    job.name = row.id;
    job.work = row.duration;
    job.stages = row.stages;
    sched::PendingJob& p = job.job;
    p.request = options_.fit == "count" ? counted(row) : placed(row, largest_);
    if (!qos_.empty() && !row.qos.empty()) GW_TRY_STATUS(check_name(row.qos, qos_, "QOS", row, path_));
    if (!row.partition.empty()) GW_TRY_STATUS(check_name(row.partition, partitions_, "partition", row, path_));
    p.partitions = row.partition.empty() ? config::default_partitions(written_, row.gpus > 0)
                                         : std::vector<std::string>{row.partition};
    p.qos = row.qos;
    p.uid = users.id(row.user);
    p.priority = row.priority;
    p.preemptible = row.preemptible;
    p.saves_work = !options_.lose_work;
    p.submitted = p.eligible = kStart + row.submit;
    p.time_limit = row.time_limit;
    for (const model::Partition& partition : written_.partitions)
      if (partition.name == p.partitions.front() && p.time_limit == base::kUnlimited)
        p.time_limit = partition.default_time;
    const model::Qos* wall = model::shortest_wall(cluster_.qos, p.qos);
    if (wall != nullptr && row.time_limit == base::kUnlimited) p.time_limit = std::min(p.time_limit, wall->max_wall);
    job.tells_work = tells_work_ && p.time_limit == base::kUnlimited;
    return job;
  }

 private:
  const config::ScenarioCluster& written_;
  const Cluster& cluster_;
  const ReplayOptions& options_;
  const std::string& path_;
  const Largest largest_;
  std::vector<std::string> qos_, partitions_;
  bool tells_work_ = false;
};

/// Rows name each other by their ids, wherever they stand. Jobs that are not in the trace are over: it was cut from a
/// longer one.
base::Status tie_rows(const Trace& trace, const std::string& path, std::vector<SimJob>& jobs,
                      std::vector<std::string>& warnings) {
  std::map<std::string_view, uint32_t> numbers;
  for (const TraceJob& row : trace.jobs) numbers.emplace(row.id, static_cast<uint32_t>(numbers.size()) + 1);
  size_t unknown = 0;
  const auto find = [&](std::string_view word, model::DependencyKind kind) -> base::Result<std::vector<base::JobId>> {
    if (const auto it = numbers.find(word); it != numbers.end()) return std::vector{base::JobId(it->second)};
    const bool has_delay = kind == model::DependencyKind::kAfter && word.find('+') != std::string_view::npos;
    if (has_delay) return base::invalid("minutes behind a plus sign");
    ++unknown;
    return std::vector<base::JobId>{};
  };
  std::vector<model::Dependency> all(jobs.size());
  bool has_any = false;
  for (size_t i = 0; i < jobs.size(); ++i) {
    const TraceJob& row = trace.jobs[i];
    if (row.dependency.empty()) continue;
    const size_t known = unknown;
    auto after = model::parse_named_dependency(row.dependency, find);
    if (!after)
      return base::fail(after.error().code, fmt::format("{}:{}: dependency: {}", path, row.line, after.error().what),
                        after.error().hint);
    if (after->any && unknown > known) after->terms.clear();  // one is enough
    all[i] = jobs[i].after = std::move(*after);
    has_any = true;
  }
  if (unknown > 0)
    warnings.push_back(fmt::format("{}: {} on jobs that are not in the trace: taken for met", path,
                                   base::counted(unknown, "condition")));
  const auto circle = has_any ? model::find_circle(all) : std::nullopt;
  if (!circle) return {};
  const TraceJob& row = trace.jobs[circle->value - 1];
  return base::invalid(fmt::format("{}:{}: dependency: job {} waits for itself", path, row.line, row.id),
                       "break the circle");
}

base::Status set_fit(const ReplayOptions& options, config::ScenarioCluster& written) {
  if (options.fit.empty() || options.fit == "count") return {};
  static const std::vector<std::string> kFits = {"best", "worst", "spread", "count"};
  if (std::find(kFits.begin(), kFits.end(), options.fit) == kFits.end())
    return base::invalid(
        fmt::format("--fit: \"{}\" is none of {}", base::printable(options.fit), base::join(kFits, ", ")),
        base::did_you_mean(options.fit, kFits));
  GW_TRY(fit, model::parse_fit(options.fit));
  written.policy.fit = fit;
  for (model::Partition& p : written.partitions) p.fit = model::Fit::kDefault;
  return {};
}

base::Status set_order(const ReplayOptions& options, const sched::MakeOrder& make_order,
                       config::ScenarioCluster& written) {
  config::ScenarioPolicy& policy = written.policy;
  if (options.order.empty() && options.order_weights.empty()) return {};
  for (model::Partition& p : written.partitions) {
    p.order.clear();
    p.order_weights.clear();
  }
  for (config::ScenarioQos& q : written.qos) {
    q.order.clear();
    q.order_weights.clear();
  }
  // The file's weights are for the file's order.
  const bool is_other = policy.order && !options.order.empty() && *policy.order != options.order;
  if (is_other) policy.order_weights.clear();
  if (!options.order.empty()) policy.order = options.order;
  if (!options.order_weights.empty()) policy.order_weights = options.order_weights;
  const auto known = make_order(policy.order.value_or("fifo_skip"), policy.order_weights);
  if (known) return {};
  const std::string_view option = options.order_weights.empty() ? "--order" : "--order-weights";
  return base::invalid(fmt::format("{}: {}", option, known.error().what), known.error().hint);
}

void warn_of_unfinished(Replay& replay) {
  constexpr uint64_t kShown = 5;
  uint64_t refused = 0;
  const std::vector<Record>& records = replay.engine->records();
  for (size_t i = 0; i < records.size(); ++i)
    if (records[i].is_refused && ++refused <= kShown)
      replay.warnings.push_back(
          fmt::format("job {} {}", base::printable(replay.engine->jobs()[i].name), records[i].why));
  if (refused > kShown) replay.warnings.push_back(fmt::format("and {} more jobs that can never run", refused - kShown));
}

}  // namespace

base::Result<Replay> replay(const config::ScenarioCluster& cluster, Trace trace, const std::string& trace_path,
                            const ReplayOptions& options, const LoadTopology& load, const Makers& makers) {
  config::ScenarioCluster written = cluster;
  GW_TRY_STATUS(set_fit(options, written));
  GW_TRY_STATUS(set_order(options, makers.order, written));
  if (!options.rate_model.empty()) {
    if (const auto known = makers.rate(options.rate_model, {}); !known)
      return base::fail(known.error().code, "--rate-model: " + known.error().what, known.error().hint);
    written.policy.rate_model = options.rate_model;
  }
  Users users;
  GW_TRY(built, build_cluster(written, load, users, makers));
  add_type_features(built);
  Replay out;
  out.order = built.policy.order ? std::string(built.policy.order->name()) : "fifo_skip";
  out.fit = options.fit == "count" ? "count" : std::string(model::name(built.policy.fit));
  if (built.rate_model) out.rate_model = built.rate_model->name();
  out.warnings = trace.warnings;
  out.warnings.insert(out.warnings.end(), built.warnings.begin(), built.warnings.end());
  const JobMaker maker(written, built, options, trace_path);
  std::vector<SimJob> jobs;
  for (const TraceJob& row : trace.jobs) {
    GW_TRY(job, maker.make(row, users));
    jobs.push_back(std::move(job));
  }
  GW_TRY_STATUS(tie_rows(trace, trace_path, jobs, out.warnings));
  out.trace = std::move(trace);
  EngineOptions engine_options;
  engine_options.keeps_work = !options.lose_work;
  engine_options.restart_cost = options.preempt_cost;
  engine_options.estimate_every = options.estimate_every;
  if (options.tell)
    engine_options.tell = [&options, all = jobs.size()](uint64_t left, Time now) { options.tell(left, all, now); };
  out.cluster = std::make_shared<const Cluster>(std::move(built));
  auto engine = std::make_shared<Engine>(*out.cluster, std::move(jobs), engine_options);
  GW_TRY_STATUS(engine->run());
  out.engine = std::move(engine);
  warn_of_unfinished(out);
  return out;
}

}  // namespace gw::sim
