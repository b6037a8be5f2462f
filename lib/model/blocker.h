// What keeps a job waiting, as data: each thing that is in its way says of which kind it is, where, how much is asked,
// what there is and who has it. Words are made from it in one place (blocker.cc), and two waits are compared by kind
// and scope. The order of the enumerators is that of the records that tell them: new ones come last.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace gw::model {

enum class BlockerKind : uint8_t {
  kUnknown,  ///< Of a later version.
  // What rules nodes of a partition out, from what users mean first to the finest. `nodes` tells how many.
  kNodeList,
  kExcludedNode,
  kReservedNode,
  kFeatures,
  kGpuType,
  kGpuSharing,
  kUnregisteredNode,
  kUnavailableNode,  ///< `held_by` says why: "drained: disk".
  kGpus,
  kLocality,
  kCores,
  kMemory,
  kNotEmpty,  ///< It wants nodes to itself.
  // In a partition.
  kNodes,  ///< Too few of its nodes could hold a part now: asked, of how many, and how many could not.
  kPlannedStart,
  kStrictOrder,  ///< `held_by`: the number of the job before it, or words where that is not to be told.
  kPartitionTimeLimit,
  kComponents,
  kQuotaOfWhole,  ///< What it would really be given exceeds its quotas.
  kPartitionDown,
  kPartitionGone,
  // Of a reservation. `until`: its border.
  kReservationGone,
  kReservationMaintenance,
  kReservationUsers,
  kReservationEnded,
  kReservationBegins,
  kReservationEnds,  ///< Before the time limit of the job, `asked` seconds.
  // Of a QOS.
  kLimit,
  kUserLimit,
  kGuarantee,  ///< It can never be preempted, so it starts only within this.
  kPreemptChildren,
  kFairShare,
  // Of the job itself, before the scheduler hears of it.
  kHeldByOwner,
  kHeldByAdministrator,
  kBeginTime,
  kLaunchBackoff,
  kNodesNotLeft,    ///< An earlier attempt of it, or of another component, is still on its nodes.
  kOtherComponent,  ///< `held_by`: which, and why.
  kNotLookedAt,     ///< The scheduler has not come to it yet.
  // Rules nodes out, as those from kNodeList to kNotEmpty do.
  kOldNodeDaemon,  ///< It does not understand all that the job says of itself.
  // Of the job itself, again. `held_by`: what is left of its dependency.
  kDependency,
  kDependencyNeverSatisfied,
  // Of an array with tasks left.
  kArrayTaskLimit,   ///< So many of its tasks may run at once: `bound`.
  kTasksBefore,      ///< So many of its tasks wait before the scheduler: `held`.
  kUsersOtherTasks,  ///< Its user has as many jobs as may be: `bound`.
  // Of a QOS, or of a user (scope: the job), before the scheduler hears of it.
  kBudgetSpent,  ///< Of its `bound` GPU-seconds `held` are used, until the next period begins.
  // Rule nodes out, as those from kNodeList to kNotEmpty do.
  kGres,
  kTmpDisk,
  kLayout,  ///< Sockets, cores of a socket, threads of a core.
  kApart,   ///< Too few of its neighbours could hold a part, too.
  kFilter,  ///< The filter of the partition keeps it for other jobs.
};
constexpr BlockerKind kLastBlockerKind = BlockerKind::kFilter;
/// "gpus", "planned_start": as JSON has it.
std::string_view name(BlockerKind kind);

enum class BlockerScope : uint8_t { kJob, kPartition, kQos, kReservation };
std::string_view name(BlockerScope scope);

struct Blocker {
  BlockerKind kind = BlockerKind::kUnknown;
  BlockerScope scope = BlockerScope::kJob;
  std::string where = {};     ///< Of the scope: the partition, "QOS a", the reservation, the job.
  std::string resource = {};  ///< What asked, bound and held count; empty: nothing.
  uint64_t asked = 0;
  uint64_t bound = 0;  ///< What there is, or may be held.
  uint64_t held = 0;   ///< Of it, by others or of no use.
  uint32_t nodes = 0;  ///< That it rules out.
  std::string held_by = {};
  base::Time until = {};  ///< When it will be over, as far as that is known.
  bool operator==(const Blocker&) const = default;
};
using Blockers = std::vector<Blocker>;

/// The same thing is in the way at the same place, whatever the amounts.
inline bool is_same_cause(const Blocker& a, const Blocker& b) {
  return a.kind == b.kind && a.scope == b.scope && a.where == b.where;
}

/// Whom `held_by` names where it is a job: "job 7"; words where that is not to be told.
std::string holder_of(const Blocker& b);
/// For people: all of it, in one line.
std::string words(const Blockers& blockers);
/// What would help; empty: to wait.
std::string_view help(BlockerKind kind);

}  // namespace gw::model
