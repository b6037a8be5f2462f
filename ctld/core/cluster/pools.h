// Partitions and nodes as the configuration has them, when the controller starts and when it is read again.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// Partitions as configuration and commands have them, for ledger and scheduler.
void configure_pools(Core& core);
/// The policy of the settings, and the network, for the scheduler.
void configure_scheduler(Core& core);
/// New settings are in force; `reply_to` is told what changed.
void on_reconfigured(Core& core, Settings settings, const Reload& reply_to, const std::vector<std::string>& changes,
                     const std::vector<std::string>& warnings);
/// States, and what commands made and deleted.
void restore_partitions(Core& core, const store::Snapshot& snapshot);

}  // namespace gw::ctld
