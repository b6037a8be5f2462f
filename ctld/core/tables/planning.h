// What the controller keeps of the scheduler's plans, and has told the scheduler beside jobs, nodes and pools.
// Invariant: none of it decides what is held; a plan is checked against the ledger when it is carried out.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "ctld/core/tables/start_forecasts.h"
#include "ctld/core/tables/wait_figures.h"
#include "model/job.h"
#include "model/qos.h"
#include "sched/cycle/plan.h"
#include "sched/place/fragmentation.h"
#include "sched/queue/service_sample.h"
#include "sched/queue/wait_clocks.h"

namespace gw::ctld {

struct WaitInfo {
  model::WaitReason reason = model::WaitReason::kNone;
  model::Blockers blockers;
  bool operator==(const WaitInfo&) const = default;
};

/// Of the jobs of one QOS, kept over restarts.
struct PreemptionFigures {
  uint64_t count = 0;        ///< Preempted runs.
  uint64_t lost_gpu_ms = 0;  ///< Milliseconds of whole GPUs whose work was lost by that.
};

/// How far the waits that are not over were kept in this round.
struct KeptWaits {
  base::JobId last = {};     ///< The jobs up to this one,
  uint32_t rows = 0;         ///< in so many rows.
  uint32_t rows_before = 0;  ///< Of the round before.
};

struct Planning {
  std::vector<model::Qos> tree;                      ///< Of quotas, as the scheduler was told.
  sched::Orders orders;                              ///< Which order ranks whom, as the scheduler was told.
  std::map<base::JobId, uint32_t> cannot_be_frozen;  ///< Runs of jobs that take turns; by attempt.
  sched::ServiceSample services;                     ///< Of jobs that ended, where an order goes by it.
  uint64_t quota_epoch = 0;                          ///< When that, or the QOS of a job, changed last.
  std::map<sched::ClassKey, WaitInfo> class_waits;
  base::Time planned;                                    ///< When the latest plan was made, by which classes are named.
  std::map<base::JobId, sched::PlannedStart> estimates;  ///< Of the last plan.
  std::vector<sched::PlannedStart> gathered;             ///< Nodes that it keeps beside these.
  /// All of both for who asks the scheduler, once somebody has asked; null: of the last plan nobody did.
  std::shared_ptr<const std::vector<sched::PlannedStart>> kept_by_plan;
  StartForecasts forecasts;
  std::vector<sched::WouldMove> dry_run_moves;                  ///< By the dry runs of the last plan.
  std::map<base::JobId, std::set<std::string>> reported_moves;  ///< Of jobs that wait: what dry runs found.
  std::vector<sched::PartitionFragmentation> fragmentation;     ///< At the last pass.
  std::map<std::string, PreemptionFigures> preemptions;         ///< By QOS.
  std::deque<base::JobId> jobs_of_budgets;  ///< A budget of theirs was spent or renewed; still to be looked at.
  sched::WaitClocks waits;                  ///< How long each waiting job has waited for what.
  WaitFigures wait_figures;                 ///< Of those that started.
  bool are_classes_of_users = false;        ///< Jobs of different users are of different classes, as of the last plan.
  std::set<base::JobId> changed_het_jobs;   ///< In this transaction: the next of their components is to be looked at.
  KeptWaits kept_waits;
  bool is_keeping_waits = false;  ///< A timer is set to keep what jobs have waited for.
  bool is_usage_armed = false;    ///< A timer is set to tell of use.
};

}  // namespace gw::ctld
