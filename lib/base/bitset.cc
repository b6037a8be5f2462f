// IndexSet: one word for the indices below 64, a vector of words for the rest.
#include "base/bitset.h"

#include <algorithm>
#include <bit>
#include <charconv>

#include "base/text.h"

namespace gw::base {
namespace {

constexpr uint32_t kMaxIndex = 65535;

constexpr uint64_t bit(uint32_t i) { return uint64_t{1} << (i % 64); }

/// Reads a number at the front of `text` and cuts it off.
Result<uint32_t> take_index(std::string_view& text, std::string_view whole) {
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range || (error == std::errc{} && value > kMaxIndex)) {
    return invalid("index list \"" + printable(whole) + "\": an index is above " + std::to_string(kMaxIndex));
  }
  if (error != std::errc{}) {
    return invalid("index list \"" + printable(whole) + "\": a number is missing", "write it like 0-3,8");
  }
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

}  // namespace

IndexSet IndexSet::first(uint32_t n) {
  IndexSet set;
  set.low_ = n >= 64 ? ~uint64_t{0} : bit(n) - 1;
  if (n > 64) {
    set.rest_.assign((n - 1) / 64, ~uint64_t{0});
    if (n % 64 != 0) set.rest_.back() = bit(n) - 1;
  }
  return set;
}

IndexSet IndexSet::of(std::initializer_list<uint32_t> indices) {
  IndexSet set;
  for (const uint32_t i : indices) set.insert(i);
  return set;
}

IndexSet IndexSet::from_words(std::span<const uint64_t> words) {
  IndexSet set;
  while (!words.empty() && words.back() == 0) words = words.first(words.size() - 1);
  if (words.empty()) return set;
  set.low_ = words.front();
  set.rest_.assign(words.begin() + 1, words.end());
  return set;
}

Result<IndexSet> IndexSet::parse(std::string_view list) {
  IndexSet set;
  std::string_view rest = trim(list);
  const std::string_view whole = rest;
  while (!rest.empty()) {
    GW_TRY(low, take_index(rest, whole));
    uint32_t high = low;
    if (rest.starts_with('-')) {
      rest.remove_prefix(1);
      GW_TRY(end, take_index(rest, whole));
      high = end;
    }
    if (high < low) return invalid("index list \"" + printable(whole) + "\": a range runs backward");
    for (uint32_t i = low; i <= high; ++i) set.insert(i);
    if (rest.empty()) break;
    if (rest.front() != ',' || rest.size() == 1) {
      return invalid("index list \"" + printable(whole) + "\" is not a list", "write it like 0-3,8");
    }
    rest.remove_prefix(1);
  }
  return set;
}

void IndexSet::insert(uint32_t i) {
  if (i < 64) {
    low_ |= bit(i);
    return;
  }
  const size_t word = i / 64 - 1;
  if (word >= rest_.size()) rest_.resize(word + 1);
  rest_[word] |= bit(i);
}

void IndexSet::erase(uint32_t i) {
  if (i < 64) {
    low_ &= ~bit(i);
  } else if (const size_t word = i / 64 - 1; word < rest_.size()) {
    rest_[word] &= ~bit(i);
    normalise();
  }
}

bool IndexSet::contains(uint32_t i) const {
  if (i < 64) return (low_ & bit(i)) != 0;
  const size_t word = i / 64 - 1;
  return word < rest_.size() && (rest_[word] & bit(i)) != 0;
}

uint32_t IndexSet::size() const {
  int count = std::popcount(low_);
  for (const uint64_t word : rest_) count += std::popcount(word);
  return static_cast<uint32_t>(count);
}

uint32_t IndexSet::next(uint32_t from) const {
  for (size_t word = from / 64; word <= rest_.size(); ++word) {
    uint64_t bits = word == 0 ? low_ : rest_[word - 1];
    if (word == from / 64) bits &= ~uint64_t{0} << (from % 64);
    if (bits != 0) return static_cast<uint32_t>(word * 64) + static_cast<uint32_t>(std::countr_zero(bits));
  }
  return UINT32_MAX;
}

std::vector<uint32_t> IndexSet::to_vector() const {
  std::vector<uint32_t> indices;
  indices.reserve(size());
  for (uint32_t i = next(0); i != UINT32_MAX; i = next(i + 1)) indices.push_back(i);
  return indices;
}

std::string IndexSet::text() const {
  std::string out;
  for (uint32_t i = next(0); i != UINT32_MAX; i = next(i + 1)) {
    const uint32_t low = i;
    while (contains(i + 1)) ++i;
    if (!out.empty()) out += ',';
    out += std::to_string(low);
    if (i > low) out += '-' + std::to_string(i);
  }
  return out;
}

IndexSet& IndexSet::operator|=(const IndexSet& o) {
  low_ |= o.low_;
  if (o.rest_.size() > rest_.size()) rest_.resize(o.rest_.size());
  for (size_t i = 0; i < o.rest_.size(); ++i) rest_[i] |= o.rest_[i];
  return *this;
}

IndexSet& IndexSet::operator&=(const IndexSet& o) {
  low_ &= o.low_;
  if (rest_.size() > o.rest_.size()) rest_.resize(o.rest_.size());
  for (size_t i = 0; i < rest_.size(); ++i) rest_[i] &= o.rest_[i];
  normalise();
  return *this;
}

IndexSet& IndexSet::operator-=(const IndexSet& o) {
  low_ &= ~o.low_;
  const size_t common = std::min(rest_.size(), o.rest_.size());
  for (size_t i = 0; i < common; ++i) rest_[i] &= ~o.rest_[i];
  normalise();
  return *this;
}

bool IndexSet::intersects(const IndexSet& o) const {
  if ((low_ & o.low_) != 0) return true;
  const size_t common = std::min(rest_.size(), o.rest_.size());
  for (size_t i = 0; i < common; ++i) {
    if ((rest_[i] & o.rest_[i]) != 0) return true;
  }
  return false;
}

uint32_t IndexSet::common(const IndexSet& o) const {
  int count = std::popcount(low_ & o.low_);
  const size_t words = std::min(rest_.size(), o.rest_.size());
  for (size_t i = 0; i < words; ++i) count += std::popcount(rest_[i] & o.rest_[i]);
  return static_cast<uint32_t>(count);
}

bool IndexSet::is_subset_of(const IndexSet& o) const {
  if ((low_ & ~o.low_) != 0 || rest_.size() > o.rest_.size()) return false;
  for (size_t i = 0; i < rest_.size(); ++i) {
    if ((rest_[i] & ~o.rest_[i]) != 0) return false;
  }
  return true;
}

bool IndexSet::operator==(const IndexSet& o) const { return low_ == o.low_ && rest_ == o.rest_; }

void IndexSet::normalise() {
  while (!rest_.empty() && rest_.back() == 0) rest_.pop_back();
}

}  // namespace gw::base
