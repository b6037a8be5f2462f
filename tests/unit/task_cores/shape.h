// A job and its steps as users type them, on empty machines: what the scheduler gives the job, what each step claims,
// and what each of its tasks may run on. The table's lines are made here.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace gw::task_cores {

struct Shape {
  std::string machine;              ///< "dgx-h100", "l40s", "cpu", or one of those below.
  uint32_t nodes = 1;               ///< So many, named n1, n2, ...
  std::string job;                  ///< "gbatch -n8", "galloc -n8", or "grun -n8" outside of a job.
  std::vector<std::string> events;  ///< "grun -n1", one after the other; "end 0": that step ends.
};

/// Lines for people, indented: what the job has, then each step that is there at the end.
base::Result<std::vector<std::string>> lines_of(const Shape& shape);

}  // namespace gw::task_cores
