// See change_watch.h.
#include "ctld/core/tables/change_watch.h"

#include <utility>

namespace gw::ctld {

void ChangeWatch::tell(ConnId conn, uint64_t request_id, Outbox& out) const {
  wire::ApiReply reply;
  reply.mutable_await_change()->set_version(version_);
  out.reply(conn, request_id, std::move(reply));
}

void ChangeWatch::count_change() {
  if (std::exchange(has_changed_, false)) ++version_;
}

bool ChangeWatch::ask(base::Time now, ConnId conn, uint64_t request_id, uint64_t seen, Outbox& out) {
  if (watchers_.contains(conn)) return false;
  count_change();
  if (seen == 0) {
    tell(conn, request_id, out);
    return true;
  }
  watchers_[conn] = {request_id, seen, now};
  if (seen != version_) is_anyone_behind_ = is_behind_in_round_ = true;
  return true;
}

base::Time ChangeWatch::next_due() const {
  constexpr base::Duration kIdle = base::seconds(1);
  if (watchers_.empty()) return base::Time::never();
  return looked_ + (is_anyone_behind_ || next_ != 0 ? kLookEvery : kIdle);
}

void ChangeWatch::look(base::Time now, Outbox& out) {
  looked_ = now;
  count_change();
  auto it = watchers_.lower_bound(next_);
  for (size_t i = 0; i < kLooks && it != watchers_.end(); ++i) {
    const auto& [conn, watcher] = *it;
    const bool is_behind = watcher.seen != version_;
    if (now >= watcher.asked + (is_behind ? kApart : kLongestWait)) {
      tell(conn, watcher.request_id, out);
      it = watchers_.erase(it);
      continue;
    }
    is_behind_in_round_ |= is_behind;
    ++it;
  }
  next_ = it == watchers_.end() ? 0 : it->first;
  if (next_ == 0) is_anyone_behind_ = std::exchange(is_behind_in_round_, false);
}

}  // namespace gw::ctld
