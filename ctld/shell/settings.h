// Distils the core's settings from the configuration.
#pragma once

#include "config/config.h"
#include "ctld/core/settings.h"

namespace gw::ctld {

/// Loads the order's plug-in. Errors: it is not there, does not fit this build, or does not know a weight.
base::Result<Settings> settings_of(const config::Config& config);

}  // namespace gw::ctld
