// What a scenario expects, held against what happened.
#pragma once

#include <string>
#include <vector>

#include "config/scenario.h"
#include "sim/engine.h"

namespace gw::sim {

/// "10m", "-2h", "1h30m", "0s": as scenario files write times, rounded to the second.
std::string format_offset(Duration d);
/// Nodes of an allocation, one a task, by name.
std::vector<std::string> task_nodes(const model::Allocation& allocation);
/// It runs, is suspended, or ran: its allocation says where.
bool has_place(const Record& record);
/// Pending, running, suspended or ended, as users of scenarios name it.
config::JobPhase phase_of(const Record& record);
/// Did it run at the start, was preempted, and waits now?
bool is_evicted(const Record& record);

/// One line a broken expectation of the scenario; empty if all hold.
std::vector<std::string> check_expectations(const config::Scenario& scenario, const std::vector<SimJob>& jobs,
                                            const std::vector<Record>& records);

}  // namespace gw::sim
