// The controller's figures for monitoring, and their text (Prometheus' exposition format, version 0.0.4).
// Invariants: a metric's name and labels, once published, keep their meaning; nothing here tells of a user or a job.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/time.h"
#include "ctld/core/cluster/quota_answers.h"
#include "ctld/core/tables/job_counts.h"
#include "ctld/core/tables/planning.h"
#include "model/job_state.h"
#include "sched/place/fragmentation.h"

namespace gw::ctld {

struct Metrics {
  std::string version;
  std::string cluster;
  std::array<uint64_t, model::kJobStateCount> jobs{};  ///< By state, those still in memory.
  std::map<std::string, uint64_t> nodes;               ///< By state, in small letters.
  uint64_t gpus = 0;                                   ///< Of all nodes that have registered, offline ones included.
  double gpus_used = 0;                                ///< Held by jobs.
  uint64_t gpus_offline = 0;  ///< Taken offline by an administrator, or on nodes that take no jobs.
  uint64_t gpus_missing = 0;  ///< Fewer than their nodes' configuration says.
  uint64_t queue_length = 0;  ///< Jobs before the scheduler.
  std::vector<sched::PartitionFragmentation> fragmentation;
  std::map<std::string, PreemptionFigures> preemptions;  ///< By QOS; only those that have any.
  std::array<uint64_t, model::kWaitCauses> waiting{};    ///< Jobs that wait, by what they wait for now.
  WaitFigures waits;                                     ///< Of those that started.
  JobTotals totals;
  uint64_t unexpected_events = 0;
  uint64_t held_aside_rows = 0;  ///< Stored rows that cannot be read.
  bool is_store_writable = true;
  // added by the shell
  std::vector<QosFigures> quotas;
  base::Duration scrape = {};  ///< What the answer before took.
  uint64_t passes = 0;
  uint64_t cut_searches = 0;
  uint64_t steps = 0;
  base::Duration last_pass = {};
  uint64_t commits = 0;
  base::Duration loop_busy = {}, loop_cpu = {}, loop_longest = {};  ///< As io::Loop::Figures.
};

/// As the monitoring system reads it.
std::string metrics_text(const Metrics& metrics);

}  // namespace gw::ctld
