// The jobs that a request means, by their numbers and by tasks of arrays: who names a heterogeneous job means its
// components, who names an array means all its tasks.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ctld/core/core.h"
#include "ctld/core/jobs/arrays.h"

namespace gw::ctld {

/// What was named once.
struct Target {
  JobId id;                      ///< As it was named; of tasks their array.
  std::string task;              ///< "5_3", where tasks were named; else empty.
  std::vector<NamedTasks> jobs;  ///< Empty: there is none.
  bool is_of_array = false;      ///< It is enough that one of the jobs can be done what is asked for.
};

/// Everything that is named and that the caller may know of, each once. Errors: tasks that are not in order.
base::Result<std::vector<Target>> targets_of(Core& core, const Caller& caller,
                                             const google::protobuf::RepeatedField<uint32_t>& ids,
                                             const google::protobuf::RepeatedPtrField<wire::TasksOfArray>& tasks);

/// The filter of a list, with the numbers of all whom it names; of tasks that nobody has 0, nobody's number. Errors:
/// tasks that are not in order.
base::Result<wire::JobFilter> with_all_meant(const Core& core, const SeenJobs& seen, wire::JobFilter filter);

/// Acts on each job of the targets once and tells what became of each target.
wire::JobsReply act_on_targets(const std::vector<Target>& targets,
                               const std::function<base::Status(const NamedTasks&)>& act);

}  // namespace gw::ctld
