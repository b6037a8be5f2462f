// The words for what keeps jobs waiting; see blocker.h.
#include "model/blocker.h"

#include <fmt/format.h>

#include <array>

#include "base/check.h"
#include "base/counted.h"
#include "base/text.h"
#include "model/qos.h"

namespace gw::model {
namespace {

struct KindFacts {
  std::string_view name;
  std::string_view one, many;  ///< Of nodes that it rules out: "1 is ...", "3 are ...".
  std::string_view help;
};

constexpr std::string_view kFewer = "ask for less on one node, or for more nodes";
constexpr std::string_view kRelease = "gcontrol release N";
constexpr size_t kKinds = static_cast<size_t>(kLastBlockerKind) + 1;
/// In the order of BlockerKind.
constexpr std::array<KindFacts, kKinds> kFacts = {{
    {"unknown", "is ruled out", "are ruled out", ""},
    {"node_list", "is not in --nodelist", "are not in --nodelist", "name more nodes in --nodelist"},
    {"excluded_node", "is excluded by --exclude", "are excluded by --exclude", "name fewer nodes in --exclude"},
    {"reserved_node", "is outside the reservation", "are outside the reservation", ""},
    {"features", "lacks the features asked", "lack the features asked", "ask for other features with --constraint"},
    {"gpu_type", "has no GPU of the type asked", "have no GPU of the type asked", "ask for another type, or for any"},
    {"gpu_sharing", "is in a partition without shared GPUs", "are in a partition without shared GPUs",
     "ask for whole GPUs"},
    {"unregistered_node", "has never registered", "have never registered", ""},
    {"unavailable_node", "is not available", "are not available", ""},
    {"gpus", "has too few free GPUs", "have too few free GPUs", kFewer},
    {"locality", "has no free GPUs so close together", "have no free GPUs so close together",
     "a wider --locality fits sooner"},
    {"cores", "has too few free cores", "have too few free cores", kFewer},
    {"memory", "has too little free memory", "have too little free memory", kFewer},
    {"not_empty", "is not empty (exclusive)", "are not empty (exclusive)", "without --exclusive it fits sooner"},
    {"nodes", "", "", ""},
    {"planned_start", "", "", "a shorter --time or a --time-min may fit before"},
    {"strict_order", "", "", ""},
    {"partition_time_limit", "", "", "ask for a shorter --time"},
    {"components", "", "", ""},
    {"quota_of_whole", "", "", "ask for less, so that whole cores and their memory stay within the quotas"},
    {"partition_down", "", "", "name another --partition"},
    {"partition_gone", "", "", "name another --partition"},
    {"reservation_gone", "", "", "take it off with gcontrol update JobId=N Reservation="},
    {"reservation_maintenance", "", "", ""},
    {"reservation_users", "", "", "ask an administrator to be among its users"},
    {"reservation_ended", "", "", "take it off with gcontrol update JobId=N Reservation="},
    {"reservation_begins", "", "", ""},
    {"reservation_ends", "", "", "ask for a shorter --time"},
    {"limit", "", "", ""},
    {"user_limit", "", "", ""},
    {"guarantee", "", "", "submit to a QOS whose jobs can be preempted"},
    {"preempt_children", "", "", ""},
    {"fair_share", "", "", ""},
    {"held_by_owner", "", "", kRelease},
    {"held_by_administrator", "", "", kRelease},
    {"begin_time", "", "", "gcontrol update JobId=N StartTime=now"},
    {"launch_backoff", "", "", ""},
    {"nodes_not_left", "", "", ""},
    {"other_component", "", "", ""},
    {"not_looked_at", "", "", ""},
    {"old_node_daemon", "has a node daemon that is too old for it", "have node daemons that are too old for it",
     "have their node daemons upgraded: gcontrol show node tells the version of each"},
    {"dependency", "", "", ""},
    {"dependency_never_satisfied", "", "", "gcontrol update JobId=N Dependency="},
    {"array_task_limit", "", "", ""},
    {"tasks_before", "", "", ""},
    {"users_other_tasks", "", "", ""},
    {"budget_spent", "", "", "submit to a QOS whose budget is not spent"},
    {"gres", "has too few free generic resources", "have too few free generic resources",
     "ask for fewer of --gres, or for more nodes with fewer on each"},
    {"tmp_disk", "has no such disk for temporary files", "have no such disk for temporary files", "ask for less --tmp"},
    {"layout", "has fewer sockets, cores of a socket or threads of a core than asked",
     "have fewer sockets, cores of a socket or threads of a core than asked", "ask for fewer with -B"},
    {"apart", "has too few neighbours that could hold a part, too",
     "have too few neighbours that could hold a part, too", "without --contiguous it fits sooner"},
    {"filter", "is kept for other jobs by the partition's filter", "are kept for other jobs by the partition's filter",
     "name another --partition; gcontrol show partition tells of its filter"},
}};

constexpr std::array<std::string_view, 4> kScopes = {"job", "partition", "qos", "reservation"};

const KindFacts& facts_of(BlockerKind kind) {
  const auto i = static_cast<size_t>(kind);
  GW_CHECK(i < kFacts.size());
  return kFacts[i];
}

bool rules_nodes_out(const Blocker& b) {
  return (b.kind >= BlockerKind::kNodeList && b.kind <= BlockerKind::kNotEmpty) ||
         b.kind == BlockerKind::kOldNodeDaemon || b.kind == BlockerKind::kGres || b.kind == BlockerKind::kTmpDisk ||
         b.kind == BlockerKind::kLayout || b.kind == BlockerKind::kApart || b.kind == BlockerKind::kFilter;
}

/// "3 have too few free GPUs"
std::string of_nodes(const Blocker& b) {
  const KindFacts& facts = facts_of(b.kind);
  if (!b.held_by.empty()) return fmt::format("{} {} {}", b.nodes, b.nodes == 1 ? "is" : "are", b.held_by);
  return fmt::format("{} {}", b.nodes, b.nodes == 1 ? facts.one : facts.many);
}

/// "needs 2 nodes; of 4 in partition main: 3 have too few free GPUs, 1 could hold a part"
std::string of_partition(const Blocker& head, const std::vector<std::string>& ruled_out) {
  if (head.bound == 0) return fmt::format("partition {} has no nodes", head.where);
  std::vector<std::string> parts = ruled_out;
  if (const uint64_t fitting = head.bound - head.held; fitting > 0)
    parts.push_back(
        fmt::format("{} could hold a part{}", fitting, fitting < head.asked ? "" : ", but they cannot hold all of it"));
  return fmt::format("needs {} node{}; of {} in partition {}: {}", head.asked, head.asked == 1 ? "" : "s", head.bound,
                     head.where, base::join(parts, ", "));
}

/// "2 of licence matlab are needed; 3 of its 4 are in use"
std::string of_license(const Blocker& b, std::string_view name) {
  const std::string kept = b.held_by.empty() ? "" : ", and what is left is kept for " + holder_of(b);
  return fmt::format("{} of licence {} {} needed; {} of its {} {} in use{}", b.asked, name, b.asked == 1 ? "is" : "are",
                     b.held, b.bound, b.held == 1 ? "is" : "are", kept);
}

std::string of_quota(const Blocker& b) {
  constexpr std::string_view kLicense = "license:";
  if (b.resource.starts_with(kLicense)) return of_license(b, std::string_view(b.resource).substr(kLicense.size()));
  const std::string resource = b.resource != "job" ? b.resource : b.bound == 1 ? "job" : "jobs";
  const auto amount = [&resource](uint64_t n) { return format_amount(resource, n); };
  const bool is_limit = b.kind != BlockerKind::kGuarantee;
  const std::string what =
      is_limit ? fmt::format("the limit of {}{} is {} {}", b.kind == BlockerKind::kUserLimit ? "each user in " : "",
                             b.where, amount(b.bound), resource)
               : fmt::format("it can never be preempted, so it starts only within what {} is guaranteed, {} {}",
                             b.where, amount(b.bound), resource);
  const std::string kept = b.held_by.empty() ? "" : ", and what is left is kept for " + holder_of(b);
  return what + fmt::format(": {} held{}, {} more asked{}", amount(b.held), is_limit ? "" : " by such jobs",
                            amount(b.asked), kept);
}

std::string of_reservation(const Blocker& b) {
  switch (b.kind) {
    case BlockerKind::kReservationGone:
      return fmt::format("reservation {} has ended or was deleted", b.where);
    case BlockerKind::kReservationMaintenance:
      return fmt::format("reservation {} is for maintenance: nobody runs in it", b.where);
    case BlockerKind::kReservationUsers:
      return fmt::format("reservation {} is not open to its user", b.where);
    case BlockerKind::kReservationBegins:
      return fmt::format("reservation {} begins at {}", b.where, base::format_time(b.until));
    case BlockerKind::kReservationEnds:
      return fmt::format("reservation {} ends at {}, before the job's time limit of {}", b.where,
                         base::format_time(b.until),
                         base::format_duration(b.asked == UINT64_MAX ? base::kUnlimited
                                                                     : base::seconds(static_cast<int64_t>(b.asked))));
    default:
      return fmt::format("reservation {} has ended", b.where);
  }
}

std::string of_job(const Blocker& b) {
  switch (b.kind) {
    case BlockerKind::kHeldByOwner:
      return "held by its owner: gcontrol release " + b.where;
    case BlockerKind::kHeldByAdministrator:
      return "held by an administrator or after failed launches: gcontrol release " + b.where +
             (b.held_by.empty() ? "" : "; its last run: " + b.held_by);
    case BlockerKind::kBeginTime:
      return "waits until " + base::format_time(b.until);
    case BlockerKind::kDependency:
      return "waits for " + b.held_by;
    case BlockerKind::kDependencyNeverSatisfied:
      return fmt::format("it can never start: {}; gcontrol update jobid={} dependency= takes that away", b.held_by,
                         b.where);
    case BlockerKind::kLaunchBackoff:
      return fmt::format("waits until {}; its launch failed: {}", base::format_time(b.until), b.held_by);
    case BlockerKind::kNodesNotLeft:
    case BlockerKind::kOtherComponent:
      return b.held_by;
    case BlockerKind::kArrayTaskLimit:
      return fmt::format("{} of its tasks may run at once", b.bound);
    case BlockerKind::kTasksBefore:
      return fmt::format("its next {} wait before the scheduler", base::counted(b.held, "task"));
    case BlockerKind::kUsersOtherTasks:
      return fmt::format("its user has {} that wait or run (users.max_jobs)", base::counted(b.bound, "job"));
    case BlockerKind::kNotLookedAt:
      return "the scheduler has not looked at it yet";
    default:
      return "it waits for a reason that this version does not know";
  }
}

std::string of_itself(const Blocker& b) {
  switch (b.kind) {
    case BlockerKind::kPlannedStart:
      return fmt::format(
          "partition {} has free resources, but they are kept for planned starts of jobs before it or for a "
          "reservation; a shorter --time or a --time-min may fit before",
          b.where);
    case BlockerKind::kStrictOrder:
      return fmt::format("partition {} serves strictly in order: {} is before it and waits", b.where, holder_of(b));
    case BlockerKind::kPartitionTimeLimit:
      return fmt::format("its time limit is longer than partition {} allows", b.where);
    case BlockerKind::kComponents:
      return "a component of the job does not fit beside the others";
    case BlockerKind::kQuotaOfWhole:
      return fmt::format(
          "what it would be given in partition {}, in whole cores and with the memory that goes with them, is more "
          "than its quotas leave it",
          b.where);
    case BlockerKind::kPartitionDown:
      return fmt::format("partition {} is down", b.where);
    case BlockerKind::kPartitionGone:
      return fmt::format("partition {} is gone", b.where);
    case BlockerKind::kPreemptChildren:
      return fmt::format("{} has preempt_children off, so its own jobs take nothing from the QOS below it", b.where);
    case BlockerKind::kBudgetSpent:
      return fmt::format("the budget of {} is spent: {}{}", b.where, b.held_by,
                         b.until == base::Time::never() ? "" : ", the next begins at " + base::format_time(b.until));
    case BlockerKind::kFairShare:
      return fmt::format("with it {} would hold more than its fair share, so it waits for what others leave idle",
                         b.where);
    default:
      break;
  }
  if (b.scope == BlockerScope::kQos) return of_quota(b);
  return b.scope == BlockerScope::kReservation ? of_reservation(b) : of_job(b);
}

}  // namespace

std::string_view name(BlockerKind kind) { return facts_of(kind).name; }

std::string_view name(BlockerScope scope) { return kScopes.at(static_cast<size_t>(scope)); }

std::string holder_of(const Blocker& b) {
  const bool is_number = b.held_by.find_first_not_of("0123456789") == std::string::npos;
  return is_number ? "job " + b.held_by : b.held_by;
}

std::string_view help(BlockerKind kind) { return facts_of(kind).help; }

std::string words(const Blockers& blockers) {
  std::vector<std::string> all;
  for (size_t i = 0; i < blockers.size(); ++i) {
    const Blocker& b = blockers[i];
    if (b.kind != BlockerKind::kNodes) {
      all.push_back(rules_nodes_out(b) ? of_nodes(b) : of_itself(b));
      continue;
    }
    std::vector<std::string> ruled_out;
    while (i + 1 < blockers.size() && rules_nodes_out(blockers[i + 1])) ruled_out.push_back(of_nodes(blockers[++i]));
    all.push_back(of_partition(b, ruled_out));
  }
  return base::join(all, "; ");
}

}  // namespace gw::model
