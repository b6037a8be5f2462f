// What the controller watches of its nodes and does not store: who has been heard until when, since when leases are not
// renewed, which runs nodes have that the state does not know, and which nodes fail launches.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/ids.h"
#include "base/time.h"
#include "ctld/core/tables/foreign_runs.h"
#include "ctld/core/tables/lease_watch.h"

namespace gw::ctld {

/// What a node's operating system said of it last.
struct NodeLoad {
  std::optional<uint32_t> centi;        ///< Hundredths of a run queue.
  std::optional<uint64_t> free_mem_mb;  ///< That nothing uses.
};

struct NodeWatch {
  base::Time boot;  ///< When this controller started.
  LeaseWatch leases;
  ForeignRuns foreign;
  base::Time heard_by;  ///< Until then no job starts before all nodes are heard; zero: that is not waited for.
  std::map<base::NodeId, base::Time> next_beat;
  std::set<base::NodeId> answered;  ///< Whose heartbeat was answered since next_beat was set.
  std::map<base::NodeId, NodeLoad> loads;
  base::Time heard_until;  ///< Whoever came by then and may be a node has been heard.
  base::Time turned_away;  ///< Latest time at which some who may have been nodes found no room.
  std::set<std::pair<base::Time, base::NodeId>>
      absent_due;  ///< Away too long; those who came by then are not heard yet.
  std::map<base::NodeId, std::set<base::JobId>> launch_faults;  ///< Jobs whose launch the node failed in a row.
};

}  // namespace gw::ctld
