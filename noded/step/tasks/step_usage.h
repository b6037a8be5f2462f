// What the processes of a step use now, as /proc and their group tell.
// Invariants: every process below `root` counts once in the whole, and in that of the task that it descends from, or
// whose session it is in where its parents have gone; nothing waits.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "wire/usage.pb.h"

namespace gw::noded::step {

class Containment;

/// A task by its first process.
struct TaskAt {
  uint32_t rank = 0;
  pid_t pid = 0;
};

/// Of all processes that descend from `root`. `contain` may be null. Memory of the group where it is measured, else the
/// sum of what its processes hold.
wire::NodeUsage usage_of(pid_t root, const std::vector<TaskAt>& tasks, Containment* contain);
/// Of processes that are no one's tasks.
wire::NodeUsage usage_of(const std::vector<pid_t>& processes);

}  // namespace gw::noded::step
