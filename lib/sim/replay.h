// Replays a trace on a cluster.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/scenario.h"
#include "sim/summary.h"
#include "sim/trace.h"

namespace gw::sim {

struct ReplayOptions {
  std::string order;       ///< Instead of the cluster's; empty: the cluster's.
  std::string rate_model;  ///< Instead of the cluster's; empty: the cluster's.
  std::string fit;         ///< best, worst, spread; count: GPUs are counted, wherever they are; empty: the cluster's.
  Duration preempt_cost = {};
  bool lose_work = false;
  uint32_t estimate_every = 0;        ///< EngineOptions::estimate_every.
  sched::Weights order_weights = {};  ///< Of the order, instead of the cluster's; empty: the cluster's.
  std::function<void(uint64_t left, uint64_t jobs, Time now)> tell = {};  ///< After each instant: jobs that are done.
};

struct Replay {
  std::shared_ptr<const Cluster> cluster;
  std::shared_ptr<const Engine> engine;  ///< Refers to the cluster.
  Trace trace;
  std::string order, fit, rate_model;  ///< The last is empty if there is none.
  std::vector<std::string> warnings;
};

/// Errors: unknown order or fit; a row that names a partition or QOS that the cluster does not have; what
/// build_cluster() refuses.
base::Result<Replay> replay(const config::ScenarioCluster& cluster, Trace trace, const std::string& trace_path,
                            const ReplayOptions& options, const LoadTopology& load, const Makers& makers = {});

/// Summary for people.
std::string replay_text(const Replay& replay);
/// {"schema_version", "summary": {...}, "by_qos": {...}, ...}
std::string replay_json(const Replay& replay);
/// A row a job.
std::string replay_csv(const Replay& replay);

}  // namespace gw::sim
