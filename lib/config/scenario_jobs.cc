// jobs, until and expect of a scenario. See scenario_read.h.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/hostlist.h"
#include "base/text.h"
#include "config/scenario_keys.h"
#include "config/scenario_read.h"

namespace gw::config {
namespace {

using base::Duration;
using model::GpuCounting;
using model::Request;

bool has(const Value& map, std::string_view key) { return map.find(key) != nullptr; }

// ---- What a job asks for

// At most one of these keys may be there; returns it, or nothing.
std::string_view one_of(const Value& item, std::initializer_list<std::string_view> keys, const Reading& reading) {
  std::string_view first;
  for (std::string_view key : keys) {
    if (!has(item, key)) continue;
    if (first.empty())
      first = key;
    else
      reading.problems.error(place_of(item, key), fmt::format("{} beside {}", key, first), "give one of them");
  }
  return first;
}

void set_gpus(const AskLine& line, const Value& item, Request& r, const Reading& reading) {
  (void)one_of(item, {"gpus_per_task", "gpus_per_node", "gpus"}, reading);
  r.gpus = std::max({line.gpus_per_task, line.gpus_per_node, line.gpus});
  r.gpu_counting = line.gpus_per_task > 0   ? GpuCounting::kPerTask
                   : line.gpus_per_node > 0 ? GpuCounting::kPerNode
                   : line.gpus > 0          ? GpuCounting::kPerJob
                                            : GpuCounting::kNone;
  r.gpu_type = base::to_lower(line.gpu_type);
  r.gpu_milli = line.gpu_milli;
  if (r.gpus == 0 && !r.gpu_type.empty()) {
    reading.problems.error(place_of(item, "gpu_type"), "gpu_type without GPUs", "write gpus_per_task: 1");
    r.gpu_type.clear();
  }
  const bool is_one = r.gpus == 1 && (r.gpu_counting == GpuCounting::kPerJob || line.tasks == 1) && line.nodes <= 1;
  if (r.gpu_milli == model::kWholeGpu || is_one) return;
  reading.problems.error(place_of(item, "gpu_milli"), "gpu_milli is a part of one GPU of a job with one task",
                         "write gpus_per_task: 1");
  r.gpu_milli = model::kWholeGpu;
}

void set_memory(const AskLine& line, const Value& item, Request& r, const Reading& reading) {
  const std::string_view key = one_of(item, {"mem_per_task", "mem_per_node", "mem_per_cpu", "mem_per_gpu"}, reading);
  r.mem_per_task_mb = line.mem_per_task_mb;
  r.mem_per_node_mb = line.mem_per_node_mb;
  r.mem_per_cpu_mb = line.mem_per_cpu_mb;
  r.mem_per_gpu_mb = line.mem_per_gpu_mb;
  r.mem_none = !key.empty() &&
               std::max({line.mem_per_task_mb, line.mem_per_node_mb, line.mem_per_cpu_mb, line.mem_per_gpu_mb}) == 0;
}

// Memory is 0 where nobody says, neither the job nor a partition of its.
bool takes_no_memory(const ScenarioRequest& asks, const ScenarioCluster& c) {
  const Request& r = asks.request;
  if (std::max({r.mem_per_task_mb, r.mem_per_node_mb, r.mem_per_cpu_mb, r.mem_per_gpu_mb}) > 0) return false;
  return std::none_of(c.partitions.begin(), c.partitions.end(), [&asks](const auto& p) {
    const bool is_own = std::find(asks.partitions.begin(), asks.partitions.end(), p.name) != asks.partitions.end();
    return is_own && p.default_mem_per_cpu_mb + p.default_mem_per_gpu_mb > 0;
  });
}

base::Status parse_switches(const std::string& text, Request& r) {
  const size_t at = std::min(text.find('@'), text.size());
  GW_TRY(count, base::parse_int(text.substr(0, at), 1, 1'000'000, "switches"));
  r.max_switches = static_cast<uint32_t>(count);
  if (at == text.size()) return {};
  GW_TRY(wait, base::parse_duration(text.substr(at + 1)));
  r.switches_wait = wait;
  return {};
}

template <typename T>
void take(base::Result<T> parsed, T& to, const Value& item, std::string_view key, const Reading& reading) {
  if (parsed)
    to = std::move(*parsed);
  else
    reading.problems.error(place_of(item, key), fmt::format("{}: {}", key, parsed.error().what), parsed.error().hint);
}

void set_wishes(const AskLine& line, const Value& item, Request& r, const Reading& reading) {
  if (!line.constraint.empty()) take(model::parse_features(line.constraint), r.features, item, "constraint", reading);
  if (!line.locality.empty()) take(model::parse_locality(line.locality), r.locality, item, "locality", reading);
  r.fit = line.fit;
  if (!line.switches.empty())
    if (const auto ok = parse_switches(line.switches, r); !ok)
      reading.problems.error(place_of(item, "switches"), ok.error().what, "write N or N@WAIT, such as 1@10m");
  r.segment = line.segment;
  r.exclusive = line.exclusive;
  r.nodelist = line.nodelist;
  r.exclude = line.exclude;
}

// The same rules as for the options of a submission.
void normalise(const AskLine& line, const Value& item, Request& r, const Reading& reading) {
  if (has(item, "nodes") && has(item, "tasks") && line.tasks < line.nodes)
    return reading.problems.error(place_of(item, "nodes"),
                                  fmt::format("{} tasks cannot be on {} nodes", line.tasks, line.nodes),
                                  "at least one on each");
  if (const auto ok = model::normalise(r); !ok) reading.problems.error(item, ok.error());
}

class JobReader {
 public:
  JobReader(Scenario& scenario, const Reading& reading) : scenario_(scenario), reading_(reading) {
    const ScenarioCluster& c = scenario.cluster;
    for (const auto& node : c.nodes) nodes_.push_back(node.name);
    for (const auto& p : c.partitions) partitions_.push_back(p.name);
    for (const auto& q : c.qos) qos_.push_back(q.name);
    qos_.push_back("cluster");
    tree_ = {c.qos.begin(), c.qos.end()};
    for (const auto& r : c.reservations) reservations_.push_back(r.name);
  }

