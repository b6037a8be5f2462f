// Lays one YAML text over another, key by key: how `gangway dev --config` changes the configuration it makes.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace gw::config {

/// `base` with the keys of `over`: maps are merged at every depth, all else is replaced. The result has no comments.
/// Errors: a text that is not YAML or not a map, as PATH:LINE:COLUMN; `over_path` is only for messages.
base::Result<std::string> merge_yaml(std::string_view base, std::string_view over, const std::string& over_path);

}  // namespace gw::config
