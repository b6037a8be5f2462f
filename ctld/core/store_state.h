// The store could not be written, or can again.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

void on_store_state(Core& core, const std::string& why);

}  // namespace gw::ctld
