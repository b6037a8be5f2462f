// Host lists. Sizes are known and checked before names are made; a name is at most 255 bytes, so a short text with a
// huge product of brackets takes no memory before it is refused.
#include "base/hostlist.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/name.h"
#include "base/text.h"

namespace gw::base {
namespace {

constexpr size_t kMaxNameLength = 255;
constexpr size_t kMaxDigits = 18;

uint64_t to_number(std::string_view digits) {
  uint64_t value = 0;
  for (const char c : digits) value = value * 10 + static_cast<uint64_t>(c - '0');
  return value;
}

std::string padded(uint64_t value, size_t width) { return fmt::format("{:0{}}", value, width); }

/// `low` to `high`, written with at least `width` digits.
struct Range {
  uint64_t low = 0;
  uint64_t high = 0;
  size_t width = 0;
};

/// A piece of a name: fixed text, or (if there are ranges) a bracket.
struct Piece {
  std::string_view text;
  std::vector<Range> ranges;
};

class Expander {
 public:
  Expander(std::string_view text, size_t max_hosts, bool is_as_slurm = false)
      : text_(text), max_(max_hosts), is_as_slurm_(is_as_slurm) {}

  Result<std::vector<std::string>> run() {
    if (text_.empty()) return std::move(names_);
    for (;;) {
      if (auto status = read_item(); !status) return pass(status);
      if (at_ == text_.size()) return std::move(names_);
      ++at_;  // the comma
    }
  }

 private:
  tl::unexpected<Error> error(std::string_view what, size_t place) const {
    return invalid(fmt::format("host list \"{}\": {} at character {}", printable(text_, 80), what, place + 1),
                   "write it like n[001-004,007],x1");
  }
  tl::unexpected<Error> too_many() const {
    return invalid(fmt::format("host list \"{}\" names more than {} hosts", printable(text_, 80), max_));
  }

  /// One name with its brackets, up to a comma or the end.
  Status read_item() {
    const size_t start = at_;
    std::vector<Piece> pieces;
    uint64_t count = 1;
    while (at_ < text_.size() && text_[at_] != ',') {
      Piece& piece = pieces.emplace_back();
      if (text_[at_] == '[') {
        GW_TRY(size, read_bracket(piece));
        if (size > max_ || count * size > max_) return too_many();
        count *= size;
      } else {
        GW_TRY_STATUS(read_text(piece));
      }
      if (pieces.size() > kMaxNameLength) return error("a name is too long", start);
    }
    if (pieces.empty()) return error("a host name is missing", start);
    if (names_.size() + count > max_) return too_many();
    if (!append_names(pieces)) return error("a name is longer than 255 characters", start);
    return {};
  }

  Status read_text(Piece& piece) {
    const size_t start = at_;
    while (at_ < text_.size() && is_name_char(text_[at_])) ++at_;
    piece.text = text_.substr(start, at_ - start);
    if (at_ == text_.size() || text_[at_] == ',' || text_[at_] == '[') return {};
    return error(fmt::format("unexpected \"{}\"", printable(text_.substr(at_, 1))), at_);
  }

  /// The bracket at `at_`; gives the number of its names.
  Result<uint64_t> read_bracket(Piece& piece) {
    const size_t open = at_++;
    for (uint64_t count = 0;;) {
      GW_TRY(range, read_range(open));
      piece.ranges.push_back(range);
      count += range.high - range.low + 1;  // at most 10^18 after a sum that was at most max_: no overflow
      if (count > max_) return too_many();
      if (at_ == text_.size()) return error("a bracket is not closed", open);
      const char c = text_[at_++];
      if (c == ']') return count;
      if (c != ',') return error(fmt::format("unexpected \"{}\" in a bracket", printable({&c, 1})), at_ - 1);
    }
  }

  Result<Range> read_range(size_t open) {
    const size_t start = at_;
    GW_TRY(low, read_digits(open));
    Range range{to_number(low), to_number(low), low.size()};
    if (at_ < text_.size() && text_[at_] == '-') {
      ++at_;
      GW_TRY(high, read_digits(open));
      range.high = to_number(high);
    }
    if (range.high < range.low) return error("a range runs backward", start);
    return range;
  }

  Result<std::string_view> read_digits(size_t open) {
    const size_t start = at_;
    while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
    if (at_ == start && at_ == text_.size()) return error("a bracket is not closed", open);
    if (at_ == start) return error("a number is missing", start);
    if (at_ - start > kMaxDigits) return error("a number is too long", start);
    return text_.substr(start, at_ - start);
  }

  /// Appends the product of the pieces, the first bracket turning slowest; of three the second, if asked for. False if
  /// a name gets too long.
  bool append_names(const std::vector<Piece>& pieces) {
    std::vector<std::string> made{""};
    std::vector<size_t> sizes;  // of the brackets
    for (const Piece& piece : pieces) {
      const size_t before = made.size();
      if (!(piece.ranges.empty() ? extend_by_text(made, piece.text) : extend_by_ranges(made, piece.ranges)))
        return false;
      if (!piece.ranges.empty()) sizes.push_back(made.size() / before);
    }
    if (is_as_slurm_ && sizes.size() == 3) made = second_slowest(std::move(made), sizes);
    std::move(made.begin(), made.end(), std::back_inserter(names_));
    return true;
  }

