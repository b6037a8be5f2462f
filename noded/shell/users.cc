// Who a uid is on this node: the implementation.
// Invariants: see users.h.
#include "noded/shell/users.h"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <vector>

namespace gw::noded {

namespace {

constexpr base::Duration kKeep = base::seconds(60);
constexpr size_t kMaxEntry = size_t{1} << 20;
constexpr int kMaxGroups = 65536;  // the kernel's bound

base::Result<std::vector<uint32_t>> read_groups(const std::string& name, gid_t gid) {
  int count = 64;
  std::vector<gid_t> groups(static_cast<size_t>(count));
  while (::getgrouplist(name.c_str(), gid, groups.data(), &count) < 0) {
    if (count > kMaxGroups || static_cast<size_t>(count) <= groups.size())
      return base::fail(base::ErrorCode::kUnavailable, "cannot read the groups of user " + name);
    groups.resize(static_cast<size_t>(count));
  }
  groups.resize(static_cast<size_t>(count));
  return std::vector<uint32_t>(groups.begin(), groups.end());
}

}  // namespace

base::Result<UserInfo> read_user(uint32_t uid) {
  std::vector<char> buffer(4096);
  passwd entry{};
  passwd* found = nullptr;
  int error = 0;
  while ((error = ::getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found)) == ERANGE &&
         buffer.size() < kMaxEntry)
    buffer.resize(buffer.size() * 2);
  if (found == nullptr && error != 0 && error != ENOENT && error != ESRCH)
    return base::fail(base::ErrorCode::kUnavailable,
                      "cannot look up uid " + std::to_string(uid) + ": " + std::generic_category().message(error));
  if (found == nullptr)
    return base::fail(base::ErrorCode::kNotFound, "this node knows no user with uid " + std::to_string(uid),
                      "the user databases of all nodes must agree");
  UserInfo user;
  user.name = entry.pw_name;
  user.uid = uid;
  user.gid = entry.pw_gid;
  user.home = entry.pw_dir;
  user.shell = entry.pw_shell;
  GW_TRY(groups, read_groups(user.name, entry.pw_gid));
  user.groups = std::move(groups);
  return user;
}

void Users::look_up(uint32_t uid, Answer answer) {
  const auto known = known_.find(uid);
  if (known != known_.end() && io::Loop::monotonic() - known->second.read_at < kKeep)
    return loop_.defer([answer = std::move(answer), user = known->second.user] { answer(user); });
  worker_.submit([this, uid, answer = std::move(answer), poster = loop_.poster()] {
    poster.post([this, uid, answer, user = read_user(uid)] {
      if (user) known_[uid] = {*user, io::Loop::monotonic()};
      answer(user);
    });
  });
}

}  // namespace gw::noded
