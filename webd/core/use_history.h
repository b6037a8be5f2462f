// What was used day by day, by QOS: the history that the page draws. Pure.
#pragma once

#include "webd/core/api.h"

namespace gw::webd {

constexpr int64_t kMostDaysOfUse = 92;

/// GET use: `days` of them until today; 14 unless said.
base::Result<Question> show_use(const std::string& name, const Asked& asked);

}  // namespace gw::webd
