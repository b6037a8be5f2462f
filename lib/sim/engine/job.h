// A job of the simulation, and what became of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/dependency.h"
#include "sched/cycle/plan.h"
#include "sim/cluster.h"

namespace gw::sim {

/// A job of the simulation. Its position in the list is its number.
struct SimJob {
  std::string name;
  sched::PendingJob job;              ///< Ids are given by the engine; `submitted` in the future: it arrives then.
  Duration work = base::kUnlimited;   ///< How long it runs if nothing ends it.
  bool tells_work = false;            ///< Orders are told how much of it is left,
  std::optional<Duration> told = {};  ///< as if that were all of it, where it says so itself.
  sched::Stages stages = {};          ///< For rate models.
  bool has_overrun = false;           ///< It ran for longer than it told.
  bool saves_work = false;            ///< Preempted, it continues where it was.
  bool ends_preempted = false;        ///< Preempted, it does not come back.
  model::Dependency after = {};       ///< What is left of what it waits for; ids are positions, from 1 on.
  uint32_t line = 0;                  ///< Which jobs take turns with it,
  uint32_t throttle = 0;              ///< if only so many of them may run at once; 0: all may.
  struct Running {
    std::vector<std::string> at;  ///< A node per task.
    Time started;
  };
  std::optional<Running> running;  ///< It runs at the start.
};

enum class Phase : uint8_t { kFuture, kPending, kRunning, kEnded };

/// What became of a job.
struct Record {
  Phase phase = Phase::kFuture;
  bool is_refused = false;  ///< It could never run, which is told at submission.
  bool ran_at_start = false;
  bool is_elastic = false;
  bool is_suspended = false;  ///< It waits to resume where it stands.
  Time submitted;             ///< When it arrived.
  Time started;               ///< Of its latest run; zero: never.
  Time ended;
  Duration waited = {};              ///< In all, before the first start and after each preemption,
  model::WaitSplit waited_for = {};  ///< and for what.
  uint32_t preemptions = 0;
  uint32_t moves = 0;
  uint64_t given_back_milli = 0;  ///< Of GPUs that an elastic gang gave back in order to continue smaller.
  double held_gpu_s = 0;          ///< GPU-seconds held in all runs.
  double held_cpu_s = 0;
  double lost_gpu_s = 0;  ///< GPU-seconds of work lost and of restart costs.
  double contention = 0;  ///< Jobs in the system, on average over its stay.
  std::string partition;
  model::Allocation allocation;               ///< Of its latest run.
  std::vector<model::Allocation> components;  ///< Likewise.
  model::Allocation first_allocation;         ///< Of a job that ran at the start.
  model::Allocation kept;                     ///< While it is suspended: what it still holds.
  std::string why;                            ///< Why it waits, or why it ended other than by itself.
};

}  // namespace gw::sim
