// The keys as docs/config.md and gangway.yaml(5) have them, made from the table of keys.
#pragma once

#include <string>
#include <vector>

namespace gw::config {

struct ReferenceRow {
  std::string name;          ///< "jobs.kill_wait", "nodes[].name"
  std::string values;        ///< "duration, 0s to 1d"
  std::string by_default;    ///< "30s"; "empty", "needed"
  std::string takes_effect;  ///< "reconfigure"
  std::string text;
};
std::vector<ReferenceRow> reference_rows();

/// One Markdown table row a key: name, type, default, what a change takes, documentation. Keys of list entries are
/// written as `nodes[].name`.
std::vector<std::string> reference();

}  // namespace gw::config
