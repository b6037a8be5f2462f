// Dividing the allocation of a job among its steps. Pure.
// Invariants: a share lies within the job's share of the same node; cores and GPUs that a step takes are taken by no
// other step, unless it overlaps.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/bitset.h"
#include "base/result.h"
#include "model/step.h"
#include "model/topology.h"

namespace gw::ctld {

/// What the steps of a job have taken on a node. Steps of less than a core share one.
struct TakenOnNode {
  base::IndexSet cores;
  std::map<uint32_t, uint32_t> parts;  ///< Of a core: hardware threads.
  base::IndexSet gpus;
};
using Taken = std::map<base::NodeId, TakenOnNode>;

/// What a step takes from the others: nothing if it overlaps; GPUs only if it asks for them by number.
void take(const model::Step& step, Taken& taken);

/// What a node looks like; null: nobody knows. May be empty.
using TopologyOf = std::function<const model::NodeTopology*(base::NodeId)>;

/// The shares of a new step, in the order of the job's nodes; none: it must wait for other steps. Tasks are spread
/// evenly over as many nodes as the step asks for, else over as many as it has tasks for; where it asks for all tasks
/// of the job, as the job's are; where it says the host of each task, there, and by planes a plane on each in turn; of
/// one that fills its nodes as many as have CPUs there. With GPUs for each task the cores are those nearest to them;
/// where it says how many tasks a socket takes, as model/sockets.h deals them.
/// Errors: it could never run in this allocation; the text names the numbers.
base::Result<std::vector<model::NodeShare>> divide(const model::Allocation& job, const model::StepRequest& request,
                                                   const Taken& taken, const TopologyOf& topology_of = {});

/// Most tasks of a step on one node.
constexpr uint32_t kMostTasksOnNode = 500;

}  // namespace gw::ctld
