// The tasks of an array job as ranges with steps: a million tasks in one range are a few bytes. Pure.
// Invariants: the ranges are in order and none begins before the one before it has ended; every range holds what it
// names; its last index is one of it; no index is above kMaxArrayIndex. What a set takes grows with the texts that made
// it, never with the indices in it.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "base/boxed.h"
#include "base/result.h"

namespace gw::model {

/// Largest index that a task may have: what MaxArraySize says is one more.
constexpr uint32_t kMaxArrayIndex = 1'000'000;

/// The indices first, first + step, ..., last.
struct TaskRange {
  uint32_t first = 0;
  uint32_t last = 0;
  uint32_t step = 1;  ///< 1 where the range is one index.
  uint32_t size() const { return (last - first) / step + 1; }
  bool contains(uint32_t index) const { return index >= first && index <= last && (index - first) % step == 0; }
  bool operator==(const TaskRange&) const = default;
};

/// A set of indices. Sets of the same indices may be cut into ranges differently: compare by has_same().
class TaskSet {
 public:
  TaskSet() = default;
  /// Reads "0-15:4,7": indices, ranges, and ranges with a step, in any order; what is named twice is there once.
  /// Errors: empty, syntax, a range that ends before it begins, a step of zero, an index above kMaxArrayIndex.
  static base::Result<TaskSet> parse(std::string_view text);
  /// Of ranges as ranges() gave them. Errors: they break an invariant, so that they came from somewhere else.
  static base::Result<TaskSet> of(std::deque<TaskRange> ranges);

  bool empty() const { return ranges_->empty(); }
  uint32_t size() const;
  bool contains(uint32_t index) const;
  /// Smallest and largest; the set is not empty.
  uint32_t front() const { return ranges_->front().first; }
  uint32_t back() const { return ranges_->back().last; }
  /// Smallest index not below `from`; none if there is none.
  std::optional<uint32_t> next(uint32_t from) const;
  /// The step, if all is one range; 1 otherwise: SLURM_ARRAY_TASK_STEP.
  uint32_t step() const { return ranges_->size() == 1 ? ranges_->front().step : 1; }

  /// Takes those below `index` out.
  void drop_below(uint32_t index);
  /// Takes the smallest index out; the set is not empty.
  uint32_t take_front();
  /// Takes one index out. False: it is not there. May leave two ranges more.
  bool take(uint32_t index);
  /// Puts one in, which is not there. May be one range more.
  void add(uint32_t index);
  /// The indices that are in `o`, too. Has no more ranges than both together.
  TaskSet common(const TaskSet& o) const;
  /// Without those of `o`. Takes time with the indices of both, and may have as many ranges as `o` has indices.
  TaskSet without(const TaskSet& o) const;
  bool has_same(const TaskSet& o) const;

  /// "0-15:4,17": as squeue shows what is left of an array; reads back as the same set.
  std::string text() const;
  const std::deque<TaskRange>& ranges() const { return *ranges_; }
  bool operator==(const TaskSet&) const = default;

 private:
  class Marks;
  base::Boxed<std::deque<TaskRange>> ranges_;  ///< Most sets are empty, and an empty deque is not small.
};

/// What Slurm says of an array that cannot be.
constexpr const char* kArraySentence = "Invalid job array specification";

/// What `--array` asks for.
struct ArraySpec {
  TaskSet tasks;
  uint32_t throttle = 0;  ///< So many run at once, at most; 0: any number.
  bool operator==(const ArraySpec&) const = default;

  /// "0-15:4%2"
  std::string text() const;
};

/// Reads "0-15:4,7%2": the tasks, and behind a percent sign how many may run at once. Errors: as TaskSet::parse(), a
/// throttle that is no number.
base::Result<ArraySpec> parse_array(std::string_view text);

}  // namespace gw::model
