// See full_cluster.h.
#include "tests/prop/starvation/full_cluster.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "tests/prop/quota_world.h"

namespace gw::prop {
namespace {

constexpr size_t kMostRunning = 10;
constexpr const char* kTypeNames[] = {"h100", "a100"};

int64_t one_of(std::initializer_list<int64_t> list) { return list.begin()[draw(0, std::ssize(list) - 1)]; }

// ---- What there is

std::vector<Node> draw_nodes(const Traits& traits) {
  std::vector<Node> nodes(static_cast<size_t>(traits.has_leaves ? 4 : draw(2, 4)));
  for (size_t i = 0; i < nodes.size(); ++i) {
    Node& node = nodes[i];
    node.leaf = static_cast<int>(i / 2);
    if (traits.has_sizes && i > 0) node.gpus = one_of({8, 4, 2});
    if (traits.shares_gpus) node.gpus = draw(1, 2);
    if (traits.has_components || traits.has_elastic) node.gpus = 4;
    if (traits.has_cores) {
      node.gpus = std::min(node.gpus, draw(2, 4));
      node.cpus = draw(4, 12);
    }
    if (traits.has_types) node.type = kTypeNames[i == 0 ? 0 : draw(0, 1)];
    if (traits.has_closed_nodes) node.is_closed = i > 0 && one_in(4);
  }
  return nodes;
}

// ---- Who waits

Waiting draw_waiting(const Traits& traits, const std::vector<Node>& nodes) {
  Waiting out;
  Tasks tasks{.gpus = one_of({8, 4, 2, 1})};
  if (traits.has_gang || traits.has_leaves) tasks = {.count = 2, .gpus = one_of({8, 4}), .is_one_a_node = true};
  const bool is_small = traits.has_cores || traits.has_components || traits.has_elastic;
  if (is_small && !tasks.is_one_a_node) tasks.count = draw(1, traits.has_elastic ? 3 : 2);
  if (is_small) tasks.gpus = draw(traits.has_cores ? 0 : 1, 2);
  if (traits.has_cores) tasks.cpus = draw(1, 4);
  if (traits.shares_gpus) {
    out.milli = one_of({500, 250, 1000});
    tasks.gpus = 1;
  }
  out.is_below_one_leaf = traits.has_leaves;
  out.parts = {tasks};
  if (traits.has_components) out.parts.push_back({.count = draw(1, 2), .gpus = one_of({4, 2, 1})});
  if (traits.has_types)
    for (Tasks& part : out.parts) part.type = part.gpus > 0 ? kTypeNames[0] : "";
  if (traits.has_closed_nodes)
    for (size_t i = 1; i < nodes.size(); ++i)
      if (one_in(3)) out.excluded.insert(static_cast<int>(i));
  return out;
}

oracle::Amounts amounts_of(const Tasks& tasks, int64_t milli, const std::string& type) {
  oracle::Amounts out = {{"gpu", tasks.gpus * milli}, {"cpu", tasks.cpus}};
  if (!type.empty()) out["gpu:" + type] = tasks.gpus * milli;
  return out;
}

/// One of several components as one task: what the rules compare is what all of it asks for.
oracle::Job job_of_waiting(const Waiting& waiting) {
  oracle::Job job;
  job.preemptible = !one_in(5);
  const Tasks& first = waiting.parts.front();
  if (waiting.parts.size() == 1) {
    job.tasks = static_cast<int>(first.count);
    job.per_task = amounts_of(first, waiting.milli, first.type);
    return job;
  }
  for (const Tasks& tasks : waiting.parts)
    for (const auto& [resource, amount] : amounts_of(tasks, waiting.milli, tasks.type))
      job.per_task[resource] += tasks.count * amount;
  return job;
}

// ---- Who is guaranteed what

void guarantee(oracle::World& world, const std::string& qos, const std::string& resource, int64_t least) {
  oracle::Qos& q =
      *std::find_if(world.qos.begin(), world.qos.end(), [&](const auto& each) { return each.name == qos; });
  const int64_t unit = resource == "cpu" ? 1 : kWhole, left = left_of(world, q.parent, resource) / unit;
  const int64_t low = (least + unit - 1) / unit;
  q.guaranteed[resource] = draw(low, std::max(low, left)) * unit;
}

void add_qos(oracle::World& world, const std::string& name, const std::string& parent) {
  oracle::Qos q;
  q.name = name;
  q.parent = parent;
  world.qos.push_back(q);
}

/// The job that waits is of b, and b is guaranteed at least what it asks for.
void draw_guarantees(const Traits& traits, FullCluster& out, const oracle::Job& waiting) {
  oracle::World& world = out.rules;
  if (traits.has_tree) {
    add_qos(world, "up", "");
    guarantee(world, "up", "gpu", waiting.tasks * amount_of(waiting.per_task, "gpu"));
    add_qos(world, "other", "");
    guarantee(world, "other", "gpu", 0);
  }
  for (const char* name : {"b", "a", "c", "d"}) {
    const bool is_up = *name == 'b' || *name == 'a';
    add_qos(world, name, traits.has_tree ? (is_up ? "up" : "other") : "");
    if (*name == 'd') continue;
    const bool is_b = *name == 'b';
    const bool names_type = traits.has_types && (is_b || one_in(2));
    const std::string gpu = names_type ? std::string("gpu:") + kTypeNames[is_b ? 0 : draw(0, 1)] : "gpu";
    guarantee(world, name, gpu, is_b ? waiting.tasks * amount_of(waiting.per_task, "gpu") : 0);
    if (traits.has_cores && one_in(2))
      guarantee(world, name, "cpu", is_b ? waiting.tasks * amount_of(waiting.per_task, "cpu") : 0);
  }
}

// ---- Who runs

struct Free {
  std::vector<int64_t> gpus, cpus;  // thousandths of GPUs, of all of a node
};

std::string draw_qos_of_running(const Traits& traits) {
  constexpr const char* kNames[] = {"a", "d", "c", "a", "", "b"};
  constexpr const char* kInner[] = {"up", "other"};
  return traits.has_tree && one_in(5) ? kInner[draw(0, 1)] : kNames[draw(0, 5)];
}

void add_running(FullCluster& out, int line, std::vector<int> at, const Tasks& task, int64_t milli, oracle::Job job) {
  const Node& node = out.nodes[static_cast<size_t>(at.front())];
  job.tasks = static_cast<int>(at.size());
  job.at = at;
  job.per_task = amounts_of(task, milli, node.type);
  job.running = true;
  out.running.push_back({job.id, line, std::move(at), task, milli});
  out.rules.jobs.push_back(std::move(job));
}

std::string text_of(const oracle::Job& job, int line, const std::vector<int>& at, const Tasks& task) {
  std::string nodes;
  for (const int node : at) nodes += fmt::format("{}n{}", nodes.empty() ? "" : ", ", node);
  return fmt::format(
      "  - {{name: r{}{}{}, state: running, at: [{}], gpus_per_task: {}, cpus_per_task: {}, priority: {}, "
      "started: {}s{}",
      line, job.qos.empty() ? "" : ", qos: ", job.qos, nodes, task.gpus, task.cpus, job.priority, job.started_s,
      !job.preemptible ? ", preemptible: false"
      : job.saves_work ? ", on_preempt: checkpoint"
                       : "");
}

/// Behind the node, with GPUs of the same type and room for the task.
std::optional<int> another_node(const FullCluster& cluster, const Free& free, size_t node, const Tasks& task) {
  for (size_t n = node + 1; n < cluster.nodes.size(); ++n)
    if (cluster.nodes[n].type == cluster.nodes[node].type && free.gpus[n] >= task.gpus * kWhole &&
        free.cpus[n] >= task.cpus)
      return static_cast<int>(n);
  return std::nullopt;
}

/// A job of one task, or a gang of several, with the first on the node.
void run_on(const Traits& traits, FullCluster& out, Free& free, int node, int line) {
  const auto n = static_cast<size_t>(node);
  oracle::Job job;
  job.id = static_cast<int>(out.rules.jobs.size()) + 1;
  job.qos = draw_qos_of_running(traits);
  job.priority = 50 + (one_in(3) ? draw(0, 2) : 0);
  job.preemptible = !one_in(8);
  job.saves_work = job.preemptible && one_in(4);
  job.started_s = -draw(1, 600) * 60;
  Tasks task{.gpus = std::min(free.gpus[n] / kWhole, one_of({8, 4, 2, 1, 2, 4, 1}))};
  int64_t milli = kWhole, tasks = 1, least = 1;
  if (traits.has_cores)
    task = {.gpus = std::min(free.gpus[n] / kWhole, draw(0, 2)), .cpus = std::min(free.cpus[n], draw(1, 4))};
  if (traits.shares_gpus) {
    task.gpus = 1;
    milli = std::min(free.gpus[n] % kWhole == 0 ? kWhole : free.gpus[n] % kWhole, one_of({500, 250, 1000}));
  }
  const bool is_elastic = traits.has_elastic && free.gpus[n] >= kWhole;
  if (is_elastic) {
    task.gpus = std::min(free.gpus[n] / kWhole, draw(1, 2));
    tasks = draw(1, std::min(free.gpus[n] / kWhole / task.gpus, free.cpus[n] / task.cpus));
    least = draw(1, tasks);
  }
  if (task.gpus == 0 && !traits.has_cores) return;
  std::vector<int> at(static_cast<size_t>(tasks), node);
  if (traits.has_spanning && !is_elastic && one_in(2))
    if (const auto other = another_node(out, free, n, task)) at.push_back(*other);
  for (const int each : at) {
    free.gpus[static_cast<size_t>(each)] -= task.gpus * milli;
    free.cpus[static_cast<size_t>(each)] -= task.cpus;
  }
  if (at.size() > static_cast<size_t>(tasks)) tasks = least = 2;
  std::string text = text_of(job, line, at, task);
  if (milli < kWhole) text += fmt::format(", gpu_milli: {}", milli);
  if (is_elastic) text += fmt::format(", tasks: {}, min_tasks: {}", tasks + draw(0, 2), least);
  const int gang = job.id;
  if (!is_elastic) text += fmt::format(", tasks: {}", tasks);
  out.scenario += text + "}\n";
  add_running(out, line, std::vector<int>(at.begin(), at.begin() + least), task, milli, job);
  for (int64_t i = least; i < tasks; ++i) {
    job.id = static_cast<int>(out.rules.jobs.size()) + 1;
    job.gang = gang;
    add_running(out, line, {node}, task, milli, job);
  }
}

void draw_running(const Traits& traits, FullCluster& out) {
  Free free;
  for (const Node& node : out.nodes) {
    free.gpus.push_back(node.gpus * kWhole);
    free.cpus.push_back(node.cpus);
  }
  int line = 0;
  for (size_t n = 0; n < out.nodes.size(); ++n)
    while (out.running.size() + (traits.has_elastic ? 3 : 0) < kMostRunning && free.cpus[n] > 0 &&
           (free.gpus[n] > 0 || traits.has_cores) && !one_in(12))
      run_on(traits, out, free, static_cast<int>(n), line++);
}

// ---- The scenario

std::string list_of(const std::set<int>& nodes) {
  std::string out;
  for (const int node : nodes) out += fmt::format("{}n{}", out.empty() ? "" : ",", node);
  return out;
}

std::string text_of(const Tasks& tasks) {
  std::string out = fmt::format("gpus_per_task: {}, cpus_per_task: {}, {}: {}", tasks.gpus, tasks.cpus,
                                tasks.is_one_a_node ? "nodes" : "tasks", tasks.count);
  return tasks.type.empty() ? out : out + ", gpu_type: " + tasks.type;
}

std::string text_of(const Traits& traits, const Waiting& waiting, const oracle::Job& job) {
  std::string out = "  - {name: x, qos: b, " + text_of(waiting.parts.front());
  if (waiting.milli < kWhole) out += fmt::format(", gpu_milli: {}", waiting.milli);
  if (!waiting.excluded.empty()) out += fmt::format(", exclude: \"{}\"", list_of(waiting.excluded));
  if (waiting.is_below_one_leaf) out += ", locality: leaf";
  if (!job.preemptible) out += ", preemptible: false";
  if (traits.has_closed_nodes) out += ", time_limit: 2h";
  if (waiting.parts.size() > 1) out += ", hetjob: [{" + text_of(waiting.parts[1]) + "}]";
  return out + "}\n";
}

std::string text_of(const Traits& traits, const FullCluster& cluster) {
  std::string out = fmt::format("policy: {{grace: {}, reclaim: {}}}\nnodes:\n", traits.has_grace ? "2m" : "0s",
                                cluster.rules.reclaim == oracle::Reclaim::kGuaranteed ? "guaranteed" : "fair_share");
  std::set<int> closed, leaves[2];
  for (size_t i = 0; i < cluster.nodes.size(); ++i) {
    const Node& node = cluster.nodes[i];
    out += fmt::format("  - {{name: n{}, gpus: {}, cpus: {}{}{}}}\n", i, node.gpus, node.cpus,
                       node.type.empty() ? "" : ", gpu_type: ", node.type);
    leaves[node.leaf].insert(static_cast<int>(i));
    if (node.is_closed) closed.insert(static_cast<int>(i));
  }
  if (traits.has_leaves)
    out += fmt::format(
        "network: [{{switch: l0, nodes: \"{}\"}}, {{switch: l1, nodes: \"{}\"}}, {{switch: s, switches: "
        "\"l[0-1]\"}}]\n",
        list_of(leaves[0]), list_of(leaves[1]));
  out += "qos:\n";
  for (const oracle::Qos& q : cluster.rules.qos) {
    std::string lines;
    for (const auto& [resource, amount] : q.guaranteed)
      lines += fmt::format("{}\"{}\": {}", lines.empty() ? "" : ", ", resource, amount / unit_of(resource));
    out += fmt::format("  - {{name: {}, guaranteed: {{{}}}{}{}}}\n", q.name, lines,
                       q.parent.empty() ? "" : ", parent: ", q.parent);
  }
  if (!closed.empty())
    out += fmt::format("reservations: [{{name: m, nodes: \"{}\", start: 1h, duration: 1h, maintenance: true}}]\n",
                       list_of(closed));
  return out + "until: 10m\njobs:\n";
}

}  // namespace

Traits draw_traits() {
  Traits out;
  bool* const all[] = {&out.has_gang,    &out.has_sizes,    &out.has_leaves,  &out.has_closed_nodes,
                       &out.has_cores,   &out.has_types,    &out.has_elastic, &out.has_components,
                       &out.shares_gpus, &out.has_spanning, &out.has_grace,   &out.has_tree};
  const int64_t count = draw(2, 4);
  for (int64_t i = 0; i < count; ++i) *all[draw(0, std::ssize(all) - 1)] = true;
  // Which GPUs are whose is known only of jobs of one task.
  if (out.shares_gpus)
    out.has_cores = out.has_elastic = out.has_components = out.has_spanning = out.has_gang = out.has_leaves = false;
  return out;
}

FullCluster draw_full_cluster(const Traits& traits) {
  FullCluster out;
  out.nodes = draw_nodes(traits);
  for (const Node& node : out.nodes) {
    oracle::Amounts amounts = {{"gpu", node.gpus * kWhole}, {"cpu", node.cpus}};
    if (!node.type.empty()) amounts["gpu:" + node.type] = node.gpus * kWhole;
    out.rules.nodes.push_back(amounts);
  }
  const bool divides_all =
      !traits.has_leaves && !traits.has_closed_nodes && !traits.has_components && !traits.has_elastic && one_in(3);
  out.rules.reclaim = divides_all ? oracle::Reclaim::kFairShare : oracle::Reclaim::kGuaranteed;
  out.waiting = draw_waiting(traits, out.nodes);
  oracle::Job waiting = job_of_waiting(out.waiting);
  draw_guarantees(traits, out, waiting);
  draw_running(traits, out);
  waiting.id = static_cast<int>(out.rules.jobs.size()) + 1;
  waiting.qos = "b";
  out.scenario = text_of(traits, out) + out.scenario + text_of(traits, out.waiting, waiting);
  out.rules.jobs.push_back(waiting);
  return out;
}

}  // namespace gw::prop
