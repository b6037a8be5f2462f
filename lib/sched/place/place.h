// Placement of one gang: which nodes, and on each which tasks, GPUs, cores and memory. Pure: the ledger is only read.
// Source: design section 7: a gang takes the tightest network domain that holds all of it and, among those, the
// fullest; within it the nodes where it does least damage. Invariants: the result fits into what is free, holds the
// whole gang or nothing, and depends on the ledger's contents alone; ties break by position in the network.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sched/ledger/capacity.h"
#include "sched/ledger/timeline.h"
#include "sched/place/fragmentation.h"
#include "sched/place/node_filter.h"
#include "sched/place/node_score.h"

namespace gw::sched {

/// How many nodes each requirement ruled out; the basis of every explanation.
struct Diagnosis {
  uint32_t nodes = 0;    ///< Looked at.
  uint32_t fitting = 0;  ///< Could hold at least one task.
  std::map<BlockerKind, uint32_t> ruled_out;
  std::map<std::string, uint32_t> unusable_why;
  uint32_t needed_nodes = 1;
  model::Locality level = model::Locality::kAny;  ///< What the gang held out for.
};

/// Against which state of the nodes a request is held.
enum class Against {
  kNow,    ///< What is free and usable now, and booked for nobody as long as the job may run.
  kLater,  ///< What is free throughout `span`, which begins later.
  kEmpty,  ///< All nodes idle and up: could it ever run?
};

/// Circumstances of a placement.
struct PlacementOptions {
  Against against = Against::kNow;
  const Timeline* timeline = nullptr;                ///< Bookings to keep; null: none.
  Span span = {{}, base::Time::never()};             ///< How long the job may be there.
  std::string reservation;                           ///< The advance reservation that the job runs inside; empty: none.
  const std::vector<std::string>* inside = nullptr;  ///< Only these nodes: those of the advance reservation.
  model::Locality level = model::Locality::kAny;     ///< The widest that is accepted.
  uint32_t switches = 0;                             ///< At most so many leaf switches; 0: any number.
  model::Fit fit = model::Fit::kBest;
  const NodeScore* score = nullptr;           ///< Says in its place which node is taken; null: nobody does.
  const Workload* workload = nullptr;         ///< For fragmentation; null: not looked at.
  uint32_t candidates = 32;                   ///< As Policy::candidates.
  const std::vector<NodeId>* only = nullptr;  ///< No other nodes than these; null: all of the partition.
};

struct Placement {
  std::optional<model::Allocation> allocation;
  Diagnosis diagnosis;  ///< Filled in only when there is no allocation.
};

/// Places `request` on the nodes of `partition`.
Placement place(const Capacity& capacity, const PartitionFacts& partition, const model::Request& request,
                const PlacementOptions& options = {});

/// Can `request` ever run in `partition`? The error names the tightest requirement and the best offer: "8 GPUs on one
/// node asked; the largest node in partition small has 4". Nodes that have not registered yet may turn out to hold
/// anything.
base::Status could_ever_run(const Capacity& capacity, const PartitionFacts& partition, const model::Request& request);

/// What is in the way of a placement in a partition, as data.
model::Blockers blockers_of(const Diagnosis& diagnosis, const std::string& partition);
/// For people: "waits for 2 nodes: of 4 in partition main 3 have too few free GPUs, 1 is drained: disk".
std::string explain(const Diagnosis& diagnosis, const std::string& partition);

}  // namespace gw::sched
