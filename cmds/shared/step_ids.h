// Which steps a command means: "7" all of a job, "7.0" one, "7.batch" the batch script, "7.extern" an allocation that
// has none, as a whole.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "client/conn/connection.h"

namespace gw::cmds {

struct StepId {
  uint32_t job = 0;                   ///< Of a task of an array until resolve(): the array.
  std::optional<uint32_t> number;     ///< Absent: the job's batch script, or
  bool is_extern = false;             ///< the allocation.
  std::optional<uint32_t> task = {};  ///< Of the array, until resolve() has put its own number into `job`.

  std::string text() const;
  auto operator<=>(const StepId&) const = default;
};

struct StepChoice {
  std::vector<uint32_t> jobs;             ///< These with all their steps.
  std::map<uint32_t, std::string> tasks;  ///< Of arrays (JobIds): likewise.
  std::vector<StepId> steps;

  bool empty() const { return jobs.empty() && tasks.empty() && steps.empty(); }
};

/// "7", "7.0,7.batch", "7.extern", "5-9", "5_3.0" and any mix; adds to what is there. Errors: those of parse_job_ids,
/// "Invalid step id 7.x".
base::Status parse_step_ids(std::string_view text, StepChoice& choice);
/// Puts the numbers of their jobs in the place of tasks of arrays. Errors: those of numbers_of().
base::Status resolve(const client::Program& program, StepChoice& choice);

}  // namespace gw::cmds
