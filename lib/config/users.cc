// Users and groups of this host. See read.h.
#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>

#include <optional>

#include "base/text.h"
#include "config/read.h"

namespace gw::config {
namespace {

constexpr size_t kMaxAdmins = 1000;  // Each is looked up, maybe over the network.
constexpr size_t kMaxEntry = 1 << 20;
constexpr int64_t kMaxUid = 4'294'967'294;

// Runs a getXXnam_r with a buffer that grows; what is not found and what cannot be looked up both give nothing.
template <typename Entry, typename Get>
std::optional<Entry> look_up(Get get) {
  for (size_t size = 4096; size <= kMaxEntry; size *= 4) {
    std::vector<char> buffer(size);
    Entry entry{};
    Entry* found = nullptr;
    int code = get(&entry, buffer.data(), buffer.size(), &found);
    if (code == ERANGE) continue;
    return found == nullptr ? std::nullopt : std::optional<Entry>(entry);
  }
  return std::nullopt;
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::optional<uint32_t> uid_of(const std::string& user) {
  auto entry = look_up<passwd>([&](passwd* to, char* buffer, size_t size, passwd** found) {
    return getpwnam_r(user.c_str(), to, buffer, size, found);
  });
  return entry ? std::optional<uint32_t>(entry->pw_uid) : std::nullopt;
}

bool is_group(const std::string& name) {
  return look_up<group>([&](group* to, char* buffer, size_t size, group** found) {
           return getgrnam_r(name.c_str(), to, buffer, size, found);
         })
      .has_value();
}

}  // namespace

std::optional<uint32_t> uid_of_user(const std::string& user) {
  if (!is_number(user)) return uid_of(user);
  const auto uid = base::parse_int(user, 0, kMaxUid, "user");
  return uid ? std::optional<uint32_t>(static_cast<uint32_t>(*uid)) : std::nullopt;
}

void resolve_controller_user(const Value& root, Config& c, Problems& problems) {
  const Value& at = place_of(root, "controller.user");
  if (is_number(c.controller_user)) {
    auto uid = base::parse_int(c.controller_user, 0, kMaxUid, "controller.user");
    if (!uid) return problems.error(at, uid.error());
    c.controller_uid = static_cast<uint32_t>(*uid);
    return;
  }
  if (auto uid = uid_of(c.controller_user))
    c.controller_uid = *uid;
  else
    problems.host_error(
        at, fmt::format("controller.user: this host has no user \"{}\"", base::printable(c.controller_user)),
        "create it on every host with the same uid (useradd --system), or name another user or a uid");
}

void check_admins(const Value& root, const Config& c, Problems& problems) {
  const Value& at = place_of(root, "admins");
  if (c.admins.size() > kMaxAdmins)
    return problems.error(at, fmt::format("more than {} admins", kMaxAdmins), "name a @group");
  for (const std::string& admin : c.admins) {
    bool is_group_name = admin.starts_with('@');
    std::string name = is_group_name ? admin.substr(1) : admin;
    if (name.empty() || name.find_first_of(" \t:/") != std::string::npos)
      problems.error(at, fmt::format("\"{}\" is not a user or @group", base::printable(admin)));
    else if (!is_number(name) && !(is_group_name ? is_group(name) : uid_of(name).has_value()))
      problems.warn(
          at, fmt::format("admins: this host has no {} {}", is_group_name ? "group" : "user", base::printable(name)));
  }
}

}  // namespace gw::config
