// Roles, and what they satisfy.
#include "ctld/core/authorize.h"

#include <algorithm>

namespace gw::ctld {

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
