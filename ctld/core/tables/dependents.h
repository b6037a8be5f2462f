// Which jobs wait for which others, and which of them are to be looked at again. Invariants: only jobs that wait for
// something stand here; one stands in the queue once, however many of those that it waits for have moved.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/ids.h"

namespace gw::ctld {

class Dependents {
 public:
  /// The job waits for these from now on, and for nothing else.
  void set(base::JobId job, std::vector<base::JobId> others);
  /// It waits for no other job any more.
  void erase(base::JobId job);
  /// Does `job` wait for this one?
  bool knows(base::JobId other, base::JobId job) const;

  /// To be looked at again before the transaction ends, or soon after.
  void look_again(base::JobId job) { queue_.insert(job); }
  /// All that wait for this one.
  void look_again_at_those_of(base::JobId other);
  bool has_queued() const { return !queue_.empty(); }
  /// The first of the queue.
  std::optional<base::JobId> take();

 private:
  std::map<base::JobId, std::vector<base::JobId>> waits_for_;
  std::map<base::JobId, std::set<base::JobId>> waiting_;  // turned round
  std::set<base::JobId> queue_;
};

}  // namespace gw::ctld
