// Options of gbatch that its page does not list: what those of qsub become which gbatch has none for.
// Invariant: only the translations of qsub's words use them (client/options/pbs.h, sge.h).
#pragma once

#include <vector>

#include "client/options/option_table.h"
#include "cmds/request/job_options.h"

namespace gw::cmds {

/// Adds them; `options` must outlive the table.
void add_queue_options(std::vector<client::Option>& table, BatchOptions& options);

}  // namespace gw::cmds
