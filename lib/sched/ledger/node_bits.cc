// Paged bit sets of node positions.
#include "sched/ledger/node_bits.h"

#include <bit>

namespace gw::sched {
namespace {

/// Bits [from, to) of a word, 0 <= from <= to <= 64.
uint64_t mask(uint32_t from, uint32_t to) {
  const uint64_t below_to = to >= 64 ? ~uint64_t{0} : (uint64_t{1} << to) - 1;
  return from >= 64 ? 0 : below_to & (~uint64_t{0} << from);
}

}  // namespace

NodeBits& NodeBits::operator=(const NodeBits& o) {
  if (this == &o) return *this;
  pages_.clear();
  count_ = 0;
  return *this |= o;
}

NodeBits::Page& NodeBits::page_of(uint32_t position) {
  const uint32_t index = position / kPageBits;
  if (index >= pages_.size()) pages_.resize(index + 1);
  if (!pages_[index]) pages_[index] = std::make_unique<Page>();
  return *pages_[index];
}

void NodeBits::insert(uint32_t position) {
  Page& page = page_of(position);
  uint64_t& word = page.words[position % kPageBits / 64];
  const uint64_t bit = uint64_t{1} << (position % 64);
  if ((word & bit) != 0) return;
  word |= bit;
  ++page.count;
  ++count_;
}

void NodeBits::erase(uint32_t position) {
  if (!contains(position)) return;
  Page& page = *pages_[position / kPageBits];
  page.words[position % kPageBits / 64] &= ~(uint64_t{1} << (position % 64));
  --page.count;
  --count_;
}

bool NodeBits::contains(uint32_t position) const {
  const uint32_t index = position / kPageBits;
  if (index >= pages_.size() || !pages_[index]) return false;
  return (pages_[index]->words[position % kPageBits / 64] >> (position % 64) & 1) != 0;
}

uint32_t NodeBits::next(uint32_t from) const {
  for (uint32_t p = from / kPageBits; p < pages_.size(); ++p) {
    if (!pages_[p] || pages_[p]->count == 0) continue;
    const uint32_t base = p * kPageBits;
    const uint32_t start = from > base ? from - base : 0;
    for (uint32_t w = start / 64; w < kWords; ++w) {
      uint64_t word = pages_[p]->words[w];
      if (w == start / 64) word &= mask(start % 64, 64);
      if (word != 0) return base + w * 64 + static_cast<uint32_t>(std::countr_zero(word));
    }
  }
  return UINT32_MAX;
}

uint32_t NodeBits::count_in(uint32_t first, uint32_t last) const {
  uint32_t total = 0;
  for (uint32_t p = first / kPageBits; p < pages_.size() && p * kPageBits < last; ++p) {
    if (!pages_[p] || pages_[p]->count == 0) continue;
    const uint32_t base = p * kPageBits;
    const uint32_t from = first > base ? first - base : 0;
    const uint32_t to = last - base < kPageBits ? last - base : kPageBits;
    if (from == 0 && to == kPageBits) {
      total += pages_[p]->count;
      continue;
    }
    for (uint32_t w = from / 64; w * 64 < to; ++w) {
      const uint32_t low = w == from / 64 ? from % 64 : 0;
      const uint32_t high = to - w * 64 < 64 ? to - w * 64 : 64;
      total += static_cast<uint32_t>(std::popcount(pages_[p]->words[w] & mask(low, high)));
    }
  }
  return total;
}

NodeBits& NodeBits::operator|=(const NodeBits& o) {
  if (pages_.size() < o.pages_.size()) pages_.resize(o.pages_.size());
  for (size_t p = 0; p < o.pages_.size(); ++p) {
    if (!o.pages_[p] || o.pages_[p]->count == 0) continue;
    if (!pages_[p]) pages_[p] = std::make_unique<Page>();
    Page& mine = *pages_[p];
    count_ -= mine.count;
    mine.count = 0;
    for (uint32_t w = 0; w < kWords; ++w) {
      mine.words[w] |= o.pages_[p]->words[w];
      mine.count += static_cast<uint32_t>(std::popcount(mine.words[w]));
    }
    count_ += mine.count;
  }
  return *this;
}

}  // namespace gw::sched
