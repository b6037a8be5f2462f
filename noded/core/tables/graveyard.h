// The ends of runs that are gone and forgotten, for messages that come late or twice.
// Invariants: never more than kMost graves of jobs and of steps each; the oldest go first; the later of two ends stays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "noded/core/facts.h"
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

/// Of jobs, which have one run here at a time, and of steps.
class Graves {
 public:
  void bury(RunKey key, uint32_t generation, std::optional<wire::PrepareFailed> failure, std::string root = {}) {
    Tombstone stone{key.attempt, generation, std::move(failure), std::move(root)};
    if (key.is_step()) return steps_.bury(key, std::move(stone));
    jobs_.bury(key.job, std::move(stone));
  }

  /// `root`: the state that the controller works from. A grave of another one says nothing of a run that has its
  /// number.
  const Tombstone* find(RunKey key, const std::string& root) const {
    const Tombstone* grave = key.is_step() ? steps_.find(key) : jobs_.find(key.job);
    const bool is_other = grave != nullptr && !grave->root.empty() && grave->root != root;
    return is_other ? nullptr : grave;
  }

  void clear() {
    jobs_.clear();
    steps_.clear();
  }

 private:
  Graveyard<uint32_t> jobs_;
  Graveyard<RunKey> steps_;
};

}  // namespace gw::noded
