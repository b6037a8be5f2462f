// Jobs that could start now, as the scheduler holds them: grouped into classes of equal requests, ordered within.
// Source: design section 7, "equal requests are decided once".
// Invariants: a job is in exactly one class; a class is never empty; two jobs of one class differ only in id, priority,
// user (unless the order looks at users), times, and in how long they hold out for what closeness, so that what blocks
// one blocks all. What they want at present is part of the class: as time passes, jobs go from one to another.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "model/blocker.h"
#include "model/named_counts.h"
#include "model/request.h"
#include "model/wait_split.h"

namespace gw::sched {

using base::Duration;
using base::JobId;
using base::Time;

class Orders;
struct ReadyTimes;

/// Names a class of equal requests: everything that placement looks at, written out, so that no two classes can clash.
using ClassKey = std::string;

/// A further component of a heterogeneous job; it starts together with the job that carries it, or not at all.
struct Component {
  JobId id;
  model::Request request;
  std::vector<std::string> partitions;
  model::Licenses licenses = {};
};

/// May a preempted job be suspended instead of being ended, and is it told before?
enum class Suspends : uint8_t { kNo, kAtOnce, kAfterGrace };

/// A job that is not held, not in the future and not backing off; or a suspended one, which waits to resume.
struct PendingJob {
  JobId id;
  model::Request request;
  std::vector<std::string> partitions;  ///< In order of preference.
  std::string qos;
  uint32_t uid = 0;
  int64_t priority = 0;      ///< As submitted; higher first, compared before the order plug-in's score.
  int64_t nice = 0;          ///< Lowers what the order plug-in computes.
  int64_t qos_priority = 0;  ///< Raises it.
  Time submitted;            ///< The first time, kept over requeues.
  Time eligible;             ///< Since when it could start: locality waits count from here.
  Time saved;                ///< While it runs: when it last saved its work; zero: never.
  Duration time_limit = base::kUnlimited;
  Duration time_min = {};  ///< --time-min: may be shortened to this in order to start sooner; zero: not at all.
  Time deadline;           ///< Must have ended by then; zero: none.
  /// What orders that look at durations go by: the time still to run at its start. kUnlimited: the time limit.
  Duration remaining = base::kUnlimited;
  /// From then on it has run for longer than it told, and nobody knows how long it takes; zero: it may keep its word.
  Time overruns = {};
  /// Service so far, in all its runs: time multiplied by GPUs held (32 threads without GPUs count as one).
  Duration attained = {};
  /// While it runs: `attained` counts up to then; zero: up to its start. While it waits: it is suspended since then.
  Time counted_at = {};
  std::string reservation;  ///< Runs inside this advance reservation; empty: outside all.
  bool preemptible = true;
  bool may_move = true;               ///< If it is preempted it runs again, so that another place is of use to it.
  std::vector<Component> components;  ///< Of a heterogeneous job, without the first, which is the job itself.
  JobId whole;                        ///< Of a component that runs: its job. None: it is no component.
  /// Of an elastic gang, whose `request` is for its smallest size: it grows to so many tasks. 0: it is not elastic.
  uint32_t most_tasks = 0;
  bool grows_by_node = false;  ///< Only onto nodes that it is not on yet.
  /// Of such a gang: with k times the tasks it is k^(scaling / 100) times as fast; 100 where nothing is known.
  uint32_t scaling = 100;
  JobId gang;                ///< Of an extension of an elastic gang above its smallest size, which runs: the gang.
  uint32_t preemptions = 0;  ///< So often it was preempted before; it is protected the longer.
  Suspends suspends = Suspends::kNo;       ///< While it runs.
  Suspends between_turns = Suspends::kNo;  ///< The same, where it yields its turn to another (Order::suspends()).
  bool saves_work = false;                 ///< If it is preempted it saves its work before it ends.
  JobId suspended;                         ///< Of what a suspended job still holds: the job.
  model::Licenses licenses = {};           ///< That it takes while it runs, without those of its components.
};

/// Ids from here on are those of extensions of elastic gangs and of what suspended jobs keep; no job has one.
constexpr uint32_t kFirstHoldingId = uint32_t{1} << 31;

/// An extension of a running elastic gang. It can be preempted even where the gang cannot.
PendingJob extension_of(const PendingJob& gang, JobId extension, uint32_t tasks);

/// What a suspended job still holds, as if that were a running job. It can be preempted like the job itself.
PendingJob kept_part_of(const PendingJob& job, JobId holder);

/// A component of a heterogeneous job as it runs.
PendingJob component_of(const PendingJob& job, JobId component);

/// Everything of a job that decides where and whether it can start, however it was written: lists of which the order
/// means nothing count as sorted. `by_user`: the order looks at users. `now`: of closeness only what it wants then;
/// without, all that it will ever want.
ClassKey class_key(const PendingJob& job, bool by_user = false, std::optional<Time> now = std::nullopt);

/// Who is served first within a class: higher priority, then the order plug-in's key, less nice, older, smaller id.
struct Rank {
  int64_t priority = 0;
  double key = 0;
  int64_t nice = 0;
  Time submitted;
  JobId id;
  /// ~ turns the order round, as a minus does, but for every number.
  auto tie() const { return std::tuple(~priority, key, nice, submitted, id); }
  bool operator<(const Rank& o) const { return tie() < o.tie(); }
  bool operator==(const Rank& o) const { return tie() == o.tie(); }
};

/// Equal requests.
struct JobClass {
  std::map<Rank, PendingJob> members;  ///< Best first. Never empty.
  uint64_t told = 0;                   ///< Hash of what was last said about why it waits.
  uint64_t blocked_at = 0;             ///< Gains::version() when its request last found no room at all; 0: not known.
  uint32_t blocked_fitting = 0;        ///< Nodes that could take a part of it then.
  model::Blockers blocked_by;          ///< What was in the way then.
  std::map<uint32_t, size_t> users;    ///< How many jobs of each.
  uint64_t passed_in = 0;              ///< Pass that looked at it last and found that it waits (Cursor); 0: none.
  const PendingJob& shape() const { return members.begin()->second; }
  bool was_limited = false;                               ///< What it found then was a limit, not a want of room.
  model::WaitCause lacks = model::WaitCause::kResources;  ///< What it lacked when that was looked at last,
  uint64_t lacks_in = 0;                                  ///< in this round (Queue::round).
  /// Whose jobs they all are; nullopt: of several.
  std::optional<uint32_t> only_user() const {
    return users.size() == 1 ? std::optional(users.begin()->first) : std::nullopt;
  }
};

class Queue {
 public:
  /// Who ranks members; existing classes are ranked anew. Null: no keys, users do not matter.
  void set_orders(std::shared_ptr<const Orders> orders, bool by_user = false);
  /// Adds a job, or replaces it if its id is there.
  void put(const PendingJob& job);
  /// Unknown ids are ignored.
  void remove(JobId id);
  /// It is `now`: jobs that want something else by now go to other classes, and those that rank otherwise to other
  /// places in theirs. Never back.
  void advance_to(Time now);
  /// When that happens next.
  Time next_change() const { return edges_.empty() ? Time::never() : edges_.begin()->first; }
  const std::map<ClassKey, JobClass>& classes() const { return classes_; }
  std::map<ClassKey, JobClass>& classes() { return classes_; }
  const PendingJob* find(JobId id) const;
  /// Null: it does not wait.
  JobClass* class_of(JobId id);
  size_t size() const { return where_.size(); }
  /// When what it wants, or one of its components, changes next.
  static Time next_change_of(const PendingJob& job, Time now);
  /// What classes lack is looked at in rounds, each of which may take several passes.
  struct Round {
    uint64_t number = 1;
    uint64_t steps = 0;  ///< Taken for that in this pass.
  };
  Round round;
  /// From when on each node could take a part: one memory for all classes that differ in whose they are only.
  ReadyTimes& ready_times(const PendingJob& job, const std::string& partition);
  /// Takes the memory of another queue over the same nodes, and gives its own.
  void swap_ready_times(Queue& other) { std::swap(ready_, other.ready_); }
  /// Drops what classes remember of earlier passes: the next plan() is made from scratch, and tells every class again.
  void forget();

 private:
  struct Place {
    std::map<ClassKey, JobClass>::iterator job_class;
    Rank rank;
    Time until;  // it is of that class, and ranks so in it
  };
  std::map<std::string, std::shared_ptr<ReadyTimes>> ready_;  // by request, partition and time limit
  std::shared_ptr<const Orders> orders_;
  bool by_user_ = false;  // jobs of different users are of different classes
  std::map<ClassKey, JobClass> classes_;
  std::unordered_map<JobId, Place> where_;
  std::set<std::pair<Time, JobId>> edges_;  // when jobs want something else, or rank otherwise
  Time now_;
};

}  // namespace gw::sched
