// Random worlds for the properties of the quotas, as the oracle knows them: a tree, nodes of one kind, jobs that run or
// wait.
// Invariants: every job finds room on the empty cluster, and asks for at least one cpu; a running job has its nodes to
// itself as far as it counts; every draw shrinks towards the plain.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <rapidcheck.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "tests/oracle/quota.h"

namespace gw::prop {

using oracle::Amounts;
using oracle::World;

/// Both included, whatever the size; shrinks to the first.
inline int64_t draw(int64_t first, int64_t last) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<int64_t>(first, last + 1));
}
/// Shrinks to false.
inline bool one_in(int64_t count) { return draw(0, count - 1) == count - 1; }
/// Grows with the size of the case.
inline int64_t draw_scaled(int64_t first, int64_t last) { return *rc::gen::inRange<int64_t>(first, last + 1); }

/// What a world may hold.
struct Wild {
  bool has_cpu_lines = false;
  bool has_mem_lines = false;
  bool is_typed = false;          ///< Lines for gpu:a, the one type there is.
  bool is_overcommitted = false;  ///< Guarantees that do not fit into each other.
  bool is_shrunk = false;         ///< More runs than limits and guarantees let in.
};

inline int64_t amount_of(const Amounts& amounts, const std::string& resource) {
  const auto it = amounts.find(resource);
  return it == amounts.end() ? 0 : it->second;
}

inline int64_t unit_of(const std::string& resource) { return resource == "cpu" ? 1 : 1000; }

inline int64_t capacity_of(const World& world, const std::string& resource) {
  int64_t sum = 0;
  for (const Amounts& node : world.nodes) sum += amount_of(node, resource);
  return sum;
}

inline std::vector<std::string> resources_of(const World& world) {
  std::set<std::string> out = {"gpu"};
  for (const oracle::Qos& q : world.qos) {
    for (const auto& [resource, amount] : q.guaranteed) out.insert(resource);
    for (const auto& [resource, amount] : q.limit) out.insert(resource);
  }
  return {out.begin(), out.end()};
}

inline const oracle::Qos* qos_of(const World& world, const std::string& name) {
  for (const oracle::Qos& q : world.qos)
    if (q.name == name) return &q;
  return nullptr;
}

inline const oracle::Job& job_of(const World& world, int id) {
  for (const oracle::Job& job : world.jobs)
    if (job.id == id) return job;
  throw std::out_of_range("no such job");
}
inline oracle::Job& job_of(World& world, int id) {
  return const_cast<oracle::Job&>(job_of(static_cast<const World&>(world), id));
}

/// Of the QOS and all below it. "q/" are the jobs of q itself; "" is everybody.
inline bool is_within(const World& world, const oracle::Job& job, const std::string& side) {
  if (side.ends_with('/')) return job.qos + "/" == side;
  const oracle::Qos* q = qos_of(world, job.qos);
  while (q != nullptr && q->name != side) q = qos_of(world, q->parent);
  return side.empty() || q != nullptr;
}

inline bool is_inner(const World& world, const std::string& qos) {
  return std::any_of(world.qos.begin(), world.qos.end(), [&](const oracle::Qos& q) { return q.parent == qos; });
}

inline std::vector<std::string> children_of(const World& world, const std::string& side) {
  std::vector<std::string> out;
  for (const oracle::Qos& q : world.qos)
    if (q.parent == side && !side.ends_with('/')) out.push_back(q.name);
  if (!out.empty() || side.empty()) out.push_back(side + "/");
  return out;
}

inline std::vector<std::string> sides_of(const World& world) {
  std::vector<std::string> out = {""};
  for (size_t i = 0; i < out.size(); ++i)
    for (const std::string& child : children_of(world, out[i])) out.push_back(child);
  return out;
}

inline int64_t held(const World& world, const std::string& side, const std::string& resource, bool for_good = false) {
  int64_t sum = 0;
  for (const oracle::Job& job : world.jobs)
    if (job.running && is_within(world, job, side) && !(for_good && job.preemptible))
      sum += std::ssize(job.at) * amount_of(job.per_task, resource);  // a gang may leave its nodes one by one
  return sum;
}

/// Does no limit forbid it even where nothing else runs?
inline bool is_within_limits(const World& world, const oracle::Job& job) {
  return std::all_of(world.qos.begin(), world.qos.end(), [&](const oracle::Qos& q) {
    return !is_within(world, job, q.name) || std::all_of(q.limit.begin(), q.limit.end(), [&](const auto& limit) {
      return job.tasks * amount_of(job.per_task, limit.first) <= limit.second;
    });
  });
}

// ---- Drawing