  void read(const Value& item) {
    JobLine line;
    AskLine ask;
    std::vector<Bound> keys;
    bind(job_line_keys(), line, keys);
    bind(ask_line_keys(), ask, keys);
    if (!read_bound(keys, kJobLists, item, "an entry of jobs", reading_.problems)) return;
    if (line.names.empty()) line.names.emplace_back();
    for (const std::string& name : line.names)
      if (!is_new_name(name, item, "job", lines_, reading_)) return;
    for (const std::string_view word : kExpectWords)
      if (std::find(line.names.begin(), line.names.end(), word) != line.names.end())
        reading_.problems.error(item, fmt::format("a job cannot be called {}", word), "expect has that word");
    ScenarioJob job;
    job.place = reading_.place(item);
    job.name = line.names.front();
    job.asks = request_of(ask, item);
    set_components(item, job);
    set_identity(line, item, job);
    set_on_preempt(line, item, job);
    set_times(line, item, job);
    set_start(line, item, job);
    set_elastic(line, item, job);
    if (job.is_running() && !line.dependency.empty())
      reading_.problems.error(place_of(item, "dependency"), "a running job waits for nobody");
    if (job.is_running() && line.throttle > 0)
      reading_.problems.error(place_of(item, "throttle"), "a running job takes no turns");
    job.line = ++lines_of_jobs_;
    job.scaling = line.scaling;
    job.throttle = line.throttle;
    for (size_t k = 0; k < line.names.size(); ++k) {
      job.name = line.names[k];
      scenario_.jobs.push_back(job);
      if (!line.dependency.empty()) waiting_.push_back({scenario_.jobs.size() - 1, k, line.dependency, &item});
    }
  }

  /// Once all names are known.
  void tie() {
    std::map<std::string_view, uint32_t> numbers;
    for (const ScenarioJob& job : scenario_.jobs) numbers.emplace(job.name, static_cast<uint32_t>(numbers.size()) + 1);
    for (const Waiting& one : waiting_) {
      const auto find = [&](std::string_view word, model::DependencyKind kind) {
        return jobs_called(word, kind, one.place_in_line, numbers);
      };
      take(model::parse_named_dependency(one.text, find), scenario_.jobs[one.job].dependency, *one.item, "dependency",
           reading_);
    }
    if (reading_.problems.has_errors()) return;
    std::vector<model::Dependency> all;
    for (const ScenarioJob& job : scenario_.jobs) all.push_back(job.dependency);
    const auto circle = model::find_circle(all);
    if (!circle) return;
    for (const Waiting& one : waiting_)
      if (one.job + 1 == circle->value)
        reading_.problems.error(place_of(*one.item, "dependency"),
                                fmt::format("job {} waits for itself", scenario_.jobs[one.job].name),
                                "break the circle");
  }

