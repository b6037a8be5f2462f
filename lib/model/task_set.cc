// TaskSet: arithmetic of sets goes through one bit for each index, which is made into ranges again from the front.
#include "model/task_set.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <iterator>
#include <numeric>
#include <utility>
#include <vector>

#include "base/text.h"

namespace gw::model {
namespace {

base::Error array_problem(std::string_view text, const std::string& what) {
  return base::Error{base::ErrorCode::kInvalid, "--array=" + base::printable(text, 60) + ": " + what,
                     "write it like 0-15, 1,3,5-7, 0-15:4 or 0-15%4", kArraySentence};
}

/// Reads a number at the front of `rest` and cuts it off; says what is wrong with it otherwise.
base::Result<uint32_t> take_number(std::string_view& rest, std::string_view text) {
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (error == std::errc::invalid_argument)
    return tl::unexpected(array_problem(text, rest.empty()
                                                  ? "a number is missing at the end"
                                                  : "a number is missing at \"" + base::printable(rest, 20) + "\""));
  if (error != std::errc{} || value > kMaxArrayIndex)
    return tl::unexpected(array_problem(text, "a number is above " + std::to_string(kMaxArrayIndex) +
                                                  ", the largest index of a task (MaxArraySize is one more)"));
  rest.remove_prefix(static_cast<size_t>(end - rest.data()));
  return value;
}

bool take(std::string_view& rest, char c) {
  if (!rest.starts_with(c)) return false;
  rest.remove_prefix(1);
  return true;
}

/// Reads "7", "0-15" or "0-15:4".
base::Result<TaskRange> take_range(std::string_view& rest, std::string_view text) {
  GW_TRY(first, take_number(rest, text));
  if (!take(rest, '-')) return TaskRange{first, first, 1};
  GW_TRY(last, take_number(rest, text));
  if (last < first)
    return tl::unexpected(array_problem(
        text, "the range " + std::to_string(first) + "-" + std::to_string(last) + " ends before it begins"));
  uint32_t step = 1;
  if (take(rest, ':')) {
    GW_TRY(given, take_number(rest, text));
    if (given == 0) return tl::unexpected(array_problem(text, "a step of 0 never ends"));
    step = given;
  }
  const uint32_t end = first + (last - first) / step * step;
  return TaskRange{first, end, end == first ? 1 : step};
}

/// Reads ranges with commas between them.
base::Result<std::vector<TaskRange>> read_ranges(std::string_view text) {
  if (text.empty()) return tl::unexpected(array_problem(text, "it names no task"));
  std::vector<TaskRange> ranges;
  std::string_view rest = text;
  do {
    GW_TRY(range, take_range(rest, text));
    ranges.push_back(range);
  } while (take(rest, ','));
  if (!rest.empty())
    return tl::unexpected(array_problem(text, '"' + base::printable(rest, 20) + "\" is not understood"));
  return ranges;
}

bool are_in_order(const std::vector<TaskRange>& ranges) {
  return std::ranges::adjacent_find(ranges, [](const TaskRange& a, const TaskRange& b) { return a.last >= b.first; }) ==
         ranges.end();
}

/// The indices of two ranges: again a range, whose step is the least common multiple of theirs.
std::optional<TaskRange> in_both(const TaskRange& a, const TaskRange& b) {
  const uint32_t from = std::max(a.first, b.first), to = std::min(a.last, b.last);
  const TaskRange& wide = a.step >= b.step ? a : b;
  const TaskRange& narrow = a.step >= b.step ? b : a;
  // After so many steps of the one the other is as far from its own index as before.
  const uint32_t steps = narrow.step / std::gcd(a.step, b.step);
  const uint32_t before = from <= wide.first ? 0 : (from - wide.first + wide.step - 1) / wide.step;
  for (uint32_t i = 0; i < steps; ++i) {
    const uint64_t first = wide.first + uint64_t{wide.step} * (before + i);
    if (first > to) return std::nullopt;
    if (!narrow.contains(static_cast<uint32_t>(first))) continue;
    const uint64_t step = uint64_t{wide.step} * steps;
    const uint64_t last = first + (to - first) / step * step;
    return TaskRange{static_cast<uint32_t>(first), static_cast<uint32_t>(last),
                     last == first ? 1 : static_cast<uint32_t>(step)};
  }
  return std::nullopt;
}

}  // namespace

/// One bit for each index from the smallest of some ranges to the largest.
class TaskSet::Marks {
 public:
  template <typename Ranges>
  explicit Marks(const Ranges& ranges) {
    if (ranges.empty()) return;
    uint32_t last = 0;
    from_ = kMaxArrayIndex;
    for (const TaskRange& range : ranges) {
      from_ = std::min(from_, range.first);
      last = std::max(last, range.last);
    }
    from_ -= from_ % 64;
    words_.resize((last - from_) / 64 + 1);
    for (const TaskRange& range : ranges)
      for (uint32_t i = range.first; i <= range.last; i += range.step) words_[place(i)] |= bit(i);
  }

