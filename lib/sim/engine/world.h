// What the machines of the engine share: jobs and what became of them, what comes when, what the scheduler is told, and
// what is measured. Machines are free functions over it: admission.h (arrivals and the queue), runs.h (starts and
// ends), gangs.h (elastic gangs), suspension.h, usage.h (use that counts), estimates.h,
// at_start.h, decisions.h. Invariant: the view
// changes by tell() alone, as the controller's does by deltas.
#pragma once

#include <compare>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sched/queue/wait_clocks.h"
#include "sched/quota/usage.h"
#include "sim/engine/estimates.h"
#include "sim/engine/job.h"
#include "sim/engine/measures.h"

namespace gw::sim {

struct EngineOptions {
  std::optional<Time> until;    ///< The clock goes no further.
  bool keeps_work = false;      ///< A preempted job continues where it was.
  Duration restart_cost = {};   ///< What each restart adds to its run.
  uint32_t estimate_every = 0;  ///< One of so many jobs is told, when it arrives, when it will start; 0: none is.
  sched::Budget budget;
  /// Looks at the scheduler's view after each instant; an error ends the run. For checks of its invariants.
  std::function<base::Status(const sched::ClusterView&, Time now)> watch = {};
  /// Told after each instant how many jobs have left for good.
  std::function<void(uint64_t left, Time now)> tell = {};
};

/// How far a run has got, at a speed that may change (pace.h).
struct Pace {
  double speed = 1;      ///< Work in a second, in seconds of work as it is told.
  Time since;            ///< It has had that speed since then,
  Duration cost = {};    ///< with so much of its restart before it,
  Duration worked = {};  ///< and so much work of this run behind it.
  uint32_t number = 0;   ///< Of the end that is told with it.
};

/// What only the engine knows of a job.
struct Progress {
  Duration left;       ///< Of its work.
  Duration cost = {};  ///< Of this run's restart.
  Time pending_since;
  uint32_t run = 0;        ///< Number of the present or last run.
  bool is_moving = false;  ///< It gets another place.
  bool is_leaving = false;
  bool is_suspending = false;  ///< When it must be gone it is suspended instead,
  bool is_turn_over = false;   ///< since its turn is over (Order::suspends()).
  base::JobId kept_id = {};    ///< While it is suspended: under that id it holds what it keeps.
  Time runs_since;             ///< Its start, or when it went on last.
  Duration limit = {};         ///< What of the time limit was left then.
  Duration done = {};          ///< Time that this run worked before that,
  Duration done_work = {};     ///< and the work that it did in it.
  Pace pace = {};
  model::Company company = {};  ///< What it tells of its pace says so, where its partition asks.
  double contention_at_submit = 0;
  Time size_since;          ///< An elastic gang has had its present size since then.
  model::Allocation least;  ///< What it started with: an elastic gang has its extensions beside that.
  std::map<base::JobId, model::Allocation> extensions = {};
};

/// A run that ends, or that must be gone.
struct Ending {
  Time at;
  uint32_t job = 0;
  uint32_t run = 0;  ///< It is stale if the job has another run by now.
  bool is_eviction = false;
  base::JobId extension = {};  ///< Of an elastic gang: only this one must be gone.
  uint32_t pace = 0;           ///< Of the end of its work: stale if the run has another pace by now (Pace::number).
  bool operator>(const Ending& o) const {
    return std::tie(at, job, run, extension) > std::tie(o.at, o.job, o.run, o.extension);
  }
};

/// What comes, and when.
struct Timetable {
  std::vector<uint32_t> arrivals;  ///< In order of time.
  size_t next_arrival = 0;
  std::priority_queue<Ending, std::vector<Ending>, std::greater<>> endings;
  std::set<std::pair<Time, uint32_t>> reports = {};  ///< When who tells again how fast it is.
  Time timer = Time::never();                        ///< When the scheduler wants to be called again.
  Time last_event = kStart;                          ///< A job arrived, or ended.

  bool has_arrivals() const { return next_arrival < arrivals.size(); }
};

/// Whose the ids are that are not those of jobs.
struct PartIds {
  std::vector<std::pair<uint32_t, uint32_t>> components;  ///< Job and component of the ids above those of jobs.
  std::map<base::JobId, uint32_t> gang_of;                ///< The jobs that the extensions of elastic gangs belong to.
  std::map<base::JobId, uint32_t> kept_part_of;           ///< The suspended jobs, by the id of what they still hold.
  base::JobId next_kept_id{sched::kFirstHoldingId + (uint32_t{1} << 30)};  ///< Far above those of extensions.
};

/// Of the classes of jobs.
struct Reasons {
  std::unordered_map<sched::ClassKey, std::string> never;  ///< Why they can never run; empty: they can.
  std::map<sched::ClassKey, std::string> told;             ///< Why they wait.
  Time planned;                                            ///< When the latest plan was made.
  sched::WaitClocks waits;                                 ///< How long each job has waited for what.
};

struct UsageMeters {
  sched::UsageMeter<uint32_t> by_user;    ///< If the order looks at them.
  sched::UsageMeter<std::string> by_qos;  ///< If it counts in their shares.
  sched::ServiceSample services = {};     ///< Of jobs that ended, if an order goes by them.
};

/// Jobs of which only so many may run at once.
struct Line {
  uint32_t inside = 0;  ///< Before the scheduler, or running.
  std::deque<uint32_t> waiting = {};
};

/// The conditions of a job, as its dependency lists them.
struct Conditions {
  std::vector<bool> settled;  ///< Met or failed: not looked at again.
  size_t met = 0, failed = 0;
};

/// Which jobs wait for which (ties.h).
struct Ties {
  struct Follower {
    uint32_t job = 0, term = 0;
    auto operator<=>(const Follower&) const = default;
  };
  std::vector<std::vector<Follower>> followers;  ///< Of each job: the conditions that name it.
  std::vector<Conditions> conditions;
  std::vector<bool> is_held;     ///< It has arrived, and the scheduler does not know it yet;
  std::vector<bool> is_in_line;  ///< it waits for its turn.
  std::vector<bool> is_inside;   ///< It counts in its line.
  std::map<uint32_t, Line> lines;
  using Delay = std::pair<Time, Follower>;
  std::priority_queue<Delay, std::vector<Delay>, std::greater<>> delays;  ///< When which condition is looked at again.
};

/// A GPU of which several jobs may have parts.
using SharedGpuId = std::pair<base::NodeId, uint32_t>;

struct World {
  World(const Cluster& facts, std::vector<SimJob> all, const EngineOptions& options);

  const Cluster& cluster;
  std::vector<SimJob> jobs;
  std::vector<Record> records;
  std::vector<Progress> progress;
  PartIds ids;
  bool keeps_work;        ///< See EngineOptions.
  Duration restart_cost;  ///< Likewise.
  Time now = kStart;
  Timetable timetable;
  Ties ties;
  sched::ClusterView view;
  uint64_t epoch = 0;
  Reasons reasons;
  UsageMeters usage;
  Measures measures;
  Estimates estimates;
  std::map<SharedGpuId, std::set<uint32_t>> company = {};  ///< Who runs on which, if there is a rate model.
  uint64_t changes = 0;                                    ///< Arrivals, starts, ends, evictions so far.

  /// The scheduler is told.
  void tell(sched::DeltaKind kind);
};

}  // namespace gw::sim
