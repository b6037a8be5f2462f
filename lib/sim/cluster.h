// From a cluster as written to what the scheduler is told of it: nodes with their topology, partitions, policy.
// Invariant: ids of nodes are their positions in the file, from 1 on; times count from kStart.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/scenario.h"
#include "sched/policy/rate_model.h"
#include "sched/view/view.h"

namespace gw::sim {

using base::Duration;
using base::Time;

/// The moment at which every simulation begins: midnight of 2000-01-01, UTC; far from zero for what was before it.
constexpr Time kStart{946'684'800'000'000};

/// Users by name, numbered in the order in which they are first named.
class Users {
 public:
  uint32_t id(const std::string& name);

 private:
  std::map<std::string, uint32_t> ids_;
};

/// Finds the topology of that name; what it costs is paid once a name.
using LoadTopology = std::function<base::Result<model::NodeTopology>(const std::string& name)>;

/// Loads what a cluster names: the in-tree plug-ins unless said otherwise.
struct Makers {
  sched::MakeOrder order = sched::make_order;
  sched::MakeShare share = sched::make_share;
  sched::MakeRateModel rate = sched::make_rate_model;
  sched::MakeFilter filter = sched::make_filter;
};

struct Cluster {
  std::vector<sched::NodeFacts> nodes;
  std::vector<sched::PartitionFacts> partitions;
  std::vector<sched::AdvanceReservation> reservations;
  model::Network network;
  sched::Policy policy;
  std::vector<model::Qos> qos;
  std::shared_ptr<const sched::RateModel> rate_model = {};  ///< Null: everybody's speed is 1.
  Duration usage_half_life = base::hours(7 * 24);
  std::vector<std::string> warnings;
};

/// Errors name the place in the file: unknown order, policy or weight, unknown topology, more GPUs than the topology
/// has.
base::Result<Cluster> build_cluster(const config::ScenarioCluster& written, const LoadTopology& load, Users& users,
                                    const Makers& makers = {});

/// A machine without given topology has so much, if nothing is said: enough not to be what is scarce.
constexpr uint32_t kPlentyOfCpus = 128;
constexpr uint64_t kPlentyOfMemoryMb = 1 << 20;

}  // namespace gw::sim
