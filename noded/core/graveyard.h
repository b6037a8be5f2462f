// The ends of runs that are gone and forgotten, for messages that come late or twice.
// Invariant: never more than kMost graves; the oldest go first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "wire/node.pb.h"

namespace gw::noded {

struct Tombstone {
  uint32_t attempt = 0;
  uint32_t generation = 0;
  std::optional<wire::PrepareFailed> failure;
  std::string root = {};  ///< Of the state that it was placed in.
  auto age() const { return std::pair(attempt, generation); }
};

template <typename Key>
class Graveyard {
 public:
  static constexpr size_t kMost = 1024;

  const Tombstone* find(const Key& key) const {
    const auto it = graves_.find(key);
    return it == graves_.end() ? nullptr : &it->second;
  }

  /// An end that was later than this one stays.
  void bury(const Key& key, Tombstone&& tombstone) {
    auto [it, is_new] = graves_.try_emplace(key);
    if (!is_new && it->second.age() > tombstone.age()) return;
    it->second = std::move(tombstone);
    if (!is_new) return;
    order_.push_back(key);
    if (order_.size() <= kMost) return;
    graves_.erase(order_.front());
    order_.pop_front();
  }

  void clear() {
    graves_.clear();
    order_.clear();
  }

 private:
  std::map<Key, Tombstone> graves_;
  std::deque<Key> order_;
};

}  // namespace gw::noded
