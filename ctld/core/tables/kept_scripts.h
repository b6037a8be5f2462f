// Scripts of jobs that have left the controller's memory: kept for a time, in bounded number and bytes, then dropped in
// small bites, the oldest first. Pure. Invariant: a script that a job uses again is not among them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/time.h"

namespace gw::ctld {

class KeptScripts {
 public:
  struct Limits {
    base::Duration time;
    size_t bytes = 0;
    size_t count = 200'000;
  };

  /// No job uses it any more.
  void add(base::Time now, const std::string& hash, size_t bytes) {
    if (!known_.try_emplace(hash, Script{now, bytes}).second) return;
    by_age_.insert({now, hash});
    bytes_ += bytes;
  }
  /// A job uses it again.
  void remove(const std::string& hash) {
    const auto it = known_.find(hash);
    if (it == known_.end()) return;
    by_age_.erase({it->second.since, hash});
    bytes_ -= it->second.bytes;
    known_.erase(it);
  }
  /// Takes out at most `bite` of those whose time is over, or that there is no room for.
  std::vector<std::string> take_due(base::Time now, const Limits& limits, size_t bite) {
    std::vector<std::string> due;
    while (due.size() < bite && is_due(now, limits)) {
      due.push_back(by_age_.begin()->second);
      remove(due.back());
    }
    return due;
  }
  bool is_due(base::Time now, const Limits& limits) const {
    if (by_age_.empty()) return false;
    const bool is_full = bytes_ > limits.bytes || known_.size() > limits.count;
    return is_full || now - by_age_.begin()->first >= limits.time;
  }
  bool empty() const { return known_.empty(); }
  size_t bytes() const { return bytes_; }

 private:
  struct Script {
    base::Time since;
    size_t bytes = 0;
  };
  std::unordered_map<std::string, Script> known_;
  std::set<std::pair<base::Time, std::string>> by_age_;
  size_t bytes_ = 0;
};

}  // namespace gw::ctld
