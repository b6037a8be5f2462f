// What `gangway simulate` reads: scenarios (a small situation and what must come of it) and the cluster of a replay.
// Mistakes are told all at once, as FILE:LINE:COLUMN with "did you mean". The keys are described in docs/scenario.md.
// Invariant of what is returned: names resolve (nodes, partitions, QOS, jobs), host lists are expanded, defaults are
// filled in. What needs more than the file - names of orders and topologies, whether a running job fits its nodes - is
// left to the caller, with the place to point at.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/cluster.h"
#include "model/dependency.h"
#include "model/job.h"
#include "model/network.h"
#include "model/request.h"

namespace gw::config {

/// Where something stands in a file.
struct Place {
  std::string path;
  uint32_t line = 0, column = 0;
  /// "FILE:LINE:COLUMN: WHAT"
  std::string says(const std::string& what) const;
};

struct ScenarioNode {
  Place place;
  std::string name;
  std::string topology;          ///< Generated name or XML file; empty: GPUs all alike, linked by nothing.
  std::optional<uint32_t> gpus;  ///< Beside a topology: so many of its GPUs.
  std::optional<uint32_t> cpus;  ///< Hardware threads. Beside a topology: its cores, cut or extended to that.
  std::optional<uint64_t> mem_mb;
  std::string gpu_type;  ///< Empty: the topology's.
  std::vector<std::string> features;
  uint32_t weight = 1;
};

struct ScenarioQos : model::Qos {
  Place place;
  std::string order;  ///< Of its jobs; empty: the partition's.
  std::map<std::string, double> order_weights;
};

/// What is not given is the scheduler's own default.
struct ScenarioPolicy {
  Place order_place, share_place, rate_place;
  std::optional<std::string> order, share, rate_model;
  std::map<std::string, double> share_weights;
  std::map<std::string, double> order_weights;
  base::Duration usage_half_life = base::hours(7 * 24);
  std::optional<double> fairness_over_time;
  std::optional<base::Duration> quantum;
  model::Fit fit = model::Fit::kDefault;
  std::optional<uint32_t> reservations;
  std::optional<uint32_t> candidates;
  std::optional<base::Duration> grace;
  std::optional<base::Duration> patience;
  std::optional<base::Duration> reclaim_delay_max;
  std::optional<uint32_t> preemptions_per_hour;
  std::optional<model::Reclaim> reclaim;
  std::optional<bool> consolidate;
  std::optional<bool> preempt;
  Place reclaim_place, consolidate_place, preempt_place;
};

/// Whole nodes kept for some users, or for nobody, for a time. Times are relative to the start.
struct ScenarioReservation {
  std::string name;
  std::vector<std::string> nodes;
  base::Duration start = {};
  base::Duration end = {};
  std::vector<std::string> users;
  bool maintenance = false;
  base::Duration every = {};  ///< Zero: once.
};

struct ScenarioCluster {
  std::vector<ScenarioNode> nodes;
  model::Network network;
  std::vector<model::Partition> partitions;  ///< Never empty. At most one is_default.
  std::vector<ScenarioQos> qos;
  ScenarioPolicy policy;
  std::vector<ScenarioReservation> reservations;
};

/// What a job or a component of a heterogeneous job asks for.
struct ScenarioRequest {
  model::Request request;
  std::vector<std::string> partitions;  ///< Never empty.
};

struct ScenarioJob {
  Place place;
  std::string name;
  std::string qos;   ///< Empty: the root.
  std::string user;  ///< Empty: one user for all who do not say.
  ScenarioRequest asks;
  std::vector<ScenarioRequest> components;  ///< Of a heterogeneous job, without the first.
  uint32_t min_tasks = 0;                   ///< Of an elastic gang; 0: not elastic.
  uint32_t scaling = 100;                   ///< As sched::PendingJob::scaling.
  int64_t priority = 50;
  int32_t nice = 0;
  bool preemptible = true;
  model::OnPreempt on_preempt = model::OnPreempt::kRequeue;
  std::vector<std::string> at;            ///< Of a running job: a node per task. Empty: it waits.
  std::optional<base::Duration> started;  ///< Of a running job; not given: just before the start.
  std::optional<base::Duration> submit;   ///< Not given: at the start; of a running job: when it started.
  base::Duration run_time = base::kUnlimited;
  std::optional<base::Duration> told_time;  ///< What orders are told of that; not given: nothing.
  std::array<double, 4> stages = {};        ///< Of an iteration: storage, cpu, gpu, network; all zero: not known.
  base::Duration time_limit = base::kUnlimited;
  base::Duration time_min = {};
  std::optional<base::Duration> deadline;
  std::string reservation;
  model::Dependency dependency = {};  ///< Ids are positions among the jobs, from 1 on.
  uint32_t line = 0;                  ///< Jobs that share a line have the same number, from 1 on.
  uint32_t throttle = 0;              ///< So many of them may run at once; 0: all.
  bool is_running() const { return !at.empty(); }
};

enum class JobPhase : uint8_t { kPending, kRunning, kSuspended, kEnded };
std::string_view name(JobPhase phase);

/// What a job must have come to.
struct JobExpectation {
  Place place;
  std::string job;
  std::optional<JobPhase> state;
  std::optional<std::vector<std::string>> at;  ///< A node per task, in any order.
  std::optional<uint32_t> nodes, tasks;
  std::optional<base::Duration> started_at, ended_at;
  std::optional<bool> moved;
  std::optional<std::string> partition;
  std::optional<uint32_t> preemptions;
};

struct Expectations {
  std::vector<JobExpectation> jobs;
  std::optional<std::vector<std::string>> evicted;
  std::optional<uint32_t> gpus_evicted_max;
  std::optional<uint32_t> moves_max;
  std::optional<uint32_t> preemptions_max;
};

struct Scenario {
  Place place;
  std::string name;  ///< Empty: none was given.
  ScenarioCluster cluster;
  std::vector<ScenarioJob> jobs;  ///< In the order of the file.
  std::optional<base::Duration> until;
  Expectations expect;
  std::vector<std::string> warnings;
};

/// The cluster of a replay.
struct ClusterFile {
  ScenarioCluster cluster;
  std::vector<std::string> warnings;
};

/// Where a job goes that names no partition.
std::vector<std::string> default_partitions(const ScenarioCluster& cluster, bool has_gpus);

/// Reads the scenarios of a text; `path` is only for messages. Errors: every mistake, a line each.
base::Result<std::vector<Scenario>> parse_scenarios(std::string_view text, const std::string& path);
base::Result<ClusterFile> parse_cluster(std::string_view text, const std::string& path);

}  // namespace gw::config
