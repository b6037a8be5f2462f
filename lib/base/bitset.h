// A set of small indices (cores, GPUs) as bits. Grows as needed; equal sets compare equal whatever their capacity.
#pragma once

#include <cstdint>
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
  /// Linux list form "0-3,8"; empty text is the empty set. Errors: garbage, an index above 65535.
  static Result<IndexSet> parse(std::string_view list);

  void insert(uint32_t i);
  void erase(uint32_t i);
  bool contains(uint32_t i) const;
  bool empty() const;
  uint32_t size() const;
  /// Smallest index not below `from`; UINT32_MAX if none. Iterate: for (i = next(0); i != UINT32_MAX; i = next(i + 1)).
  uint32_t next(uint32_t from) const;
  std::vector<uint32_t> to_vector() const;
  /// "0-3,8"
  std::string text() const;
  /// The indices below 64 as a word.
  uint64_t low_word() const { return low_; }

  IndexSet& operator|=(const IndexSet& o);
  IndexSet& operator&=(const IndexSet& o);
  IndexSet& operator-=(const IndexSet& o);
  bool intersects(const IndexSet& o) const;
  bool is_subset_of(const IndexSet& o) const;
  bool operator==(const IndexSet& o) const;

 private:
  uint64_t low_ = 0;            // indices 0..63
  std::vector<uint64_t> rest_;  // indices 64.. ; never ends in a zero word

  void normalise();
};

}  // namespace gw::base
