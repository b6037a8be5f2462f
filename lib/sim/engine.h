// The virtual clock: jobs arrive, run and end, and the daemon's own scheduler decides everything else. The engine keeps
// a sched::ClusterView by the same deltas as the controller, calls sched::plan(), and carries out what it decides.
// Invariants: at one instant first what ends, then what arrives, then passes until the scheduler decides nothing more;
// how long a job will run is known to the engine alone (an order that is told, is told by SimJob::tells_work); equal
// input gives equal output.
#pragma once

#include <functional>
#include <optional>
#include <queue>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "sched/cycle/plan.h"
#include "sched/place/fragmentation.h"
#include "sched/quota/usage.h"
#include "sim/cluster.h"

namespace gw::sim {

/// A job of the simulation. Its position in the list is its number.
struct SimJob {
  std::string name;
  sched::PendingJob job;             ///< Ids are given by the engine; `submitted` in the future: it arrives then.
  Duration work = base::kUnlimited;  ///< How long it runs if nothing ends it.
  bool tells_work = false;           ///< Orders are told how much of it is left.
  struct Running {
    std::vector<std::string> at;  ///< A node per task.
    Time started;
  };
  std::optional<Running> running;  ///< It runs at the start.
};

struct EngineOptions {
  std::optional<Time> until;   ///< The clock goes no further.
  bool keeps_work = false;     ///< A job that is taken off goes on where it was.
  Duration restart_cost = {};  ///< What each restart adds to its run.
  sched::Budget budget;
  /// Looks at the scheduler's view after each instant; an error ends the run. For checks of its invariants.
  std::function<base::Status(const sched::ClusterView&, Time now)> watch = {};
};

enum class Phase : uint8_t { kFuture, kPending, kRunning, kEnded };

/// What became of a job.
struct Record {
  Phase phase = Phase::kFuture;
  bool is_refused = false;  ///< It could never run, which is told at submission.
  bool ran_at_start = false;
  bool is_elastic = false;
  Time submitted;  ///< When it arrived.
  Time started;    ///< Of its latest run; zero: never.
  Time ended;
  Duration waited = {};  ///< In all, before the first start and after each time it was taken off.
  uint32_t taken_off = 0;
  uint32_t moves = 0;
  uint64_t given_back_milli = 0;  ///< Of GPUs that an elastic gang gave back in order to go on smaller.
  double held_gpu_s = 0;          ///< GPU-seconds held in all runs.
  double held_cpu_s = 0;
  double lost_gpu_s = 0;  ///< GPU-seconds of work lost and of restart costs.
  double contention = 0;  ///< Jobs in the system, on average over its stay.
  std::string partition;
  model::Allocation allocation;               ///< Of its latest run.
  std::vector<model::Allocation> components;  ///< Likewise.
  model::Allocation first_allocation;         ///< Of a job that ran at the start.
  std::string why;                            ///< Why it waits, or why it ended other than by itself.
};

/// The state of the cluster from one instant to the next.
struct Sample {
  Time at;
  uint64_t busy_gpu_milli = 0;
  uint64_t busy_cpus = 0;
  double fragmented_gpu_milli = 0;  ///< Free, but of no use to a job drawn from those of this simulation.
  uint32_t pending = 0;
  uint32_t running = 0;
};

class Engine {
 public:
  Engine(const Cluster& cluster, std::vector<SimJob> jobs, const EngineOptions& options);
  /// Errors: a job that runs at the start does not fit ("job r0: ..."); the scheduler does not come to rest.
  base::Status run();

  const std::vector<SimJob>& jobs() const { return jobs_; }
  const std::vector<Record>& records() const { return records_; }
  const std::vector<Sample>& samples() const { return samples_; }
  Time now() const { return now_; }
  uint64_t gpu_milli() const { return gpu_milli_; }
  uint64_t cpus() const { return cpus_; }
  uint64_t passes() const { return passes_; }

 private:
  /// A run that ends, or that must be gone.
  struct Ending {
    Time at;
    uint32_t job = 0;
    uint32_t run = 0;  ///< It is stale if the job has another run by now.
    bool is_eviction = false;
    base::JobId piece = {};  ///< Of an elastic gang: only this one must be gone.
    bool operator>(const Ending& o) const {
      return std::tie(at, job, run, piece) > std::tie(o.at, o.job, o.run, o.piece);
    }
  };
  /// What only the engine knows of a job.
  struct State {
    Duration left;       ///< Of its work.
    Duration cost = {};  ///< Of this run's restart.
    Time pending_since;
    uint32_t run = 0;        ///< Number of the present or last run.
    bool is_moving = false;  // it gets another place
    bool is_leaving = false;
    double contention_at_submit = 0;
    Time size_since;          ///< An elastic gang has had its present size since then.
    model::Allocation least;  ///< What it started with: an elastic gang has its pieces beside that.
    std::map<base::JobId, model::Allocation> pieces = {};
  };

