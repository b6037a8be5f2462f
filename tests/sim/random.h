// Random numbers of the cluster in a box: the same seed gives the same numbers on every machine (SplitMix64).
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "base/time.h"

namespace gw::sim_cluster {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    state_ += 0x9E3779B97F4A7C15U;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31);
  }
  /// From 0 to `sides` - 1.
  uint32_t operator()(uint64_t sides) { return static_cast<uint32_t>(next() % sides); }
  bool chance(uint32_t percent) { return (*this)(100) < percent; }
  /// From `low` to `high`, both included.
  int64_t between(int64_t low, int64_t high) { return low + static_cast<int64_t>(next() % (high - low + 1U)); }
  base::Duration between(base::Duration low, base::Duration high) { return {between(low.us, high.us)}; }
  template <typename List>
  const auto& any(const List& list) {
    return *(std::begin(list) + (*this)(std::size(list)));
  }
  template <typename T>
  T any(std::initializer_list<T> list) {
    return *(list.begin() + (*this)(list.size()));
  }
  /// Numbers of their own: what one draws does not change what the other gets.
  Random fork() { return Random(next()); }

 private:
  uint64_t state_;
};

}  // namespace gw::sim_cluster
