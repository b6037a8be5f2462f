// The scheduler's one entry: plan() looks at a view and says what should happen. Pure and deterministic: same view,
// same time, same budget, same plan. Invariants: decisions of one group hold together or fall together; a plan never
// gives one resource twice, now or in a reservation; the view is unchanged when plan() returns, but for the memory of
// what was told to waiting classes and of who was looked at (Cursor).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "model/blocker.h"
#include "model/job_state.h"
#include "model/wait_split.h"
#include "sched/ledger/timeline.h"
#include "sched/quota/grounds.h"
#include "sched/view/view.h"

namespace gw::sched {

/// How many steps a pass may take; never milliseconds, so that a replay is exact.
struct Budget {
  uint64_t placements = 100'000;  ///< Requests held against the nodes.
  uint64_t starts = 1'000;        ///< Starts that are decided, now or once others have left; the next pass continues.
  /// Requests of the classes of one user that are held against the nodes in a pass while others wait as well; the next
  /// pass continues (Cursor). 0: no more than all have.
  uint64_t per_user = 2'000;
};

/// Start this gang there. A heterogeneous job is a group with one Start per component.
struct Start {
  JobId job;
  std::string partition;
  model::Allocation allocation;
  Duration time_limit = base::kUnlimited;  ///< Shortened where the job allows it (--time-min).
  std::optional<Borrowing> borrows = {};   ///< Beyond a guarantee; of several components it is told with the first.
};
/// An elastic gang grows by this extension, which is preempted like a job of its own: a Preempt of it makes the gang
/// smaller.
struct Grow {
  JobId gang;
  JobId extension;
  model::Allocation allocation;  ///< One share.
};
/// Kept for a blocked job: nothing that starts now may delay it. An estimate, made anew in each plan.
struct PlannedStart {
  JobId job;
  std::string partition;
  Time start;
  std::vector<std::string> nodes;
  bool operator==(const PlannedStart&) const = default;
};
/// Preempt::rule by which those who share a GPU are parted: for one that runs (company.h).
constexpr int kCompanyRule = 14;
/// Take this running job off; it waits again. Or this extension of an elastic gang, which continues without it.
struct Preempt {
  JobId job;
  JobId beneficiary;
  Duration grace = {};  ///< So long it may still run.
  int rule = 0;         ///< Of docs/quotas.md, by which it may be taken; 0: by the order's own right.
  /// It gets another place at once: a Start of it follows in the group, or with grace a Nomination.
  bool is_move = false;
  bool is_suspended = false;          ///< It is suspended and keeps its memory: the room that it leaves is enough.
  std::optional<Ground> ground = {};  ///< What that was decided by; of moves nothing.
  /// Does it count in `scheduler.preemptions_per_hour`? Not where nothing is lost, nor inside one QOS.
  bool is_counted() const { return (rule == 5 || rule == 6) && !is_suspended; }
};
/// All jobs of this class wait. Told when anything of it changes.
struct Wait {
  ClassKey job_class;
  model::WaitReason reason = model::WaitReason::kNone;
  model::Blockers blockers;                               ///< Everything that is in the way.
  model::WaitCause cause = model::WaitCause::kScheduler;  ///< What its time counts for from now on.
};
/// End a job that can no longer do what was asked: its deadline cannot be met.
struct Reject {
  JobId job;
  model::WaitReason reason = model::WaitReason::kNone;
  std::string detail;
};
using Decision = std::variant<Start, Grow, Preempt, Nomination, Wait, Reject>;
/// Decisions that hold together or fall together.
struct Group {
  std::vector<Decision> decisions;
};

/// What consolidation would do where it is only tried: this job would start if those stood elsewhere. No decision.
struct WouldMove {
  struct Move {
    JobId job;
    std::vector<std::string> to;  ///< Nodes.
    bool operator==(const Move&) const = default;
  };
  JobId job;
  std::string partition;
  std::vector<std::string> nodes;
  std::vector<Move> moves;
  bool operator==(const WouldMove&) const = default;
};

struct Plan {
  uint64_t epoch = 0;         ///< Of the view it was made from.
  Time at;                    ///< When it was made.
  std::vector<Group> groups;  ///< In the order in which they were decided.
  /// What is kept for the first blocked jobs of each partition, if all that runs continues until its limit; jobs that
  /// end sooner bring these starts forward.
  std::vector<PlannedStart> planned_starts;
  /// Nodes that are kept by now for jobs whose start nobody can foresee (patience.h); without a start.
  std::vector<PlannedStart> gathered;
  uint64_t placements = 0;              ///< Steps taken: requests held against the nodes.
  uint64_t cut_searches = 0;            ///< Searches for victims that had to leave possible sets out.
  uint64_t backfilled = 0;              ///< Starts in a partition where nodes are kept for a job before them.
  bool exhausted = false;               ///< The budget ran out half-way: plan again at once.
  bool put_off = false;                 ///< Classes of some users were put off: plan again at once.
  Time next_change_at = Time::never();  ///< First moment at which time alone could change an answer.
  std::vector<WouldMove> would_move;    ///< Of partitions where consolidation is a dry run.
  /// Everybody was looked at: once its decisions are carried out, and if it had none, only a change or time brings
  /// more.
  bool is_whole() const { return !exhausted && !put_off; }
};

/// One pass; it continues where the one before stopped, if that was not whole. `now` must not go back from one call to
/// the next.
Plan plan(ClusterView& view, Time now, const Budget& budget);

/// Carries a plan's decisions out, which changes the view; true if anything changed.
using CarryOut = std::function<base::Result<bool>(const Plan&)>;
/// Plans, and has it carried out, until nothing is decided any more and everybody was looked at; what the controller
/// does pass by pass, as its deltas come. False: it keeps deciding for ever. Errors: of `carry_out`.
base::Result<bool> plan_to_rest(ClusterView& view, Time now, const Budget& budget, const CarryOut& carry_out);

/// So much of its time limit a job may lose at the end of its advance reservation, so that one as long as the
/// reservation fits although it starts a moment after it began. Also what the controller bears with when it checks a
/// plan, which is a moment old by then.
constexpr Duration kReservationSlack = base::minutes(1);

/// What keeps a job from starting now inside the advance reservation that it names, for so long; nullopt: nothing.
std::optional<model::Blocker> why_closed(const AdvanceReservations& reservations, const PendingJob& job, Time now,
                                         Duration length);

/// Puts the present and next occurrences of all advance reservations into a timeline.
void add_reservations(const AdvanceReservations& reservations, const Capacity& capacity, Time now, Timeline& timeline);

/// Does a start keep to the advance reservations? Asked by the controller before it commits a decision: the job's own
/// is open, and none of the nodes is kept for others while it runs.
base::Status check_reservations(const AdvanceReservations& reservations, const PendingJob& job, const Start& start,
                                Time now);

/// Does a start still hold? Asked by the controller before it commits a decision: partition up, nodes usable, resources
/// free in its own ledger, request met. The error says what no longer holds.
base::Status check(const Capacity& capacity, const PendingJob& job, const Start& start);

/// So long after the last of its victims should have left a nomination still holds.
constexpr Duration kNominationPatience = base::minutes(2);

}  // namespace gw::sched
