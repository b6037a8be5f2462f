// What the controller is told of runs: that they are prepared or cannot be, that they started, how they ended, that
// they are gone.
// Invariants: the end comes before Done; both are said again until they are acknowledged.
#pragma once

#include <string>

#include "base/time.h"
#include "model/job_state.h"
#include "noded/core/core.h"

namespace gw::noded {

void report_prepared(Core& core, const Run& run);
void report_started(Core& core, const Run& run);
/// Says again what became of the order to prepare, unless the run is being ended.
void repeat_prepare(Core& core, const Run& run);

wire::PrepareFailed make_failure(RunKey key, uint32_t reason, const std::string& detail, bool node_fault);
/// For what this node does not start.
wire::PrepareFailed make_refusal(RunKey key, const std::string& detail, bool node_fault);
void send_failure(Core& core, const wire::PrepareFailed& failure);
/// What became of a run that is gone, where it could not start.
void repeat_failure(Core& core, const Tombstone& grave, RunKey key);

void report_exit(Core& core, Run& run);
void report_done(Core& core, Run& run);
/// Says again, over whatever link there is now, how the run ended.
void repeat_end(Core& core, Run& run);
/// When that is due.
base::Time next_report(const Run& run);

}  // namespace gw::noded
