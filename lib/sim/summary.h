// What a replay comes to: completion times, waits, use of the cluster, fairness.
// Definitions (docs/scenario.md has them for people): completion is end minus submission; percentiles are interpolated
// linearly between the nearest ranks; finish-time fairness is completion over what the job would have needed alone on
// 1/N of the cluster, N being the mean number of jobs in the system during its stay (Mahajan et al., "Themis: Fair and
// Efficient GPU Cluster Scheduling", NSDI 2020).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/engine.h"

namespace gw::sim {

struct Summary {
  uint64_t jobs = 0;
  uint64_t finished = 0;
  uint64_t unfinished = 0;  ///< Still there at the end, or never able to run.
  double mean_completion_s = 0, median_completion_s = 0, p95_completion_s = 0, p99_completion_s = 0;
  double mean_wait_s = 0, median_wait_s = 0, p95_wait_s = 0, max_wait_s = 0;
  double makespan_s = 0;      ///< From the first submission to the last end.
  double utilisation = 0;     ///< GPU-seconds held / what there was in that time; CPUs in a cluster without GPUs.
  double fragmentation = -1;  ///< Part of the free GPUs that was of no use; negative: not told.
  uint64_t preemptions = 0;
  double gpu_seconds_lost = 0;
  double worst_fairness = 0, mean_fairness = 0;
};

/// What the percentile is taken of must be sorted. 0 of nothing.
double percentile(const std::vector<double>& sorted, double part);
/// Finish-time fairness of a job that has ended; above 1: worse than its fair share of the cluster.
double fairness(const SimJob& job, const Record& record, const Engine& engine);

Summary summarise(const Engine& engine);
/// The same of the jobs of each QOS; those without one are under "".
std::map<std::string, Summary> summarise_by_qos(const Engine& engine);

}  // namespace gw::sim
