// What happens to a run and concerns those above it: whoever moves a run posts it, settle() hands it out. Invariants:
// an event carries ids and values, never pointers; nobody asks whether one is pending; all are handed out before the
// transaction ends.
#pragma once

#include <string>
#include <variant>

#include "base/ids.h"

namespace gw::ctld {

/// All nodes of a run have the word to go.
struct RunStarted {
  base::JobId job;
};
/// A run that was suspended resumes.
struct RunResumed {
  base::JobId job;
};
/// A run was told to end, or a job ends that waited; `why` is for people.
struct JobStopping {
  base::JobId job;
  std::string why;
};
/// A node has nothing of the job left.
struct NodeReleased {
  base::JobId job;
  base::NodeId node;
};

/// A job is over; it runs again only if somebody requeues it.
struct JobEnded {
  base::JobId job;
};
/// Somebody has: it waits again.
struct JobRevived {
  base::JobId job;
};

/// A job waits for others as it never can be let go.
struct DependencyFailed {
  base::JobId job;
};

/// A job has another name.
struct JobRenamed {
  uint32_t uid = 0;
  std::string before;
};

using Event =
    std::variant<RunStarted, RunResumed, JobStopping, NodeReleased, JobEnded, JobRevived, DependencyFailed, JobRenamed>;

}  // namespace gw::ctld