 private:
  ScenarioRequest request_of(const AskLine& line, const Value& item) {
    ScenarioRequest asks;
    Request& r = asks.request;
    r.nodes_given = has(item, "nodes");
    r.tasks_given = has(item, "tasks") || !r.nodes_given;
    r.min_nodes = r.max_nodes = std::max(line.nodes, 1u);
    r.tasks = line.tasks;
    r.tasks_per_node = line.tasks_per_node;
    r.cpus_per_task = line.cpus_per_task;
    r.cpus_per_gpu = line.cpus_per_gpu;
    set_gpus(line, item, r, reading_);
    set_memory(line, item, r, reading_);
    set_wishes(line, item, r, reading_);
    check_names(r.nodelist, nodes_, "node", place_of(item, "nodelist"), reading_);
    check_names(r.exclude, nodes_, "node", place_of(item, "exclude"), reading_);
    check_names(line.partitions, partitions_, "partition", place_of(item, "partition"), reading_);
    normalise(line, item, r, reading_);
    asks.partitions = line.partitions;
    if (asks.partitions.empty()) asks.partitions = default_partitions(scenario_.cluster, r.gpus > 0);
    r.mem_none |= takes_no_memory(asks, scenario_.cluster);
    return asks;
  }

  /// Of aftercorr the one at the same place of its list.
  base::Result<std::vector<base::JobId>> jobs_called(std::string_view word, model::DependencyKind kind, size_t place,
                                                     const std::map<std::string_view, uint32_t>& numbers) const {
    GW_TRY(names, base::expand_hostlist(std::string(word)));
    if (kind == model::DependencyKind::kAfterCorr) {
      if (place >= names.size())
        return base::invalid(fmt::format("{} has no job {}", base::printable(word), place + 1),
                             "aftercorr is for lists of the same length");
      names = {names[place]};
    }
    std::vector<base::JobId> out;
    for (const std::string& name : names) {
      const auto it = numbers.find(name);
      if (it == numbers.end()) {
        std::vector<std::string> known;
        for (const auto& [other, number] : numbers) known.emplace_back(other);
        return base::invalid(fmt::format("no job \"{}\"", base::printable(name)), base::did_you_mean(name, known));
      }
      out.emplace_back(it->second);
    }
    return out;
  }

  void set_components(const Value& item, ScenarioJob& job) {
    const Value* list = item.find("hetjob");
    if (list == nullptr) return;
    if (list->kind != Value::Kind::kList)
      return reading_.problems.error(*list, "hetjob is a list of further components", "write [{tasks: 4, ...}]");
    for (const Value& component : list->items) {
      AskLine ask;
      if (!read_line(ask_line_keys(), {}, component, "a component of hetjob", ask, reading_.problems)) continue;
      job.components.push_back(request_of(ask, component));
      if (!has(component, "partition")) job.components.back().partitions = job.asks.partitions;
    }
  }

  void set_identity(const JobLine& line, const Value& item, ScenarioJob& job) {
    if (!line.qos.empty()) check_names({line.qos}, qos_, "QOS", place_of(item, "qos"), reading_);
    if (!line.reservation.empty())
      check_names({line.reservation}, reservations_, "reservation", place_of(item, "reservation"), reading_);
    job.qos = line.qos == "cluster" ? "" : line.qos;
    job.user = line.user;
    job.priority = line.priority;
    job.nice = line.nice;
    job.preemptible = line.preemptible;
    job.reservation = line.reservation;
  }

  void set_stages(const JobLine& line, const Value& item, ScenarioJob& job) {
    static const std::vector<std::string> kNames = {"storage", "cpu", "gpu", "network"};
    for (const auto& [name, time] : line.stages) {
      const auto at = std::find(kNames.begin(), kNames.end(), name);
      if (at != kNames.end())
        job.stages[static_cast<size_t>(at - kNames.begin())] = time;
      else
        reading_.problems.error(place_of(item, "stages"), fmt::format("no stage \"{}\"", base::printable(name)),
                                "one of " + base::join(kNames, ", "));
    }
  }

  Duration offset(const std::string& text, bool is_signed, const Value& item, std::string_view key) {
    return read_offset(text, is_signed, {}, item, key, reading_);
  }

