// Blocks that grow with what is appended: a prompt of ten bytes does not take 64 KiB.
#include "stream/byte_queue.h"

#include <algorithm>

#include "base/check.h"

namespace gw::stream {
namespace {

constexpr size_t kMinBlock = 1024;
constexpr size_t kMaxBlock = 64 * 1024;

}  // namespace

size_t ByteQueue::capacity() const {
  size_t bytes = 0;
  for (const auto& block : blocks_) bytes += block.capacity();
  return bytes;
}

void ByteQueue::append(std::string_view bytes) {
  end_ += bytes.size();
  while (!bytes.empty()) {
    if (blocks_.empty() || blocks_.back().size() == blocks_.back().capacity()) {
      blocks_.emplace_back().reserve(std::clamp(bytes.size(), kMinBlock, kMaxBlock));
    }
    std::string& last = blocks_.back();
    const auto piece = bytes.substr(0, last.capacity() - last.size());
    last += piece;
    bytes.remove_prefix(piece.size());
  }
}

void ByteQueue::drop_to(uint64_t offset) {
  if (offset >= end_) {
    blocks_ = {};
    first_ = begin_ = end_ = offset;
    return;
  }
  begin_ = std::max(begin_, offset);
  size_t gone = 0;
  while (first_ + blocks_[gone].size() <= begin_) first_ += blocks_[gone++].size();
  blocks_.erase(blocks_.begin(), blocks_.begin() + static_cast<std::ptrdiff_t>(gone));
}

std::string_view ByteQueue::front() const {
  if (empty()) return {};
  return std::string_view(blocks_.front()).substr(static_cast<size_t>(begin_ - first_));
}

void ByteQueue::copy(uint64_t offset, size_t n, std::string& out) const {
  GW_CHECK(offset >= begin_ && n <= end_ - offset);
  uint64_t start = first_;
  for (const auto& block : blocks_) {
    if (n == 0) return;
    if (offset < start + block.size()) {
      const auto piece = std::string_view(block).substr(static_cast<size_t>(offset - start), n);
      out += piece;
      offset += piece.size();
      n -= piece.size();
    }
    start += block.size();
  }
}

}  // namespace gw::stream
