// The tables of keys of scenario and cluster files: they drive reading and "did you mean", and a test holds
// docs/scenario.md against them. Keys whose value is a map, or a list of maps, are read by scenario_*.cc; their names
// stand in kNested.
// Invariant: a key that is not in a table does not exist.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/keys.h"
#include "config/read.h"
#include "config/scenario.h"

namespace gw::config {

/// Entries as written: texts that need more than their kind's check stay texts here.
struct NodeLine {
  std::vector<std::string> names;
  std::vector<std::string> features;
  std::string topology, gpu_type;
  uint32_t gpus = 0, cpus = 0, weight = 1;
  uint64_t mem_mb = 0;
};
struct PolicyLine {
  std::string order, reclaim, grace, quantum, patience, reclaim_delay_max, usage_half_life;
  std::string share, rate_model;
  std::map<std::string, double> share_weights;
  std::map<std::string, double> order_weights;
  model::Fit fit = model::Fit::kDefault;
  uint32_t reservations = 0, candidates = 0, preemptions_per_hour = 0;
  double fairness_over_time = 0;
  bool consolidate = false, preempt = false;
};
struct QosLine {
  std::string name, parent, description, min_runtime, grace, patience, max_wall, order;
  std::map<std::string, double> order_weights;
  uint32_t weight = 1, max_jobs = 0, max_jobs_per_user = 0;
  int64_t priority = 0;
  bool preempt_children = false;
};
struct ReservationLine {
  std::string name, start, end, duration, every;
  std::vector<std::string> nodes, users;
  bool maintenance = false;
};
/// What a job, or a component of one, asks for.
struct AskLine {
  uint32_t tasks = 1, nodes = 0, tasks_per_node = 0;
  uint32_t gpus_per_task = 0, gpus_per_node = 0, gpus = 0, gpu_milli = model::kWholeGpu;
  uint32_t cpus_per_task = 1, cpus_per_gpu = 0, segment = 0;
  uint64_t mem_per_task_mb = 0, mem_per_cpu_mb = 0, mem_per_gpu_mb = 0, mem_per_node_mb = 0;
  std::string gpu_type, constraint, locality, switches;
  model::Fit fit = model::Fit::kDefault;
  std::vector<std::string> nodelist, exclude, partitions;
  bool exclusive = false;
};
struct JobLine {
  std::vector<std::string> names;
  std::string qos, user, state = "pending", reservation, on_preempt;
  std::string started, submit, submitted, run_time, told_time, deadline, dependency;
  uint32_t min_tasks = 0, throttle = 0, scaling = 100;
  std::map<std::string, double> stages;
  int64_t priority = 50;
  int32_t nice = 0;
  bool preemptible = true;
  std::vector<std::string> at;
  base::Duration time_limit = base::kUnlimited, time_min = {};
};
struct ExpectLine {
  std::string state, started_at, ended_at, partition;
  std::vector<std::string> at;
  uint32_t nodes = 0, tasks = 0, preemptions = 0;
  bool moved = false;
};

std::span<const Key<NodeLine>> node_line_keys();
std::span<const Key<PolicyLine>> policy_line_keys();
std::span<const Key<QosLine>> qos_line_keys();
std::span<const Key<ReservationLine>> reservation_line_keys();
std::span<const Key<AskLine>> ask_line_keys();
std::span<const Key<JobLine>> job_line_keys();
std::span<const Key<ExpectLine>> expect_line_keys();
/// Keys of partitions: those of the configuration that a simulation knows.
std::vector<const Key<PartitionEntry>*> simulated_partition_keys();

/// Table rows for docs/scenario.md, one a key: where it stands, its values, what it means.
std::vector<std::string> scenario_reference();

/// Keys that hold maps or lists of maps, by where they stand.
inline constexpr std::string_view kClusterParts[] = {"name",       "policy", "nodes",       "network",
                                                     "partitions", "qos",    "reservations"};
inline constexpr std::string_view kScenarioParts[] = {"name", "policy",       "nodes", "network", "partitions",
                                                      "qos",  "reservations", "jobs",  "until",   "expect"};
inline constexpr std::string_view kQosMaps[] = {"guaranteed", "limit", "limit_per_user"};
inline constexpr std::string_view kJobLists[] = {"hetjob"};
inline constexpr std::string_view kExpectWords[] = {"evicted", "gpus_evicted_max", "moves_max", "preemptions_max"};

/// A key with the place that its value goes to.
struct Bound {
  const KeyInfo* info;
  Ref to;
};
template <typename T>
void bind(std::span<const Key<T>> keys, T& object, std::vector<Bound>& out) {
  for (const Key<T>& key : keys) out.push_back({&key.info, key.at(object)});
}
/// Reads a map by these keys; `others` are known too, but read elsewhere. Anything but a map is told to `problems`,
/// named as `what`. Returns whether it was a map.
bool read_bound(std::span<const Bound> keys, std::span<const std::string_view> others, const Value& map,
                std::string_view what, Problems& problems);
template <typename T>
bool read_line(std::span<const Key<T>> keys, std::span<const std::string_view> others, const Value& map,
               std::string_view what, T& out, Problems& problems) {
  std::vector<Bound> bound;
  bind(keys, out, bound);
  return read_bound(bound, others, map, what, problems);
}

}  // namespace gw::config
