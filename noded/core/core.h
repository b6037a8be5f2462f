// The state of the node agent, as tables, with the call that is under way: its time, and what it will leave to be done.
// The machines beside it are free functions over this: those that take it as const only read.
// Invariants: each table's own (see there); the clock does not advance during a call; a machine calls those below it
// alone (docs/architecture.md).
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "base/time.h"
#include "noded/core/facts.h"
#include "noded/core/outbox.h"
#include "noded/core/step_places.h"
#include "noded/core/tables/graveyard.h"
#include "noded/core/tables/known_state.h"
#include "noded/core/tables/lease_clock.h"
#include "noded/core/tables/link_state.h"
#include "noded/core/tables/run_table.h"
#include "noded/core/tables/usage_queries.h"

namespace gw::noded {

/// What the agent is born with.
struct AgentConfig {
  NodeFacts node;
  std::string boot_id;    ///< Another one proves that all runs of the earlier one are dead.
  std::string instance;   ///< Random, of this start of the daemon.
  wire::StateMark seen;   ///< What the last KeepMark of an earlier start held.
  wire::UnfitList unfit;  ///< Likewise of the last KeepUnfit.
  std::string version;
  std::string warning;  ///< About the node, for administrators.
  wire::NodeHost host;
  uint32_t own_uid = 0;  ///< Other than 0: only this user's jobs can run.
  uint64_t seed = 0;     ///< For the jitter of reconnecting.
};

struct Core {
  explicit Core(AgentConfig born_with)
      : config(std::move(born_with)), unfit(config.unfit), known_state(config.seen), link(config.seed) {}

  base::Time now;
  AgentConfig config;

  RunTable runs;
  Graves graves;
  wire::UnfitList unfit;  ///< Which programs have failed, until the controller has heard it.
  StepPlaces places;
  UsageQueries usage_queries;
  KnownState known_state;
  LinkState link;
  LeaseClock leases;

  Outbox out;
};

}  // namespace gw::noded
