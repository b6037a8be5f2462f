// Who may ask for what: what each kind of request grants (wire/request_kinds.h) against the role of who asks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ctld/core/settings.h"
#include "wire/request_kinds.h"

namespace gw::ctld {

using wire::Grant;

/// The authenticated sender, resolved by the shell: uid and gid from the credential, names from the user database.
struct Caller {
  uint32_t uid = UINT32_MAX;
  uint32_t gid = UINT32_MAX;
  std::string user;  ///< The number as text if the uid has no name.
  std::string group;
  std::vector<std::string> groups;  ///< Names, primary one included.
  std::string token = {};           ///< Of who acts by a token its id: see TokenTable.
};

/// What the caller is to the thing that the request is about. The strongest that holds counts.
enum class Role : uint8_t { kOther, kOwner, kOperator, kAdmin, kNode };
constexpr int kRoleCount = 5;

/// Does `role` satisfy `grant`?
bool is_allowed(Grant grant, Role role);
/// Does this list of users and @groups name the caller?
bool is_named(const std::vector<std::string>& list, const Caller& caller);
bool is_admin(const Settings& settings, const Caller& caller);
/// "you are not the owner of job 7 (it belongs to alice); ..." for a refusal.
std::string denial(Grant grant);

}  // namespace gw::ctld
