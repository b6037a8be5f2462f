// What several rate models share.
#pragma once

#include <algorithm>
#include <cmath>

#include "sched/policy/rate_model.h"

namespace gw::sched {

/// By the size that it has: k times the tasks are k^(scaling / 100) times as fast.
inline double rate_by_size(const RateFacts& job) {
  const double part = std::max(job.tasks, 1U) / static_cast<double>(std::max(job.full_tasks, 1U));
  return std::pow(part, job.scaling / 100.0);
}

}  // namespace gw::sched
