// See store_state.h.
#include "ctld/core/store_state.h"

#include "ctld/core/jobs/orders.h"

namespace gw::ctld {

void on_store_state(Core& core, const std::string& why) {
  if (why == core.stored.fault) return;
  const bool is_new = core.stored.fault.empty();
  core.stored.fault = why;
  if (is_new) repeat_stops(core);
  core.out.note(why.empty() ? "the state can be written again" : "the state cannot be written: " + why, !why.empty());
}

}  // namespace gw::ctld