  const Cluster& cluster_;
  std::vector<SimJob> jobs_;
  EngineOptions options_;
  sched::ClusterView view_;
  uint64_t epoch_ = 0;
  Time now_ = kStart;
  Time timer_ = Time::never();
  Time planned_;                    // when the latest plan was made
  std::vector<uint32_t> arrivals_;  ///< In order of time.
  size_t next_arrival_ = 0;
  std::priority_queue<Ending, std::vector<Ending>, std::greater<>> endings_;
  Time last_event_ = kStart;  ///< A job arrived, or ended.
  std::vector<Record> records_;
  std::vector<State> states_;
  std::map<base::JobId, uint32_t> gang_of_;           ///< The jobs that the pieces of elastic gangs belong to.
  std::vector<std::pair<uint32_t, uint32_t>> parts_;  ///< Job and component of the ids above those of jobs.
  std::vector<Sample> samples_;
  Sample current_;
  std::unordered_map<sched::ClassKey, std::string> never_;  ///< Why jobs of a class can never run; empty: they can.
  std::map<sched::ClassKey, std::string> told_;             ///< Why jobs of a class wait.
  sched::UsageMeter<uint32_t> usage_;                       ///< By user, if the order looks at them.
  sched::UsageMeter<std::string> qos_usage_;                ///< If it counts in their shares.
  sched::Workload workload_;
  std::vector<double> fragmented_;     ///< By node id.
  std::vector<base::NodeId> touched_;  ///< Nodes whose share of the fragmentation is to be worked out again.
  double contention_ = 0;              ///< Job-seconds in the system so far.
  uint64_t gpu_milli_ = 0, cpus_ = 0;
  uint64_t passes_ = 0;
  uint64_t changes_ = 0;  ///< Arrivals, starts, ends, evictions so far.

  void apply(sched::DeltaKind kind);
  void set_up_cluster();
  void number_jobs();
  base::Status start_running_jobs();
  base::Status place_running(uint32_t job);
  base::Result<std::string> partition_of(const SimJob& job) const;
  base::Result<model::Allocation> allocation_at(const SimJob& job, const std::string& partition,
                                                std::span<const std::string> at) const;
  void sort_arrivals();

  Time next_instant() const;
  void drop_stale_endings();
  void go_to(Time t);
  base::Status settle();
  void end_what_is_due();
  void admit_what_is_due();
  base::Status plan_to_rest();

  void admit(uint32_t job);
  std::string why_never(const sched::PendingJob& job) const;
  void queue(uint32_t job);
  /// Carries out one decision; true if it changed anything.
  base::Result<bool> carry_out(const sched::Decision& decision);
  base::Status start(const sched::Start& start);
  void give(base::JobId id, const model::Allocation& allocation, const std::string& partition, Duration limit);
  void begin_run(uint32_t job, Duration limit);
  void preempt(uint32_t job, Duration grace, bool is_move);
  std::vector<base::JobId> ids_of(uint32_t job) const;
  void take_off(uint32_t job);
  void grow(const sched::Grow& grow);
  void add_piece(uint32_t job, base::JobId piece, const model::Allocation& allocation);
  void shrink(base::JobId piece, Duration grace);
  void drop_piece(uint32_t job, base::JobId piece);
  void release(base::JobId id, const model::Allocation& allocation);
  void resize(uint32_t job);
  void end(uint32_t job, std::string why);
  /// Books what the job held since its size last changed, and how much of its work is lost.
  void book(uint32_t job, Duration lost);
  void leave_nodes(uint32_t job);
  void leave_system(uint32_t job);
  void count(const model::Allocation& allocation, bool is_given);
  void change_rate(uint32_t job, int sign);
  bool counts_past() const { return view_.policy().fairness_over_time > 0; }
  bool awaits_tick() const;
  Time last_tick() const;
  void send_usage(Time at);
  void sample();
  void explain_waits();
};

}  // namespace gw::sim
