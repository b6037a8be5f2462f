// What jobs are ranked by, for gprio and gqueue: by the order's own functions, on what the scheduler was told.
#pragma once

#include "ctld/core/core.h"
#include "sched/queue/order_facts.h"

namespace gw::ctld {

/// Adds to `shown` what the job's priority is made of.
void show_priority(const Core& core, const sched::OrderFacts& facts, const model::Job& job, wire::Job& shown);
/// The jobs that wait, with the parts of their priorities.
void list_priorities(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request);

}  // namespace gw::ctld
