// The steps of a job on one node: which task has which GPUs, CPUs, memory and network adapter.
// Invariant: the places are those that the node daemon works out (bind/places.h).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "bind/places.h"
#include "wire/cluster.pb.h"
#include "wire/job.pb.h"

namespace gw::cmds {

struct TaskView {
  uint32_t rank = 0;
  bind::Place place;
};
struct StepView {
  std::string id;  ///< "7.0"
  std::string name;
  base::IndexSet claimed;  ///< Cores; what its tasks may run on can be more.
  bind::Binding binding;   ///< Without its places.
  std::vector<TaskView> tasks;
};

/// Of the steps of a job that have tasks on that node, which is that of the job's share; with a number that one alone,
/// though where its tasks may run depends on all. Errors: a share that names what the node has not got.
base::Result<std::vector<StepView>> steps_on(const wire::NodeShare& job, const wire::NodeTopology& topology,
                                             const std::vector<wire::Step>& steps, std::optional<uint32_t> number);

/// A heading and a line for each task.
std::string steps_text(const wire::NodeTopology& topology, const std::vector<StepView>& steps);
/// [{"step_id", "tasks": [{"task", "gpus", "cpus", "numa_nodes", "nics"}]}]
nlohmann::json steps_json(const wire::NodeTopology& topology, const std::vector<StepView>& steps);

}  // namespace gw::cmds
