// Made-up machines as hwloc XML texts, for emulated nodes, examples and tests.
// Invariant: hwloc 2.9 loads every text as it would load an export of a real machine; equal names give equal texts.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace gw::topo {

/// "dgx-h100", "a100-pcie", "l40s", "cpu".
std::vector<std::string> generated_names();
/// The machine of that name. Error kNotFound for another name, with "did you mean".
base::Result<std::string> generate_xml(const std::string& name);

}  // namespace gw::topo