  static std::vector<std::string> second_slowest(std::vector<std::string> names, const std::vector<size_t>& sizes) {
    std::vector<std::string> out;
    out.reserve(names.size());
    for (size_t second = 0; second < sizes[1]; ++second)
      for (size_t first = 0; first < sizes[0]; ++first)
        for (size_t third = 0; third < sizes[2]; ++third)
          out.push_back(std::move(names[(first * sizes[1] + second) * sizes[2] + third]));
    return out;
  }

  static bool extend_by_text(std::vector<std::string>& names, std::string_view text) {
    for (std::string& name : names) {
      if (name.size() + text.size() > kMaxNameLength) return false;
      name += text;
    }
    return true;
  }

  static bool extend_by_ranges(std::vector<std::string>& names, const std::vector<Range>& ranges) {
    std::vector<std::string> longer;
    for (const std::string& name : names) {
      for (const Range& range : ranges) {
        for (uint64_t i = range.low; i <= range.high; ++i) {
          longer.push_back(name + padded(i, range.width));
          if (longer.back().size() > kMaxNameLength) return false;
        }
      }
    }
    names = std::move(longer);
    return true;
  }

  std::string_view text_;
  size_t max_;
  bool is_as_slurm_;
  size_t at_ = 0;
  std::vector<std::string> names_;
};

/// A name cut into prefix and final number; no digits if it has none.
struct Cut {
  std::string_view prefix;
  std::string_view digits;
};

Cut cut(std::string_view name) {
  size_t at = name.size();
  while (at > 0 && is_digit(name[at - 1]) && name.size() - at < kMaxDigits) --at;
  return {name.substr(0, at), name.substr(at)};
}

/// Adds "low-high" or "low" to the bracket text.
void add_range(std::string& bracket, const Range& range) {
  if (!bracket.empty()) bracket += ',';
  bracket += padded(range.low, range.width);
  if (range.high > range.low) bracket += '-' + padded(range.high, range.width);
}

bool continues(const Range& range, std::string_view digits) { return digits == padded(range.high + 1, range.width); }

/// Compresses the names from `begin` that share one prefix; returns the index behind them.
size_t compress_run(const std::vector<std::string>& names, size_t begin, std::string& out) {
  const Cut first = cut(names[begin]);
  if (first.digits.empty()) {
    out += names[begin];
    return begin + 1;
  }
  std::string bracket;
  Range range{to_number(first.digits), to_number(first.digits), first.digits.size()};
  size_t at = begin + 1;
  for (; at < names.size(); ++at) {
    const Cut next = cut(names[at]);
    if (next.digits.empty() || next.prefix != first.prefix) break;
    if (continues(range, next.digits)) {
      ++range.high;
      continue;
    }
    add_range(bracket, range);
    range = {to_number(next.digits), to_number(next.digits), next.digits.size()};
  }
  add_range(bracket, range);
  out += first.prefix;
  out += at == begin + 1 ? bracket : "[" + bracket + "]";
  return at;
}

/// Cuts the digits off the front of `text`, without their leading zeros.
std::string_view take_shortest_digits(std::string_view& text) {
  size_t length = 0;
  while (length < text.size() && is_digit(text[length])) ++length;
  std::string_view digits = text.substr(0, length);
  text.remove_prefix(length);
  while (digits.size() > 1 && digits.front() == '0') digits.remove_prefix(1);
  return digits;
}

}  // namespace

Result<std::vector<std::string>> expand_hostlist(std::string_view text, size_t max_hosts) {
  return Expander(text, max_hosts).run();
}

Result<std::vector<std::string>> expand_hostlist_as_slurm(std::string_view text, size_t max_hosts) {
  return Expander(text, max_hosts, true).run();
}

std::string compress_hostlist(const std::vector<std::string>& names) {
  std::string out;
  for (size_t at = 0; at < names.size();) {
    if (at > 0) out += ',';
    at = compress_run(names, at, out);
  }
  return out;
}

void sort_hostlist(std::vector<std::string>& names) {
  std::sort(names.begin(), names.end(), host_less);
  names.erase(std::unique(names.begin(), names.end()), names.end());
}

bool host_less(std::string_view a, std::string_view b) {
  std::string_view x = a, y = b;
  while (!x.empty() && !y.empty()) {
    if (is_digit(x.front()) && is_digit(y.front())) {
      const std::string_view m = take_shortest_digits(x), n = take_shortest_digits(y);
      if (m.size() != n.size()) return m.size() < n.size();
      if (m != n) return m < n;
    } else {
      if (x.front() != y.front()) return x.front() < y.front();
      x.remove_prefix(1);
      y.remove_prefix(1);
    }
  }
  // Equal but for leading zeros: the text decides, so that the order is strict.
  return x.empty() == y.empty() ? a < b : x.empty();
}

std::string compress_counts(const std::vector<uint32_t>& counts) {
  std::string out;
  for (size_t at = 0; at < counts.size();) {
    size_t end = at + 1;
    while (end < counts.size() && counts[end] == counts[at]) ++end;
    if (!out.empty()) out += ',';
    out += std::to_string(counts[at]);
    if (end - at > 1) out += fmt::format("(x{})", end - at);
    at = end;
  }
  return out;
}

}  // namespace gw::base
