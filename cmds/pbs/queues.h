// Queues (partitions) and the server (the cluster), as qstat shows them.
#pragma once

#include <string>
#include <vector>

#include "cmds/queue/system.h"

namespace gw::cmds::pbs {

enum class QueueForm : uint8_t { kTable, kLimits, kFull };

/// -Q, -q, -Qf: those named, or all.
int show_queues(const queue::Caller& caller, const std::vector<std::string>& names, QueueForm form);
/// -B, -Bf
int show_server(const queue::Caller& caller, bool is_full);
/// Errors: the first that does not exist.
base::Status check_queues(const client::Program& program, const std::vector<std::string>& names);

}  // namespace gw::cmds::pbs
