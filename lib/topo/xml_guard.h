// Looks an XML text over before hwloc's own parser gets it, which trusts its input too much: it recurses per nesting
// level, multiplies object counts without overflow checks, and accepts infinite bitmaps.
// Invariant: one pass, no memory beyond one tag's attributes.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace gw::topo {

/// Accepts what looks like an hwloc topology of version 1 or 2 within sane bounds. `origin` ("x.xml", "topology text")
/// is named in the error.
base::Status check_xml(std::string_view xml, const std::string& origin);

}  // namespace gw::topo
