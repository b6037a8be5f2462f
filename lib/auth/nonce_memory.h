// Which nonces a daemon has seen: MUNGE's own replay memory is local to one munged and is empty after its restart.
// Invariant: bounded. When full, the oldest is forgotten: a replayed hello gains nothing without the client's secret
// key, so this memory is a second line, and must not be a way to lock others out.
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <string_view>
#include <unordered_set>

#include "base/time.h"

namespace gw::auth {

class NonceMemory {
 public:
  explicit NonceMemory(size_t max_entries = 1 << 17) : max_entries_(max_entries) {}
  /// Remembers a 32-byte nonce until `expiry`; false if it is remembered already. Never call with another length.
  bool insert(std::string_view nonce, base::Time now, base::Time expiry);
  size_t size() const { return seen_.size(); }

 private:
  using Key = std::array<unsigned char, 32>;
  struct Hash {
    size_t operator()(const Key& key) const;
  };
  struct Entry {
    Key key;
    base::Time expiry;
  };
  size_t max_entries_;
  std::unordered_set<Key, Hash> seen_;
  std::deque<Entry> order_;  // by time of insertion
};

}  // namespace gw::auth
