// Where a user's private cluster (`gangway dev`) is found, and what to say when no configuration is there but one runs.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"

namespace gw::client {

/// ${XDG_STATE_HOME:-~/.local/state}/gangway/dev: the folder of a private cluster that was given no other. Errors: no
/// home folder.
base::Result<std::string> default_dev_dir();

/// The error of a configuration that could not be read, with what helps if the file is not there: a private cluster of
/// this user that runs, or that has gone since GANGWAY_CONF was set. Others come back as they are.
base::Error explain_no_config(base::Error error, const std::string& path);

}  // namespace gw::client
