// A set of node positions, sparse or dense, with fast counts over ranges: a page of bits is allocated when it is first
// used. Invariant: count() is the number of bits set; a page without bits may stay allocated.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace gw::sched {

class NodeBits {
 public:
  NodeBits() = default;
  NodeBits(const NodeBits& o) { *this |= o; }
  NodeBits& operator=(const NodeBits& o);
  NodeBits(NodeBits&&) = default;
  NodeBits& operator=(NodeBits&&) = default;

  void insert(uint32_t position);
  void erase(uint32_t position);
  bool contains(uint32_t position) const;
  uint32_t count() const { return count_; }
  bool empty() const { return count_ == 0; }
  /// Smallest position not below `from`; UINT32_MAX if none.
  uint32_t next(uint32_t from) const;
  /// Members in [first, last).
  uint32_t count_in(uint32_t first, uint32_t last) const;
  NodeBits& operator|=(const NodeBits& o);

 private:
  static constexpr uint32_t kWords = 16;
  static constexpr uint32_t kPageBits = kWords * 64;
  struct Page {
    std::array<uint64_t, kWords> words{};
    uint32_t count = 0;
  };
  std::vector<std::unique_ptr<Page>> pages_;
  uint32_t count_ = 0;

  Page& page_of(uint32_t position);
};

}  // namespace gw::sched
