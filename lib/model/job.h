// A job: what was submitted (JobSpec, changed only by `gcontrol update`) and where it stands (Job).
// Invariants: `state` and the alternative held by `phase` agree (see Job::is_consistent); attempt grows by one with
// each placement and is part of every message about a run, so that late reports of an earlier run are dropped.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "base/boxed.h"
#include "base/ids.h"
#include "base/time.h"
#include "model/array.h"
#include "model/contract.h"
#include "model/dependency.h"
#include "model/job_state.h"
#include "model/progress.h"
#include "model/request.h"
#include "model/run_use.h"
#include "model/wait_split.h"

namespace gw::model {

/// --signal=[B:]SIG[@SECONDS]: sent before the time limit.
struct WarnSignal {
  int signo = 0;
  uint32_t seconds_before = 60;
  bool batch_only = false;
  bool operator==(const WarnSignal&) const = default;
};

/// Soft resource limits of a submission by name ("NOFILE"); UINT64_MAX is infinity. Copies share one table, since most
/// submissions of a cluster have the same.
class Limits {
 public:
  using Table = std::map<std::string, uint64_t>;
  Limits() = default;
  explicit Limits(Table table) : table_(std::make_shared<const Table>(std::move(table))) {}
  const Table& table() const;
  bool operator==(const Limits& o) const { return table_ == o.table_ || table() == o.table(); }