  void take_out(const Marks& o) {
    for (size_t i = 0; i < words_.size(); ++i) words_[i] &= ~o.word_at(from_ + static_cast<uint32_t>(i) * 64);
  }

  /// From the front: neighbours are a range, and three or more in equal distance.
  std::deque<TaskRange> ranges() const {
    std::deque<TaskRange> out;
    for (auto first = next(from_); first;) {
      auto last = first;
      auto after = next(*first + 1);
      const uint32_t step = after ? *after - *first : 1;
      uint32_t count = 1;
      for (; after && *after - *last == step; after = next(*after + 1), ++count) last = after;
      if (step > 1 && after && *after - *last == 1) {  // "1,3,5-7": the 5 is for the neighbours
        after = last;
        last = *last - step;
        --count;
      }
      if (step > 1 && count == 2) {
        after = next(*first + 1);
        last = first;
        count = 1;
      }
      out.push_back({*first, *last, count == 1 ? 1 : step});
      first = after;
    }
    return out;
  }

 private:
  static uint64_t bit(uint32_t index) { return uint64_t{1} << (index % 64); }
  size_t place(uint32_t index) const { return (index - from_) / 64; }
  /// The 64 indices from `index` on, which is a multiple of 64.
  uint64_t word_at(uint32_t index) const {
    return index >= from_ && place(index) < words_.size() ? words_[place(index)] : 0;
  }
  std::optional<uint32_t> next(uint32_t index) const {
    for (size_t i = place(index); i < words_.size(); ++i) {
      const uint64_t ahead = i == place(index) ? words_[i] & (~uint64_t{0} << (index % 64)) : words_[i];
      if (ahead != 0) return from_ + static_cast<uint32_t>(i) * 64 + static_cast<uint32_t>(std::countr_zero(ahead));
    }
    return std::nullopt;
  }

