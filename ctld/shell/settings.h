// Distils the core's settings from the configuration.
#pragma once

#include "config/config.h"
#include "ctld/core/settings.h"

namespace gw::ctld {

Settings settings_of(const config::Config& config);

}  // namespace gw::ctld
