// Which steps a command means: "7" all of a job, "7.0" one, "7.batch" the batch script, "7.extern" an allocation that
// has none, as a whole.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gw::cmds {

struct StepId {
  uint32_t job = 0;
  std::optional<uint32_t> number;  ///< Absent: the job's batch script, or
  bool is_extern = false;          ///< the allocation.

  std::string text() const;
  auto operator<=>(const StepId&) const = default;
};

struct StepChoice {
  std::vector<uint32_t> jobs;  ///< These with all their steps.
  std::vector<StepId> steps;

  bool empty() const { return jobs.empty() && steps.empty(); }
};

/// "7", "7.0,7.batch", "7.extern", "5-9" and any mix; adds to what is there. Errors: those of parse_job_ids, "Invalid
/// step id 7.x".
base::Status parse_step_ids(std::string_view text, StepChoice& choice);

}  // namespace gw::cmds