  uint32_t from_ = 0;  // a multiple of 64
  std::vector<uint64_t> words_;
};

base::Result<TaskSet> TaskSet::parse(std::string_view text) {
  GW_TRY(ranges, read_ranges(text));
  TaskSet set;
  if (are_in_order(ranges))
    set.ranges_ = std::deque<TaskRange>(ranges.begin(), ranges.end());
  else
    set.ranges_ = Marks(ranges).ranges();
  return set;
}

base::Result<TaskSet> TaskSet::of(std::deque<TaskRange> ranges) {
  int64_t before = -1;
  for (const TaskRange& r : ranges) {
    const bool is_range = r.first <= r.last && r.last <= kMaxArrayIndex && r.step > 0;
    if (!is_range || (r.last - r.first) % r.step != 0 || (r.first == r.last && r.step != 1) || r.first <= before)
      return base::invalid("the tasks of an array are not in order");
    before = r.last;
  }
  TaskSet set;
  set.ranges_ = std::move(ranges);
  return set;
}

uint32_t TaskSet::size() const {
  uint32_t count = 0;
  for (const TaskRange& range : *ranges_) count += range.size();
  return count;
}

bool TaskSet::contains(uint32_t index) const { return next(index) == index; }

std::optional<uint32_t> TaskSet::next(uint32_t from) const {
  const auto range = std::ranges::lower_bound(*ranges_, from, {}, &TaskRange::last);
  if (range == ranges_->end()) return std::nullopt;
  if (from <= range->first) return range->first;
  return range->first + (from - range->first + range->step - 1) / range->step * range->step;
}

void TaskSet::drop_below(uint32_t index) {
  if (empty() || front() >= index) return;
  std::deque<TaskRange>& ranges = ranges_.edit();
  while (!ranges.empty() && ranges.front().last < index) ranges.pop_front();
  if (ranges.empty()) {
    ranges_ = {};
    return;
  }
  if (ranges.front().first >= index) return;
  TaskRange& range = ranges.front();
  range.first = *next(index);
  if (range.first == range.last) range.step = 1;
}

uint32_t TaskSet::take_front() {
  std::deque<TaskRange>& ranges = ranges_.edit();
  TaskRange& range = ranges.front();
  const uint32_t index = range.first;
  if (range.first == range.last) {
    ranges.pop_front();
  } else {
    range.first += range.step;
    if (range.first == range.last) range.step = 1;
  }
  if (ranges.empty()) ranges_ = {};
  return index;
}

bool TaskSet::take(uint32_t index) {
  if (!contains(index)) return false;
  std::deque<TaskRange>& ranges = ranges_.edit();
  const auto at = std::ranges::lower_bound(ranges, index, {}, &TaskRange::last);
  const TaskRange whole = *at;
  const auto piece = [&](uint32_t first, uint32_t last) {
    return TaskRange{first, last, first == last ? 1 : whole.step};
  };
  auto next = ranges.erase(at);
  if (index < whole.last) next = ranges.insert(next, piece(index + whole.step, whole.last));
  if (index > whole.first) ranges.insert(next, piece(whole.first, index - whole.step));
  if (ranges.empty()) ranges_ = {};
  return true;
}

void TaskSet::add(uint32_t index) {
  std::deque<TaskRange>& ranges = ranges_.edit();
  auto next = std::ranges::lower_bound(ranges, index, {}, &TaskRange::last);
  if (next != ranges.end() && next->first < index) {  // between two of a range with steps
    const TaskRange whole = *next;
    const uint32_t before = whole.first + (index - whole.first) / whole.step * whole.step;
    next = ranges.erase(next);
    const uint32_t after = before + whole.step;
    next = ranges.insert(next, TaskRange{after, whole.last, after == whole.last ? 1 : whole.step});
    next = ranges.insert(next, TaskRange{whole.first, before, before == whole.first ? 1 : whole.step});
    ++next;
  }
  const bool follows = next != ranges.begin() && std::prev(next)->step == 1 && std::prev(next)->last + 1 == index;
  if (follows)
    std::prev(next)->last = index;
  else
    ranges.insert(next, TaskRange{index, index, 1});
}

TaskSet TaskSet::common(const TaskSet& o) const {
  TaskSet out;
  for (auto a = ranges_->begin(), b = o.ranges_->begin(); a != ranges_->end() && b != o.ranges_->end();) {
    if (const auto both = in_both(*a, *b)) out.ranges_.edit().push_back(*both);
    ++(a->last < b->last ? a : b);
  }
  return out;
}

TaskSet TaskSet::without(const TaskSet& o) const {
  Marks marks(*ranges_);
  marks.take_out(Marks(*o.ranges_));
  TaskSet out;
  out.ranges_ = marks.ranges();
  return out;
}

bool TaskSet::has_same(const TaskSet& o) const {
  return size() == o.size() && Marks(*ranges_).ranges() == Marks(*o.ranges_).ranges();
}

std::string TaskSet::text() const {
  std::string out;
  for (const TaskRange& range : *ranges_) {
    if (!out.empty()) out += ',';
    out += std::to_string(range.first);
    if (range.size() == 2 && range.step > 1)
      out += ',' + std::to_string(range.last);
    else if (range.last > range.first)
      out += '-' + std::to_string(range.last);
    if (range.size() > 2 && range.step > 1) out += ':' + std::to_string(range.step);
  }
  return out;
}

std::string ArraySpec::text() const { return tasks.text() + (throttle == 0 ? "" : "%" + std::to_string(throttle)); }

base::Result<ArraySpec> parse_array(std::string_view text) {
  const size_t percent = text.find('%');
  GW_TRY(tasks, TaskSet::parse(text.substr(0, percent)));
  ArraySpec spec{std::move(tasks), 0};
  if (percent == std::string_view::npos) return spec;
  std::string_view rest = text.substr(percent + 1);
  GW_TRY(throttle, take_number(rest, text));
  if (!rest.empty())
    return tl::unexpected(array_problem(text, '"' + base::printable(rest, 20) + "\" is not understood"));
  spec.throttle = throttle;
  return spec;
}

}  // namespace gw::model