/// What the parent has left for another child; the root has all.
inline int64_t left_of(const World& world, const std::string& parent, const std::string& resource) {
  const oracle::Qos* above = qos_of(world, parent);
  int64_t left = capacity_of(world, resource);
  if (above != nullptr && oracle::has_line(world, parent, resource))
    left = amount_of(oracle::named_guarantees(*above), resource);
  for (const oracle::Qos& q : world.qos)
    if (q.parent == parent) left -= amount_of(oracle::named_guarantees(q), resource);
  return std::max<int64_t>(left, 0);
}

inline int depth_of(const World& world, const std::string& qos) {
  int depth = 0;
  for (const oracle::Qos* q = qos_of(world, qos); q != nullptr; q = qos_of(world, q->parent)) ++depth;
  return depth;
}

inline void draw_amounts(const World& world, const Wild& wild, oracle::Qos& q) {
  const std::pair<const char*, bool> resources[] = {
      {"gpu", true}, {"cpu", wild.has_cpu_lines}, {"mem", wild.has_mem_lines}, {"gpu:a", wild.is_typed}};
  for (const auto& [resource, is_drawn] : resources) {
    if (!is_drawn) continue;
    const int64_t unit = unit_of(resource), all = capacity_of(world, resource);
    const int64_t most = wild.is_overcommitted ? all : left_of(world, q.parent, resource);
    if (one_in(2)) q.guaranteed[resource] = draw(0, most / unit) * unit;
    if (resource == std::string("gpu:a") && q.guaranteed.contains(resource) && !wild.is_overcommitted)
      q.guaranteed[resource] = std::min(q.guaranteed[resource], left_of(world, q.parent, "gpu") / unit * unit);
    if (one_in(5)) q.limit[resource] = draw(1, std::max<int64_t>(all / unit, 1)) * unit;
  }
}

inline void draw_tree(World& world, const Wild& wild) {
  const int64_t count = one_in(4) ? draw_scaled(1, 10) : draw_scaled(1, 5);
  const bool has_ranks = one_in(2);
  for (int64_t i = 0; i < count; ++i) {
    oracle::Qos q;
    q.name = std::string(1, static_cast<char>('a' + (i * 7 + 3) % 11));  // neither sorted nor the reverse
    const int64_t above = draw(0, i);
    q.parent = above == 0 ? "" : world.qos[static_cast<size_t>(above - 1)].name;
    if (depth_of(world, q.parent) >= 4) q.parent = "";
    draw_amounts(world, wild, q);
    constexpr int64_t kWeights[] = {1, 2, 3, 0};
    q.weight = kWeights[draw(0, 3)];
    q.priority = has_ranks ? draw(0, 1) : 0;
    q.preempt_children = one_in(5);
    q.min_runtime_s = one_in(5) ? draw(1, 600) : 0;
    world.qos.push_back(q);
  }
}

inline Amounts draw_task(const World& world, const Wild& wild) {
  const Amounts& node = world.nodes.front();
  Amounts task;
  task["gpu"] = draw(0, std::min<int64_t>(4, amount_of(node, "gpu") / 1000)) * 1000;
  if (wild.is_typed) task["gpu:a"] = task["gpu"];
  task["cpu"] = draw(1, std::min<int64_t>(4, amount_of(node, "cpu")));
  task["mem"] = draw(0, std::min<int64_t>(3, amount_of(node, "mem") / 1000)) * 1000;
  return task;
}

inline bool fits_when_empty(World world, int id) {
  for (oracle::Job& job : world.jobs) job.running = false;
  return oracle::fits(world, id);
}

/// Starts a waiting job where there is room, from a node on that is drawn.
inline void put_somewhere(World& world, int id) {
  oracle::Job& job = job_of(world, id);
  const auto nodes = static_cast<int>(world.nodes.size());
  const auto first = static_cast<int>(draw(0, nodes - 1));
  for (int n = 0; n < nodes && std::ssize(job.at) < job.tasks; ++n) {
    Amounts free = world.nodes[static_cast<size_t>((first + n) % nodes)];
    for (const oracle::Job& other : world.jobs)
      for (const int at : other.at)
        if (other.running && at == (first + n) % nodes)
          for (const auto& [resource, amount] : other.per_task) free[resource] -= amount;
    const auto has_room = [&free](const auto& need) { return free[need.first] >= need.second; };
    while (std::ssize(job.at) < job.tasks && std::all_of(job.per_task.begin(), job.per_task.end(), has_room)) {
      for (const auto& [resource, amount] : job.per_task) free[resource] -= amount;
      job.at.push_back((first + n) % nodes);
    }
  }
  job.running = std::ssize(job.at) == job.tasks;
  if (!job.running) job.at.clear();
}