 private:
  std::shared_ptr<const Table> table_;
};

/// What becomes of a job that is preempted for another.
enum class OnPreempt : uint8_t {
  kRequeue,     ///< It waits again and runs again from the start, or from what it saved by itself.
  kCancel,      ///< It ends.
  kCheckpoint,  ///< It waits again; ending with exit code 0 or `gangway checkpointed` says that its work was saved.
  kSuspend,     ///< It is suspended, keeps its memory, and resumes where it is; as kRequeue where that makes no room.
};
/// In the order of their numbers.
inline constexpr std::array kOnPreempt = {OnPreempt::kRequeue, OnPreempt::kCancel, OnPreempt::kCheckpoint,
                                          OnPreempt::kSuspend};
std::string_view name(OnPreempt what);

/// What the launch needs and no scheduler looks at. Paths may hold the patterns %j %A %a %x %u %N %n %t %%.
struct Launch {
  std::string script_hash;  ///< Of the batch script in the store.
  std::string env_hash;     ///< Of the submission environment in the store (NUL-separated NAME=value).
  std::vector<std::string> args;
  std::string work_dir;
  std::string std_out, std_err, std_in;  ///< std_err empty: with std_out.
  bool append_output = false;
  uint32_t umask = 022;
  Limits limits;
  bool slurm_names = false;  ///< Submitted as sbatch: default output slurm-%j.out.
  std::string command;       ///< Path of the script as submitted; only shown. Empty for --wrap and standard input.
  bool operator==(const Launch&) const = default;
};

/// What a job runs.
enum class JobKind : uint8_t {
  kBatch,       ///< Its script.
  kAllocation,  ///< Nothing by itself: it is there for steps, until its client is done or its time is over.
  kStep,        ///< One step; it ends with that.
};

struct JobSpec {
  std::string name;
  uint32_t uid = 0;
  uint32_t gid = 0;
  std::string user;  ///< Name of uid on the controller's host; the number as text if it has none.
  std::string group;
  std::string account, qos;             ///< As given; empty means the default.
  std::vector<std::string> partitions;  ///< In order of preference; never empty after submission.
  Request request;
  base::Duration time_limit = base::kUnlimited;
  base::Duration time_min = {};             ///< May be shortened to this in order to start sooner; zero: not at all.
  base::Time begin;                         ///< Not before this; zero: at once.
  base::Time deadline;                      ///< Must have ended by then; zero: none.
  std::string reservation;                  ///< Runs inside this advance reservation; empty: outside all.
  std::string gpu_bind;                     ///< --gpu-bind in Slurm's words; empty: not given.
  std::string dependency;                   ///< On other jobs, as it was asked for; empty: none.
  bool kill_on_invalid_dependency = false;  ///< It ends if its dependency can never be met.
  std::string licenses;                     ///< Of the whole cluster, as format_licenses() has them; empty: none.
  std::string wckey;                        ///< A word to sort usage by; empty: none.
  std::string extra;                        ///< Another text of its owner, for programs; empty: none.
  std::string admin_comment;                ///< Of administrators; empty: none.
  std::string system_comment;               ///< Likewise, for what programs of the site write.
  std::string mail_type;                    ///< What its user is written to about, by name; empty: nothing.
  std::string mail_user;                    ///< Where to, with commas; empty: the user's name.
  std::string gres_flags;                   ///< --gres-flags in Slurm's words; empty: not given.
  int64_t priority = 0;                     ///< As submitted; only administrators raise it.
  int32_t nice = 0;
  bool hold_user = false;
  bool hold_admin = false;
  base::JobId het_job;      ///< Id of the first component of a heterogeneous job; none: it is not part of one.
  uint32_t het_offset = 0;  ///< Which component, from 0; its id is het_job + het_offset.
  uint32_t het_size = 0;    ///< Components in all.
  bool is_het() const { return static_cast<bool>(het_job); }
  std::optional<ArrayPlace> array;  ///< It is an array, or a task of one.
  /// It stands for the tasks that are left of an array, and does not run itself.
  bool is_array() const { return array && !array->is_task(); }
  bool requeue = true;  ///< May run again after its node failed.
  JobKind kind = JobKind::kBatch;
  bool attended = false;         ///< Ends when the client that asked for it is gone.
  bool not_preemptible = false;  ///< Is never preempted, and so never borrows.
  WarnSignal warn;
  OnPreempt on_preempt = OnPreempt::kRequeue;
  int preempt_signo = 0;  ///< Told at the beginning of the grace; 0: SIGTERM.
  int resize_signo = 0;   ///< Tells the script of an elastic gang that it has other nodes; 0: SIGWINCH.
  std::string comment;
  std::string submit_host;
  std::string submit_line;
  Launch launch;
  bool operator==(const JobSpec&) const = default;
};

/// As normalise() of its request; partitions that are named twice go. Errors: whom or at what to mail, too.
base::Status normalise(JobSpec& spec);

/// What Slurm says of a time that cannot be.
constexpr const char* kTimesSentence = "Requested time limit is invalid (missing or exceeds some limit)";

/// Refuses times that contradict each other: a time_min above the limit, a deadline before which not even the shortest
/// run could end. `now` is the time of submission.
base::Status check_times(const JobSpec& spec, base::Time now);

/// What a job has got so far, in all its runs: time multiplied by GPUs held (32 threads without GPUs count as one),
/// restarts included, but not while it is suspended.
struct Service {
  base::Duration done;  ///< Up to `since`.
  int64_t rate = 0;     ///< Millionths of a GPU that it holds since then.
  base::Time since;     ///< Zero: it has nothing to run on.
  bool operator==(const Service&) const = default;
};

/// Exit of the batch script: code or signal, as Slurm's `code:signal`.
struct ExitStatus {
  int code = 0;
  int signo = 0;
  std::string text() const { return std::to_string(code) + ":" + std::to_string(signo); }
  bool operator==(const ExitStatus&) const = default;
};

/// How a job's run came out.
struct Outcome {
  JobState end = JobState::kCompleted;
  bool requeue = false;  ///< It waits again instead of ending.
  EndReason reason = EndReason::kNone;
  std::string detail;  ///< For people: "node n3 rebooted", "output path /x: Permission denied".
  ExitStatus exit;
  uint64_t peak_mem_mb = 0;
  uint32_t cancelled_by = 0;            ///< uid, with kCancelled.
  base::Time ended;                     ///< When the run itself was over.
  std::optional<base::Duration> grace;  ///< Given to it to end by itself; not given: the cluster's.
  uint32_t preempted_for = 0;           ///< Job that it was preempted for; 0: none.
  uint32_t preempt_rule = 0;            ///< Of the quotas, by which it was taken; 0: by the order.
  RunUse use;                           ///< Of the batch script.
  bool operator==(const Outcome&) const = default;
};

/// What is kept for a job for which others are leaving.
struct Nomination {
  std::string partition;
  Allocation allocation;
  base::Time when;                         ///< By then they should be gone.
  std::vector<KeptPlace> components = {};  ///< Of a heterogeneous job: what is kept for the others, as they are listed.
  bool operator==(const Nomination&) const = default;
};

/// kPending
struct Waiting {
  WaitReason reason = WaitReason::kNone;
  base::Time not_before;  ///< Back-off after a failed launch.
  base::Time estimated_start;
  std::optional<Nomination> nomination;
  base::Time since = {};  ///< It waits this time.
  bool operator==(const Waiting&) const = default;
};

/// A node that an elastic gang has above its smallest size.
struct Extension {
  base::JobId id;         ///< Under which the scheduler knows it.
  base::Time until;       ///< It leaves then; zero: it stays.
  bool is_ready = false;  ///< The node has prepared its share.
  bool operator==(const Extension&) const = default;
};

/// Why a job is suspended, or is about to.
struct Suspension {
  base::JobId kept_id;        ///< Under which the scheduler knows what it keeps; none: it still runs.
  base::Time since;           ///< When all of it was suspended.
  uint32_t for_job = 0;       ///< It is preempted for this one; 0: somebody asked for it.
  uint32_t rule = 0;          ///< Of the quotas, by which it is preempted.
  bool is_held = false;       ///< Until somebody lets it continue.
  std::string who = {};       ///< Asked for it, for people.
  base::Time freeze_at = {};  ///< Until then it still runs, having been told.
  bool shares_gpus = false;   ///< Others may use its GPUs while it is suspended.
  bool is_turn = false;       ///< For another's turn (sched::Order::suspends()), which is no preemption.
  bool operator==(const Suspension&) const = default;
};

/// What the controller has run for a job by programs of the site. In the order of their numbers.
enum class JobProgram : uint8_t {
  kNone,
  kProlog,  ///< Before the nodes are told of the run. Whatever becomes of the run, it keeps them until this has ended.
  kEpilog,  ///< After the nodes have nothing of it left; the job is over when this is.
};
constexpr JobProgram kLastJobProgram = JobProgram::kEpilog;

/// kConfiguring, kRunning, kSuspended, kCompleting
struct Placed {
  Allocation allocation;  ///< The extensions are among it.
  std::string partition;  ///< The one of spec.partitions it runs in.
  base::Time placed;
  base::Time started;                  ///< Zero while configuring.
  std::set<base::NodeId> waiting_for;  ///< Nodes that have not yet prepared (configuring) or cleaned up (completing).
  std::set<base::NodeId> unreachable;  ///< Nodes out of reach: not known to be dead.
  std::optional<Outcome> outcome;      ///< Set when completing.
  base::Time kill_sent;                ///< When the end was asked for; zero if not.
  bool warned = false;                 ///< The warning signal was sent.
  base::Time saved;                    ///< Since when its work is lost if it ends now; zero: since the start.
  Contract contract;
  std::string gpu_types = {};       ///< What its GPUs are: "h100"; of several kinds with commas; empty: none.
  base::Duration uncut_limit = {};  ///< The time limit before it was cut (time_min) for this run; zero: it was not.
  std::map<base::NodeId, Extension> extensions;  ///< Of an elastic gang.
  std::optional<Nomination> moves_to;  ///< Of one that is moved: what is kept for it until it has left this place.
  bool preemptible = true;             ///< When it was placed: what it may keep does not change while it has it.
  std::optional<Suspension> suspension;
  uint32_t next_step = 0;                  ///< Number of the next step.
  uint32_t suspensions = 0;                ///< So many in this run, with the present one; numbers them for the nodes.
  base::Duration stood_still = {};         ///< In this run, without the present suspension.
  JobProgram program = JobProgram::kNone;  ///< Under way, or asked for.
  /// When the run began, had it never been suspended: what time limits and elapsed time count from.
  base::Time running_since() const { return started + stood_still; }
  bool operator==(const Placed&) const = default;
};

/// The final states.
struct Ended {
  Outcome outcome;
  Allocation allocation;  ///< Empty if it never started.
  std::string partition;
  base::Time started;  ///< Zero if it never started.
  base::Time ended;
  base::Duration stood_still = {};  ///< Of the time between.
  std::string gpu_types = {};       ///< As in Placed.
  TaskSet never_made = {};          ///< Tasks that were left of an array, or of a part of it.
  bool operator==(const Ended&) const = default;
};

struct Job {
  base::JobId id;
  JobSpec spec;
  JobState state = JobState::kPending;
  /// What few of many jobs are in lies apart: a job that waits does not take the room of one that runs.
  std::variant<Waiting, base::Boxed<Placed>, base::Boxed<Ended>> phase;
  base::Time submitted;
  base::Time eligible;                  ///< Since when it could have run.
  uint32_t attempt = 0;                 ///< Number of placements so far.
  uint32_t restarts = 0;                ///< Requeues after having run.
  uint32_t launch_failures = 0;         ///< In a row, where it could go nowhere else; gives the back-off.
  std::vector<std::string> shuns = {};  ///< Nodes that failed to launch it, by name; none once it has started.
  base::Time shuns_until;               ///< Until then it goes elsewhere; zero: nowhere is shunned.
  Dependency unmet = {};                ///< What it still waits for of other jobs.
  ExitStatus derived_exit = {};         ///< The worst of its steps in this run.
  uint32_t preemptions = 0;             ///< Runs that were ended so that others had room.
  uint64_t lost_gpu_ms = 0;             ///< Milliseconds of whole GPUs whose work was lost by preemptions.
  Service service = {};                 ///< What orders by attained service go by.
  Progress progress = {};               ///< What it told of that.
  WaitSplit waited = {};                ///< Before its runs, without a wait that has not come to an end.
  std::string last_failure;  ///< Why the last run did not come to its own end, for people; empty if none did.

  const Waiting* waiting() const { return std::get_if<Waiting>(&phase); }
  Waiting* waiting() { return std::get_if<Waiting>(&phase); }
  const Placed* placed() const { return inside(std::get_if<base::Boxed<Placed>>(&phase)); }
  Placed* placed() {
    auto* box = std::get_if<base::Boxed<Placed>>(&phase);
    return box == nullptr ? nullptr : &box->edit();
  }
  const Ended* ended() const { return inside(std::get_if<base::Boxed<Ended>>(&phase)); }
  bool is_held() const { return spec.hold_user || spec.hold_admin; }
  /// The phase belongs to the state.
  bool is_consistent() const;
  bool operator==(const Job&) const = default;

 private:
  template <class T>
  static const T* inside(const base::Boxed<T>* box) {
    return box == nullptr ? nullptr : &**box;
  }
};

}  // namespace gw::model