  void set_times(const JobLine& line, const Value& item, ScenarioJob& job) {
    const std::string_view key = one_of(item, {"submit", "submitted"}, reading_);
    if (!key.empty()) job.submit = offset(key == "submit" ? line.submit : line.submitted, true, item, key);
    if (!line.run_time.empty() && line.run_time != "UNLIMITED")
      job.run_time = offset(line.run_time, false, item, "run_time");
    if (!line.told_time.empty()) job.told_time = offset(line.told_time, false, item, "told_time");
    set_stages(line, item, job);
    if (!line.deadline.empty()) job.deadline = offset(line.deadline, false, item, "deadline");
    job.time_limit = line.time_limit;
    job.time_min = line.time_min;
    if (has(item, "time_limit") && job.time_limit == Duration{})
      reading_.problems.error(place_of(item, "time_limit"), "a time limit of nothing", "UNLIMITED is no limit");
    if (job.time_min > job.time_limit)
      reading_.problems.error(place_of(item, "time_min"), "time_min is above time_limit");
    if (has(item, "time_limit")) return;  // UNLIMITED too is an answer
    for (const auto& p : scenario_.cluster.partitions)
      if (p.name == job.asks.partitions.front()) job.time_limit = p.default_time;
    if (const model::Qos* qos = model::shortest_wall(tree_, job.qos))
      job.time_limit = std::min(job.time_limit, qos->max_wall);
  }

  void set_on_preempt(const JobLine& line, const Value& item, ScenarioJob& job) {
    if (line.on_preempt.empty()) return;
    for (const model::OnPreempt what : model::kOnPreempt)
      if (model::name(what) == line.on_preempt) job.on_preempt = what;
    if (!job.preemptible)
      reading_.problems.error(place_of(item, "on_preempt"), "on_preempt of a job that is never preempted",
                              "leave out on_preempt or `preemptible: false`");
  }

  void set_start(const JobLine& line, const Value& item, ScenarioJob& job) {
    const bool runs = line.state == "running";
    if (!runs && (has(item, "at") || has(item, "started")))
      return reading_.problems.error(place_of(item, has(item, "at") ? "at" : "started"),
                                     "only a running job has a place and a start", "write `state: running`");
    if (!runs) return;
    job.at = line.at;
    check_names(job.at, nodes_, "node", place_of(item, "at"), reading_);
    if (has(item, "started")) job.started = offset(line.started, true, item, "started");
    if (job.started > Duration{})
      reading_.problems.error(place_of(item, "started"), "a running job has started before now", "write started: -1h");
    if (job.submit > Duration{})
      reading_.problems.error(item, fmt::format("job {} runs before it was submitted", job.name));
    if (!job.components.empty())
      reading_.problems.error(item, "a heterogeneous job cannot run at the start", "let it start by itself");
    check_at(line, item, job);
  }

  void check_at(const JobLine& line, const Value& item, const ScenarioJob& job) {
    const Request& r = job.asks.request;
    const size_t least = line.min_tasks == 0 ? r.tasks : line.min_tasks;
    if (job.at.empty())
      return reading_.problems.error(item, fmt::format("where does job {} run?", job.name),
                                     "write `at: [n0]`, a node per task");
    if (job.at.size() < least || job.at.size() > r.tasks)
      return reading_.problems.error(place_of(item, "at"), fmt::format("{} nodes for {} tasks", job.at.size(), r.tasks),
                                     "name a node for each task, the same one several times if need be");
    const size_t nodes = std::set<std::string>(job.at.begin(), job.at.end()).size();
    if (r.nodes_given && nodes != r.min_nodes)
      reading_.problems.error(place_of(item, "at"),
                              fmt::format("{} nodes, where {} are asked for", nodes, r.min_nodes));
  }

  void set_elastic(const JobLine& line, const Value& item, ScenarioJob& job) {
    if (line.min_tasks > job.asks.request.tasks)
      reading_.problems.error(place_of(item, "min_tasks"), "min_tasks is above tasks");
    if (line.min_tasks > 0 && !job.components.empty())
      reading_.problems.error(place_of(item, "min_tasks"), "min_tasks does not go with hetjob",
                              "all components start and end together, so none of them is elastic");
    job.min_tasks = line.min_tasks == job.asks.request.tasks ? 0 : line.min_tasks;
  }

