// What has become of jobs since the controller was started, or since an administrator began to count anew. Not stored.
// Tasks of arrays count as jobs; a part of an array that never started and was cancelled counts once.
#pragma once

#include <array>
#include <cstdint>

#include "base/time.h"
#include "model/job_state.h"

namespace gw::ctld {

struct JobCounts {
  base::Time since;
  uint64_t submitted = 0, started = 0, completed = 0, cancelled = 0, failed = 0;

  void count_end(model::JobState end) {
    if (end == model::JobState::kCompleted)
      ++completed;
    else if (end == model::JobState::kCancelled)
      ++cancelled;
    else
      ++failed;
  }
};

/// Likewise since the controller was started, whatever administrators began anew.
struct JobTotals {
  uint64_t submitted = 0, started = 0;
  std::array<uint64_t, model::kJobStateCount> ended{};  ///< By state.
};

}  // namespace gw::ctld