inline void draw_jobs(World& world, const Wild& wild, int64_t most) {
  std::vector<Amounts> shapes;
  for (int i = 0; i < 5; ++i) shapes.push_back(draw_task(world, wild));
  const int64_t count = draw_scaled(3, most);
  const bool has_ranks = one_in(2);
  for (int id = 1; id <= count; ++id) {
    oracle::Job job;
    job.id = id;
    const int64_t qos = draw(one_in(2) ? 0 : 1, std::ssize(world.qos));
    job.qos = qos == 0 ? "" : world.qos[static_cast<size_t>(qos - 1)].name;
    constexpr int kTasks[] = {1, 1, 1, 2, 3, 4};
    job.tasks = kTasks[draw(0, 5)];
    job.per_task = shapes[static_cast<size_t>(draw(0, std::ssize(shapes) - 1))];
    job.priority = has_ranks ? draw(0, 3) : 0;
    job.preemptible = !one_in(6);
    job.saves_work = one_in(4);
    job.submitted_s = draw(0, 20);
    job.started_s = draw(0, 1000);
    const bool runs = draw(0, 2) > 0;
    world.jobs.push_back(job);
    if (!fits_when_empty(world, id))
      world.jobs.pop_back();
    else if (runs && is_within_limits(world, job) && (wild.is_shrunk || oracle::may_start(world, id)))
      put_somewhere(world, id);
  }
}

/// With at most so many jobs.
inline World draw_world(const Wild& wild, int64_t most) {
  World world;
  Amounts node;
  constexpr int64_t kGpus[] = {4, 2, 8, 1};
  node["gpu"] = kGpus[draw(0, 3)] * 1000;
  if (wild.is_typed) node["gpu:a"] = node["gpu"];
  node["cpu"] = one_in(2) ? draw(1, 12) : 32;
  node["mem"] = (one_in(3) ? draw(0, 12) : 32) * 1000;
  world.nodes.assign(static_cast<size_t>(draw(1, 4)), node);
  constexpr oracle::Reclaim kReclaim[] = {oracle::Reclaim::kFairShare, oracle::Reclaim::kFairShare,
                                          oracle::Reclaim::kFairShare, oracle::Reclaim::kGuaranteed,
                                          oracle::Reclaim::kNone};
  world.reclaim = kReclaim[draw(0, 4)];
  world.preempt = one_in(2);
  world.now_s = 1000;
  draw_tree(world, wild);
  draw_jobs(world, wild, most);
  return world;
}

inline World draw_world(int64_t most = 20) {
  Wild wild;
  wild.has_cpu_lines = one_in(3);
  wild.has_mem_lines = one_in(4);
  wild.is_typed = one_in(4);
  wild.is_overcommitted = one_in(4);
  wild.is_shrunk = one_in(4);
  return draw_world(wild, most);
}

// ---- Showing

inline std::string show(const Amounts& amounts) {
  std::string out;
  for (const auto& [resource, amount] : amounts) {
    if (!out.empty()) out += ", ";
    out += resource.starts_with("gpu") ? fmt::format("{}: {}", resource, static_cast<double>(amount) / 1000)
                                       : fmt::format("{}: {}", resource, amount);
  }
  return "{" + out + "}";
}

/// Almost a scenario file.
inline std::string show(const World& world) {
  std::string out = fmt::format("policy: {{reclaim: {}, preempt: {}}}  now: {}\n{} nodes: {}\n",
                                world.reclaim == oracle::Reclaim::kNone         ? "none"
                                : world.reclaim == oracle::Reclaim::kGuaranteed ? "guaranteed"
                                                                                : "fair_share",
                                world.preempt, world.now_s, world.nodes.size(), show(world.nodes.front()));
  for (const oracle::Qos& q : world.qos)
    out += fmt::format("qos {} in '{}' guaranteed {} limit {} weight {} priority {}{}{}\n", q.name, q.parent,
                       show(q.guaranteed), show(q.limit), q.weight, q.priority,
                       q.preempt_children ? " preempt_children" : "",
                       q.min_runtime_s > 0 ? fmt::format(" min_runtime {}s", q.min_runtime_s) : "");
  for (const oracle::Job& job : world.jobs)
    out +=
        fmt::format("job {} qos '{}' {} x {} priority {} submitted {}{}{}\n", job.id, job.qos, job.tasks,
                    show(job.per_task), job.priority, job.submitted_s, job.preemptible ? "" : " not preemptible",
                    job.running ? fmt::format(" running at [{}] since {}", fmt::join(job.at, ","), job.started_s) : "");
  return out;
}

}  // namespace gw::prop
