// A question between two passes: what would happen if one job asked for something else? While this object lives the
// view's queue has that job, as it would be, and of the others only those who were in the way of somebody in the latest
// pass: all others wait without keeping anything. So the scheduler answers with the same code as always, in a time that
// does not grow with the queue. Invariants: when the object is destroyed the view is as it was before it, and what
// passes remember of classes is not touched; the nomination of the job counts only while it asks for what it asked.
#pragma once

#include <memory>
#include <optional>

#include "sched/view/view.h"

namespace gw::sched {

class WhatIf {
 public:
  /// `job` need not wait before the scheduler.
  WhatIf(ClusterView& view, const PendingJob& job);
  ~WhatIf();
  WhatIf(const WhatIf&) = delete;
  WhatIf& operator=(const WhatIf&) = delete;

 private:
  ClusterView& view_;
  PendingJob job_;
  std::optional<PendingJob> before_;                           // as it waits
  std::optional<std::pair<uint64_t, Nomination>> nomination_;  // that is put aside
  Queue queue_;                                                // the view's
  Cursor cursor_;                                              // likewise
  Gains gains_;                                                // likewise

  void swap_with_view();
};

}  // namespace gw::sched
