// The earliest moment at which a blocked gang can start, by the timeline.
// Source: conservative backfill (Mu'alem and Feitelson, "Utilization, Predictability, Workloads, and User Runtime
// Estimates in Scheduling the IBM SP2 with Backfilling", IEEE TPDS 2001), down to the single GPU, core and byte.
#pragma once

#include <optional>

#include "sched/place/place.h"

namespace gw::sched {

struct FutureStart {
  base::Time when;
  model::Allocation allocation;
};

/// From when on each node could take its part, as far as nothing is booked there; by node id. Kept from one plan to
/// the next for one request: a node is asked again only when its account has changed.
struct ReadyTimes {
  struct Entry {
    uint64_t version = 0;  ///< Capacity::versions(); 0: not asked yet.
    base::Time when;       ///< Time::never(): not foreseen.
  };
  std::vector<Entry> nodes;
};

/// First moment after `now` at which `request` can be placed for `length`, if running jobs end when they are expected
/// to and the bookings of options.timeline are kept. nullopt: never, because what is in the way has no end or the nodes
/// are not there. `look` gives the other circumstances; its span and `against` are replaced. `known`: of the same
/// request, partition, level and length.
std::optional<FutureStart> earliest(const Capacity& capacity, const PartitionFacts& partition,
                                    const model::Request& request, const PlacementOptions& options, base::Time now,
                                    base::Duration length, ReadyTimes* known = nullptr);

}  // namespace gw::sched
