// The controller's state, as tables, with the transaction that is under way: its time, and what it will leave behind
// (rows, messages, deltas, timers, events). The machines beside it are free functions over this: those that take it as
// const only read. Invariants: each table's own (see there); the clock does not advance during a transaction; whoever
// changes a job, a run or a step marks its row; what is held changes through the ledger alone.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <utility>

#include "ctld/core/events.h"
#include "ctld/core/settings.h"
#include "ctld/core/tables/clients.h"
#include "ctld/core/tables/gpu_budgets.h"
#include "ctld/core/tables/job_counts.h"
#include "ctld/core/tables/job_table.h"
#include "ctld/core/tables/ledger.h"
#include "ctld/core/tables/node_table.h"
#include "ctld/core/tables/node_watch.h"
#include "ctld/core/tables/outbox.h"
#include "ctld/core/tables/partition_table.h"
#include "ctld/core/tables/placements.h"
#include "ctld/core/tables/planning.h"
#include "ctld/core/tables/quota_table.h"
#include "ctld/core/tables/reservation_table.h"
#include "ctld/core/tables/row_marks.h"
#include "ctld/core/tables/scheduler_feed.h"
#include "ctld/core/tables/step_table.h"
#include "ctld/core/tables/stored.h"
#include "ctld/core/tables/timers.h"
#include "ctld/core/tables/token_table.h"
#include "ctld/core/tables/usage_table.h"
#include "wire/topologies.h"

namespace gw::ctld {

using base::JobId;
using base::NodeId;
using base::Time;

/// The authenticated other end of a node's link.
struct NodePeer {
  uint32_t uid = UINT32_MAX;
  std::string address;
  /// What a registration says of the node's hardware; null: it is read from there.
  wire::Topologies::Ptr topology = {};
};

struct Core {
  Core(Settings s, Time boot);
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  /// A transaction begins, at this time.
  void begin(Time at) {
    now = at;
    out.begin(at);
  }
  /// Somebody above is to hear of it before the transaction ends (settle.h).
  void post(Event event) { events.push_back(std::move(event)); }

  Time now;
  Settings settings;

  JobTable jobs;
  StepTable steps;
  NodeTable nodes;
  Placements placements;
  PartitionTable partitions;
  ReservationTable reservations;
  TokenTable tokens;
  QuotaTable quotas;
  UsageTable usage;
  GpuBudgets gpu_budgets;
  JobCounts counts;
  JobTotals totals;
  Stored stored;
  NodeWatch watch;
  Planning planning;
  Clients clients;

  SchedulerFeed feed;
  Ledger ledger{feed};
  RowMarks rows;
  Timers timers;
  Outbox out;
  std::deque<Event> events;
};

}  // namespace gw::ctld
