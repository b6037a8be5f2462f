// The authorization table.
#include "ctld/core/authorize.h"

#include <algorithm>

namespace gw::ctld {

Grant grant_of(wire::ApiRequest::KindCase kind) {
  using Kind = wire::ApiRequest;
  switch (kind) {
    // Reading the queue and the cluster is open to everybody; scripts and environments are checked by job (kOwnJobs).
    case Kind::kListJobs:
      return Grant::kEverybody;
    case Kind::kShowJob:
      return Grant::kEverybody;
    case Kind::kWaitJob:
      return Grant::kEverybody;
    case Kind::kListNodes:
      return Grant::kEverybody;
    case Kind::kListPartitions:
    case Kind::kShowConfig:
      return Grant::kEverybody;
    case Kind::kPing:
    case Kind::kListHeldAside:
      return Grant::kEverybody;
    // Submission is open; partition, QOS and uid 0 rules are asked by the handler.
    case Kind::kSubmit:
      return Grant::kEverybody;
    case Kind::kCancel:
      return Grant::kOwnJobs;
    case Kind::kUpdateJob:
      return Grant::kOwnJobs;
    case Kind::kJobAction:
      return Grant::kOwnJobs;
    case Kind::kUpdateNode:
    case Kind::kUpdatePartition:
      return Grant::kAdmins;
    case Kind::kListPriorities:
    case Kind::kListReservations:
      return Grant::kEverybody;
    case Kind::kCreateReservation:
    case Kind::kUpdateReservation:
    case Kind::kDeleteReservation:
      return Grant::kAdmins;
    // Operators may change what is below their QOS: asked for each change.
    case Kind::kChangeQuotas:
      return Grant::kEverybody;
    case Kind::kListQuotas:
    case Kind::kShowShares:
    case Kind::kExplainQuota:
      return Grant::kEverybody;
    case Kind::kCheckpointed:
      return Grant::kOwnJobs;
    // Who may watch a step only, and who begins one, the handlers ask.
    case Kind::kCreateStep:
    case Kind::kTicket:
    case Kind::kSignalStep:
    case Kind::kEndAllocation:
    case Kind::kStepUsage:
      return Grant::kOwnJobs;
    case Kind::kListSteps:
      return Grant::kEverybody;
    case Kind::kCreatePartition:
    case Kind::kDeletePartition:
      return Grant::kAdmins;
    case Kind::kReconfigure:
      return Grant::kAdmins;
    case Kind::kBackup:
    case Kind::kDeleteHeldAside:
      return Grant::kAdmins;
    case Kind::kTakeSnapshot:
      return Grant::kAdmins;
    case Kind::KIND_NOT_SET:
      return Grant::kNobody;
  }
  return Grant::kNobody;
}

bool is_allowed(Grant grant, Role role) {
  // A node's credential is good for its own link alone: it is no user of this interface.
  if (role == Role::kNode) return false;
  switch (grant) {
    case Grant::kNobody:
      return false;
    case Grant::kEverybody:
      return true;
    case Grant::kOwnJobs:
      return role != Role::kOther;
    case Grant::kAdmins:
      return role == Role::kAdmin;
  }
  return false;
}

bool is_named(const std::vector<std::string>& list, const Caller& caller) {
  return std::any_of(list.begin(), list.end(), [&](const std::string& name) {
    if (!name.starts_with('@')) return name == caller.user;
    return std::find(caller.groups.begin(), caller.groups.end(), name.substr(1)) != caller.groups.end();
  });
}

bool is_admin(const Settings& settings, const Caller& caller) {
  return settings.admin_uids.contains(caller.uid) || is_named(settings.admin_users, caller);
}

std::string denial(Grant grant) {
  switch (grant) {
    case Grant::kOwnJobs:
      return "only the owner of a job and administrators may do this";
    case Grant::kAdmins:
      return "only administrators may do this (admins: in the configuration)";
    default:
      return "not allowed";
  }
}

}  // namespace gw::ctld
