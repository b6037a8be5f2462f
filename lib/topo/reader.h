// Reads a machine's topology through hwloc: the live machine, or an hwloc XML export of any machine.
// Invariants: what is returned passes model::validate(); every string in it is printable; live machine and XML file
// take the same path, except that device files (Gpu::devices) are filled only for the live machine.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/topology.h"

namespace gw::topo {

/// Longest XML text that is handed to hwloc.
constexpr size_t kMaxXmlBytes = size_t{16} << 20;

/// The machine this process runs on, as far as hwloc sees it (UUIDs and NVLink mostly come from add_live_gres()).
/// Errors: kInternal if hwloc cannot read the machine.
base::Result<model::NodeTopology> read_live();

/// An hwloc XML export. Errors name the file: missing, not a file, over kMaxXmlBytes, not XML, not an hwloc topology,
/// written by hwloc 3.
base::Result<model::NodeTopology> read_xml_file(const std::string& path);

/// The same from memory.
base::Result<model::NodeTopology> read_xml_text(std::string_view xml);

}  // namespace gw::topo