  Scenario& scenario_;
  const Reading& reading_;
  std::map<std::string, uint32_t> lines_;
  std::vector<std::string> nodes_, partitions_, qos_, reservations_;
  std::vector<model::Qos> tree_;
  /// A job that waits for others, whose names may come later.
  struct Waiting {
    size_t job = 0, place_in_line = 0;
    std::string text;
    const Value* item = nullptr;
  };
  std::vector<Waiting> waiting_;
  uint32_t lines_of_jobs_ = 0;
};

// ---- Expectations

std::optional<JobPhase> phase_of(const std::string& text) {
  for (JobPhase phase : {JobPhase::kPending, JobPhase::kRunning, JobPhase::kSuspended, JobPhase::kEnded})
    if (name(phase) == text) return phase;
  return std::nullopt;
}

JobExpectation read_expectation(const Value& job, const Value& map, const Reading& reading) {
  JobExpectation e;
  e.place = reading.place(job);
  e.job = job.text;
  ExpectLine line;
  if (!read_line(expect_line_keys(), {}, map, fmt::format("what is expected of {}", job.text), line, reading.problems))
    return e;
  e.state = phase_of(line.state);
  if (has(map, "at")) e.at = line.at;
  if (has(map, "nodes")) e.nodes = line.nodes;
  if (has(map, "tasks")) e.tasks = line.tasks;
  if (has(map, "moved")) e.moved = line.moved;
  if (has(map, "partition")) e.partition = line.partition;
  if (has(map, "preemptions")) e.preemptions = line.preemptions;
  if (!line.started_at.empty()) e.started_at = read_offset(line.started_at, true, {}, map, "started_at", reading);
  if (!line.ended_at.empty()) e.ended_at = read_offset(line.ended_at, true, {}, map, "ended_at", reading);
  return e;
}

std::vector<std::string> expectable_names(const Scenario& scenario) {
  std::vector<std::string> names(std::begin(kExpectWords), std::end(kExpectWords));
  for (const ScenarioJob& job : scenario.jobs) {
    names.push_back(job.name);
    for (size_t i = 1; i <= job.components.size(); ++i) names.push_back(fmt::format("{}+{}", job.name, i));
  }
  return names;
}

void read_expected_word(const Value& word, const Value& value, Scenario& scenario, const Reading& reading) {
  if (word.text == kExpectWords[0]) {
    std::vector<std::string> jobs, known;
    read_value({word.text, Kind::kNames, Reload::kLive, ""}, &jobs, value, reading.problems);
    for (const ScenarioJob& job : scenario.jobs) known.push_back(job.name);
    check_names(jobs, known, "job", value, reading);
    scenario.expect.evicted = jobs;
    return;
  }
  uint32_t number = 0;
  read_value({word.text, Kind::kNumber, Reload::kLive, "", 0, 1'000'000'000}, &number, value, reading.problems);
  Expectations& expect = scenario.expect;
  const std::pair<std::string_view, std::optional<uint32_t>*> bounds[] = {{kExpectWords[1], &expect.gpus_evicted_max},
                                                                          {kExpectWords[2], &expect.moves_max},
                                                                          {kExpectWords[3], &expect.preemptions_max}};
  for (const auto& [name, bound] : bounds)
    if (name == word.text) *bound = number;
}

}  // namespace

std::vector<std::string> default_partitions(const ScenarioCluster& c, bool has_gpus) {
  const auto& all = c.partitions;
  const auto found = [&all](auto&& is_it) { return std::find_if(all.begin(), all.end(), is_it); };
  auto best = found([has_gpus](const auto& p) { return has_gpus ? p.default_for_compute : p.default_for_aux; });
  if (best == all.end()) best = found([](const auto& p) { return p.is_default; });
  return {best == all.end() ? all.front().name : best->name};
}

void read_jobs(const Value& root, Scenario& scenario, const Reading& reading) {
  JobReader reader(scenario, reading);
  for (const Value& item : list_items(root, "jobs", reading.problems)) reader.read(item);
  reader.tie();
  std::string until;
  if (const Value* value = root.find("until")) {
    read_value({"until", Kind::kText, Reload::kLive, ""}, &until, *value, reading.problems);
    if (!until.empty()) scenario.until = read_offset(until, false, {}, root, "until", reading);
  }
}

void read_expectations(const Value& root, Scenario& scenario, const Reading& reading) {
  const Value* map = root.find("expect");
  if (map == nullptr || map->kind == Value::Kind::kNull) return;
  if (map->kind != Value::Kind::kMap)
    return reading.problems.error(*map, "expect is a map of jobs", "write `p0: {state: running}`");
  const std::vector<std::string> known = expectable_names(scenario);
  MapKeys seen;
  for (size_t i = 0; i + 1 < map->items.size(); i += 2) {
    const Value& word = map->items[i];
    const Value& value = map->items[i + 1];
    if (!seen.is_new(word, reading.problems)) continue;
    if (std::find(std::begin(kExpectWords), std::end(kExpectWords), word.text) != std::end(kExpectWords))
      read_expected_word(word, value, scenario, reading);
    else if (std::find(known.begin(), known.end(), word.text) == known.end())
      check_names({word.text}, known, "job", word, reading);
    else
      scenario.expect.jobs.push_back(read_expectation(word, value, reading));
  }
}

}  // namespace gw::config
