// Which jobs wait for which others, and which of them are to be looked at again. Invariants: only jobs that wait for
// something stand here; one stands in the queue once, however many of those that it waits for have moved.
#pragma once

#include <compare>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/ids.h"
#include "model/array.h"

namespace gw::ctld {

/// A job, or a task of an array.
struct Awaited {
  base::JobId job;
  uint32_t task = model::kNoArrayTask;
  auto operator<=>(const Awaited&) const = default;
};

class Dependents {
 public:
  /// The job waits for these from now on, and for nothing else.
  void set(base::JobId job, std::vector<Awaited> others);
  /// It waits for no other job any more.
  void erase(base::JobId job);
  /// Does `job` wait for this one?
  bool knows(const Awaited& other, base::JobId job) const;
  /// All that wait for it.
  std::vector<base::JobId> of(const Awaited& other) const;

  /// To be looked at again before the transaction ends, or soon after.
  void look_again(base::JobId job) { queue_.insert(job); }
  /// All that wait for this one.
  void look_again_at_those_of(const Awaited& other);
  /// All that wait for single tasks of this array.
  void look_again_at_those_of_tasks(base::JobId array);
  bool has_queued() const { return !queue_.empty(); }
  /// The first of the queue.
  std::optional<base::JobId> take();

 private:
  std::map<base::JobId, std::vector<Awaited>> waits_for_;
  std::map<Awaited, std::set<base::JobId>> waiting_;  // turned round
  std::set<base::JobId> queue_;
};

}  // namespace gw::ctld
