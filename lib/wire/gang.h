// What the nodes of a job or step are told of each other.
// Invariant: as large as the host list is long, however many nodes there are: it goes to each of them.
#pragma once

#include <vector>

#include "model/job.h"
#include "wire/node.pb.h"

namespace gw::wire {

/// In the order given; `node_id` is left at 0.
Gang gang_of(const std::vector<const model::NodeShare*>& shares);
Gang gang_of(const model::Allocation& allocation);

}  // namespace gw::wire
