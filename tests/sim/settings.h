// The configurations that seeds draw.
#pragma once

#include <string>
#include <vector>

#include "ctld/core/settings.h"
#include "model/topology.h"
#include "tests/sim/random.h"

namespace gw::sim_cluster {

/// Mostly small clusters, up to 50 nodes.
uint32_t draw_node_count(Random& random);
model::NodeTopology draw_topology(Random& random);
ctld::Settings draw_settings(Random& random, uint32_t nodes);
/// Another configuration for the same nodes.
ctld::Settings change_settings(Random& random, ctld::Settings settings);
/// Names of the partitions that lend the GPUs of jobs that are suspended.
std::vector<std::string> lending_partitions(const ctld::Settings& settings);

}  // namespace gw::sim_cluster
