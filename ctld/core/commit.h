// The end of a transaction: what is to be written, sent and told is collected, each row once.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

Effects take_effects_early(Core& core);
Effects take_effects(Core& core);
store::Batch take_coalesced_rows(Core& core);
/// take_coalesced_rows() has something to give.
inline bool has_coalesced_rows(const Core& core) {
  return core.rows.has_coalesced() || core.stored.commit_saved != core.stored.lineage.commit();
}

}  // namespace gw::ctld
