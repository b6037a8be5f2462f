// User database look-ups in threads.
#include "ctld/shell/user_directory.h"

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>

#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>

namespace gw::ctld {
namespace {

constexpr size_t kBuffer = 64 << 10;
constexpr size_t kMaxBuffer = 16 << 20;
constexpr const char* kHint = "the user database of the controller's host (getent passwd) fails; try again later";

/// Runs a get..._r function with a buffer that is large enough; returns its error, 0 for found and for not there.
template <typename Fn>
int with_buffer(std::vector<char>& buffer, Fn&& fn) {
  buffer.resize(kBuffer);
  int error = fn();
  while (error == ERANGE && buffer.size() < kMaxBuffer) {
    buffer.resize(buffer.size() * 4);
    error = fn();
  }
  // POSIX lets "not there" be told by any of these.
  const bool is_absent = error == ENOENT || error == ESRCH || error == EBADF || error == EPERM;
  return is_absent ? 0 : error;
}

std::string group_name(gid_t gid) {
  std::vector<char> buffer;
  group record{};
  group* found = nullptr;
  with_buffer(buffer, [&] { return getgrgid_r(gid, &record, buffer.data(), buffer.size(), &found); });
  return found != nullptr ? found->gr_name : std::to_string(gid);
}

}  // namespace

base::Result<Caller> look_up(uint32_t uid, uint32_t gid) {
  Caller out{uid, gid, std::to_string(uid), group_name(gid), {}};
  std::vector<char> buffer;
  passwd record{};
  passwd* found = nullptr;
  const int error = with_buffer(buffer, [&] { return getpwuid_r(uid, &record, buffer.data(), buffer.size(), &found); });
  if (error != 0 && found == nullptr)
    return base::fail(base::ErrorCode::kUnavailable,
                      fmt::format("the name of uid {} cannot be looked up: {}", uid, std::strerror(error)), kHint);
  if (found == nullptr) {
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

/// The queue between loop and threads; lives as long as either.
struct UserDirectory::Shared {
  Shared(LookUpFn fn, io::Poster poster) : look_up(std::move(fn)), post(std::move(poster)) {}
  const LookUpFn look_up;
  const io::Poster post;
  std::mutex mutex;
  std::condition_variable wake;
  std::deque<Key> queue;
  UserDirectory* owner = nullptr;  // the loop's; null once it has gone
  bool is_stopping = false;

  static void work(const std::shared_ptr<Shared>& shared) {
    while (true) {
      Key key;
      {
        std::unique_lock lock(shared->mutex);
        shared->wake.wait(lock, [&] { return shared->is_stopping || !shared->queue.empty(); });
        if (shared->is_stopping) return;
        key = shared->queue.front();
        shared->queue.pop_front();
      }
      shared->post.post([shared, key, found = shared->look_up(key.first, key.second)] {
        if (shared->owner != nullptr) shared->owner->on_found(key, found);
      });
    }
  }
};

UserDirectory::UserDirectory(io::Loop& loop, LookUpFn look_up, Limits limits)
    : loop_(loop), limits_(limits), shared_(std::make_shared<Shared>(std::move(look_up), loop.poster())) {
  shared_->owner = this;
  constexpr int kThreads = 4;  // so that one name that hangs does not hold up the others
  for (int i = 0; i < kThreads; ++i) std::thread([shared = shared_] { Shared::work(shared); }).detach();
}

UserDirectory::~UserDirectory() {
  shared_->owner = nullptr;
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->is_stopping = true;
  }
  shared_->wake.notify_all();
}

void UserDirectory::find(uint32_t uid, uint32_t gid, FoundFn fn) {
  const Key key{uid, gid};
  const auto it = known_.find(key);
  if (it != known_.end() && io::Loop::monotonic() - it->second.at < limits_.fresh) return fn(it->second.caller);
  const auto [question, is_new] = asked_.try_emplace(key);
  question->second.askers.push_back(std::move(fn));
  if (question->second.is_late) return on_silence(key);
  if (!is_new) return;
  question->second.patience = loop_.after(limits_.patience, [this, key] { on_silence(key); });
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->queue.push_back(key);
  }
  shared_->wake.notify_one();
}

base::Result<Caller> UserDirectory::remembered(Key key, const base::Error& otherwise) const {
  const auto it = known_.find(key);
  if (it != known_.end() && io::Loop::monotonic() - it->second.at < limits_.stale) return it->second.caller;
  return tl::unexpected(otherwise);
}

/// The question stays open: its answer is still of use to whoever comes next.
void UserDirectory::on_silence(Key key) {
  Question& question = asked_.at(key);
  question.is_late = true;
  const base::Error silent{base::ErrorCode::kUnavailable,
                           fmt::format("the user database does not say who uid {} is", key.first), kHint};
  const base::Result<Caller> answer = remembered(key, silent);
  const std::vector<FoundFn> askers = std::exchange(question.askers, {});
  for (const FoundFn& fn : askers) fn(answer);
}

void UserDirectory::on_found(Key key, const base::Result<Caller>& found) {
  const auto it = asked_.find(key);
  if (it == asked_.end()) return;
  const std::vector<FoundFn> askers = std::move(it->second.askers);
  asked_.erase(it);
  if (found) {
    forget_old();
    known_[key] = {*found, io::Loop::monotonic()};
  }
  const base::Result<Caller> answer = found ? found : remembered(key, found.error());
  for (const FoundFn& fn : askers) fn(answer);
}

/// What any user can make grow by asking with many groups stays bounded.
void UserDirectory::forget_old() {
  constexpr size_t kMany = 10'000;
  if (known_.size() < kMany) return;
  const base::Duration now = io::Loop::monotonic();
  std::erase_if(known_, [&](const auto& entry) { return now - entry.second.at >= limits_.fresh; });
  if (known_.size() >= kMany) known_.clear();
}

}  // namespace gw::ctld
