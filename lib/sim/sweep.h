// The same trace on clusters of several sizes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/replay.h"

namespace gw::sim {

/// "nodes=40..60", "nodes=40..60:5"
struct Sweep {
  uint32_t from = 0, to = 0, step = 1;  ///< `from` is at least 1 and at most `to`; the last size is at most `to`.
  std::vector<uint32_t> sizes() const;
};
/// Errors: not of that form, no size, more than kMostSizes of them.
base::Result<Sweep> parse_sweep(std::string_view text);
constexpr uint32_t kMostSizes = 1'000;

/// The cluster with its first `nodes` nodes, or with more of the kind of its last one, in the same partitions; a
/// partition, reservation or switch keeps those of its nodes that are there. Errors: more nodes than there are where
/// the file says how they are connected.
base::Result<config::ScenarioCluster> with_nodes(const config::ScenarioCluster& cluster, uint32_t nodes);

/// What came of one size.
struct SweepPoint {
  uint32_t nodes = 0;
  double gpus = 0;
  Summary summary;
};
SweepPoint point_of(const Replay& replay);
/// A line a size.
std::string sweep_text(const std::vector<SweepPoint>& points);
/// {"schema_version", "sweep": [{"nodes", "gpus", "summary": {...}}]}
std::string sweep_json(const std::vector<SweepPoint>& points);

}  // namespace gw::sim
