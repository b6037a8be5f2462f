// The durable state as bytes, to compare.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

std::string fingerprint(const Core& core);

}  // namespace gw::ctld
