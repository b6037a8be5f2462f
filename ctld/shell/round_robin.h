// Whose turn it is: connections that want something are served one request at a time, users in turn, and the
// connections of one user in turn, so that a flood of one user delays that user alone. Pure.
// Invariant: a connection stands in line at most once; a user stands in line while a connection of his does.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>

#include "ctld/core/effects.h"

namespace gw::ctld {

class RoundRobin {
 public:
  /// This connection wants a turn; one that stands in line already stays where it is.
  void want(uint32_t uid, ConnId conn) {
    if (!waiting_.insert(conn).second) return;
    std::deque<ConnId>& mine = by_user_[uid];
    if (mine.empty()) users_.push_back(uid);
    mine.push_back(conn);
  }
  /// The next one, which leaves the line; its user goes to the end of it. Connections that have closed meanwhile come,
  /// too: the caller passes over them.
  std::optional<ConnId> next() {
    if (users_.empty()) return std::nullopt;
    const uint32_t uid = users_.front();
    users_.pop_front();
    std::deque<ConnId>& mine = by_user_.at(uid);
    const ConnId conn = mine.front();
    mine.pop_front();
    waiting_.erase(conn);
    if (mine.empty())
      by_user_.erase(uid);
    else
      users_.push_back(uid);
    return conn;
  }
  bool empty() const { return users_.empty(); }

 private:
  std::deque<uint32_t> users_;
  std::map<uint32_t, std::deque<ConnId>> by_user_;
  std::set<ConnId> waiting_;
};

}  // namespace gw::ctld
