// Steps as the store has them.
#pragma once

#include "ctld/core/core.h"
#include "ctld/core/rows/run_rows.h"

namespace gw::ctld {

/// As the store has them; rows that cannot be read are held aside.
void restore_steps(Core& core, const store::Snapshot& snapshot, const RunRows& runs, const RunRows::Unread& unread,
                   const std::function<NodeId(std::string_view)>& lookup);

}  // namespace gw::ctld
