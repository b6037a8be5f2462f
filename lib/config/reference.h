// The table of docs/config.md, made from the table of keys.
#pragma once

#include <string>
#include <vector>

namespace gw::config {

/// One Markdown table row a key: name, type, default, what a change takes, documentation. Keys of list entries are
/// written as `nodes[].name`.
std::vector<std::string> reference();

}  // namespace gw::config
