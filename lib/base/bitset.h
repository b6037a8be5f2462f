// A set of small indices (cores, GPUs) as bits. Grows as needed; equal sets compare equal whatever their capacity.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gw::base {

/// A set of indices. Up to 64 of them take no heap memory.
class IndexSet {
 public:
  IndexSet() = default;
  /// {0, ..., n-1}
  static IndexSet first(uint32_t n);
  static IndexSet of(std::initializer_list<uint32_t> indices);
  /// The inverse of word(): words[i] holds the indices 64 * i to 64 * i + 63.
  static IndexSet from_words(std::span<const uint64_t> words);
  /// Linux list form "0-3,8"; empty text is the empty set. Errors: garbage, an index above 65535.
  static Result<IndexSet> parse(std::string_view list);

  void insert(uint32_t i);
  void erase(uint32_t i);
  bool contains(uint32_t i) const;
  bool empty() const { return low_ == 0 && rest_.empty(); }
  uint32_t size() const;
  /// Smallest index not below `from`; UINT32_MAX if none. Iterate: for (i = next(0); i != UINT32_MAX; i = next(i + 1)).
  uint32_t next(uint32_t from) const;
  std::vector<uint32_t> to_vector() const;
  /// "0-3,8"
  std::string text() const;
  /// The indices below 64 as a word.
  uint64_t low_word() const { return low_; }
  /// The indices 64 * i to 64 * i + 63 as a word; 0 beyond the last.
  uint64_t word(size_t i) const { return i == 0 ? low_ : i <= rest_.size() ? rest_[i - 1] : 0; }
  /// As many words as it takes to hold every index; at least 1.
  size_t word_count() const { return rest_.size() + 1; }

  IndexSet& operator|=(const IndexSet& o);
  IndexSet& operator&=(const IndexSet& o);
  IndexSet& operator-=(const IndexSet& o);
  bool intersects(const IndexSet& o) const;
  /// How many indices both sets hold.
  uint32_t common(const IndexSet& o) const;
  bool is_subset_of(const IndexSet& o) const;
  bool operator==(const IndexSet& o) const;

 private:
  uint64_t low_ = 0;            // indices 0..63
  std::vector<uint64_t> rest_;  // indices 64.. ; never ends in a zero word

  void normalise();
};

}  // namespace gw::base
