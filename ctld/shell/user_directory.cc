// User database look-ups in a thread.
#include "ctld/shell/user_directory.h"

#include <grp.h>
#include <pwd.h>

#include <string>

namespace gw::ctld {
namespace {

constexpr base::Duration kFresh = base::seconds(60);
constexpr size_t kBuffer = 64 << 10;

std::string group_name(gid_t gid) {
  std::vector<char> buffer(kBuffer);
  group record{};
  group* found = nullptr;
  getgrgid_r(gid, &record, buffer.data(), buffer.size(), &found);
  return found != nullptr ? found->gr_name : std::to_string(gid);
}

}  // namespace

Caller look_up(uint32_t uid, uint32_t gid) {
  Caller out{uid, gid, std::to_string(uid), group_name(gid), {}};
  std::vector<char> buffer(kBuffer);
  passwd record{};
  passwd* found = nullptr;
  if (getpwuid_r(uid, &record, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) {
    out.groups = {out.group};
    return out;
  }
  out.user = found->pw_name;
  int count = 256;
  std::vector<gid_t> gids(static_cast<size_t>(count));
  if (getgrouplist(found->pw_name, gid, gids.data(), &count) < 0) {
    gids.resize(static_cast<size_t>(count));
    getgrouplist(found->pw_name, gid, gids.data(), &count);
  }
  gids.resize(static_cast<size_t>(count));
  for (gid_t g : gids) out.groups.push_back(group_name(g));
  return out;
}

UserDirectory::UserDirectory(io::Loop& loop) : poster_(loop.poster()), thread_([this] { work(); }) {}

UserDirectory::~UserDirectory() {
  *alive_ = false;
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void UserDirectory::find(uint32_t uid, uint32_t gid, FoundFn fn) {
  const auto it = known_.find(uid);
  if (it != known_.end() && it->second.caller.gid == gid && io::Loop::monotonic() - it->second.at < kFresh)
    return fn(it->second.caller);
  auto& waiting = asked_[uid];
  waiting.push_back(std::move(fn));
  if (waiting.size() > 1) return;
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back({uid, gid});
  }
  wake_.notify_one();
}

void UserDirectory::on_found(const Caller& caller) {
  known_[caller.uid] = {caller, io::Loop::monotonic()};
  const auto it = asked_.find(caller.uid);
  if (it == asked_.end()) return;
  const std::vector<FoundFn> waiting = std::move(it->second);
  asked_.erase(it);
  for (const FoundFn& fn : waiting) fn(caller);
}

void UserDirectory::work() {
  while (true) {
    Query query{};
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return is_stopping_ || !queue_.empty(); });
      if (is_stopping_) return;
      query = queue_.back();
      queue_.pop_back();
    }
    poster_.post([this, alive = alive_, caller = look_up(query.uid, query.gid)] {
      if (*alive) on_found(caller);
    });
  }
}

}  // namespace gw::ctld
