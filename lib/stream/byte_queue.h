// Bytes of one direction of a channel, from a first offset on: appended at the end, dropped at the front.
// Invariant: memory is taken as bytes come, and given back as they go; an empty queue holds none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gw::stream {

class ByteQueue {
 public:
  /// Offset of the first byte held, and of the one after the last.
  uint64_t begin() const { return begin_; }
  uint64_t end() const { return end_; }
  size_t size() const { return static_cast<size_t>(end_ - begin_); }
  bool empty() const { return begin_ == end_; }
  /// Bytes of memory taken.
  size_t capacity() const;

  void append(std::string_view bytes);
  /// Drops what is before `offset`; one beyond the end empties the queue and moves it there.
  void drop_to(uint64_t offset);
  /// The first bytes, as many as lie together; empty if none are held.
  std::string_view front() const;
  /// Appends bytes [offset, offset + n) to `out`; all of them must be held.
  void copy(uint64_t offset, size_t n, std::string& out) const;

 private:
  std::vector<std::string> blocks_;
  uint64_t first_ = 0;  // offset of the first byte of the first block
  uint64_t begin_ = 0;
  uint64_t end_ = 0;
};

}  // namespace gw::stream
