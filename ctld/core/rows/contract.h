// The contract of a run, made from the settings in force when it is placed.
#pragma once

#include "ctld/core/settings.h"
#include "model/cluster.h"
#include "model/contract.h"

namespace gw::ctld {

/// `partition` may be null. The margin that the controller waits beyond a lease is a fifth of the lease, two heartbeats
/// and the time to kill. The fifth is for the clocks of two machines that are slewed against each other: chrony makes
/// a clock run 8.3 % fast or slow at most. The heartbeats are for the node to notice.
model::Contract contract_for(const Settings& settings, const model::Partition* partition);

/// That of a run which a version without contracts placed: its row says only after how long its lease is over (zero:
/// it has none).
model::Contract contract_of_earlier_version(const Settings& settings, base::Duration over_after);

}  // namespace gw::ctld
