// What a QOS could have now: nodes, of each as much as is free, until somebody else is to have it. For programs that
// share the cluster out among work of their own (a second level of scheduling). Source: resource offers of Hindman et
// al., "Mesos: A Platform for Fine-Grained Resource Sharing in the Data Center", NSDI 2011; here an offer keeps nothing
// from anybody, and whoever takes it up is held to all rules like everybody else.
// Invariant: it is the view's state that is told, so an offer may be gone a moment later.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sched/cycle/plan.h"
#include "sched/view/view.h"

namespace gw::ctld {

/// Of each of some nodes of a partition the same is free.
struct NodeOffer {
  std::string partition;
  std::vector<std::string> nodes;
  uint32_t gpus = 0;  ///< Whole ones, of one type: of the most frequent, where a node has several.
  std::string gpu_type;
  uint32_t cpus = 0;
  uint64_t mem_mb = 0;                        ///< Down to whole GiB.
  base::Time until = base::Time::never();     ///< Others are to have it then.
  base::Duration longest = base::kUnlimited;  ///< No job of the QOS runs longer there.
};

struct NodeOffers {
  std::vector<NodeOffer> offers;  ///< Most GPUs first, then most threads.
  uint32_t left_out = 0;          ///< Partitions that were not looked at: there are too many nodes in all.
  /// Thousandths of GPUs that jobs of the QOS, and of the user, can have beside what is held: within the guarantees of
  /// all QOS above them, and within the limits. nullopt: no bound.
  std::optional<uint64_t> guaranteed, most;
};

/// Whose offers.
struct OfferQuestion {
  std::string qos;
  uint32_t uid = 0;
  std::vector<std::string> partitions;        ///< Each once.
  base::Duration longest = base::kUnlimited;  ///< No job of the QOS runs longer.
};

/// `planned`: starts of others that were planned lately; where one of them is to be, the offer ends. In proportion to
/// the nodes of the partitions.
NodeOffers offers_of(const sched::ClusterView& view, const OfferQuestion& question,
                     const std::vector<sched::PlannedStart>& planned, base::Time now);

}  // namespace gw::ctld
