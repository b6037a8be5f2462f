// A range of TCP ports, as administrators write it and firewalls have it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace gw::base {

struct PortRange {
  uint16_t first = 0, last = 0;  ///< Both 0: whichever the system gives.

  bool is_any() const { return first == 0; }
  uint32_t size() const { return is_any() ? 0 : uint32_t{last} - first + 1; }
  std::string text() const;
  bool operator==(const PortRange&) const = default;
};

/// "61000-64999", "61000", or "0" for any. Errors: no number, below 1024, above 65535, the last before the first.
Result<PortRange> parse_port_range(std::string_view text);

}  // namespace gw::base
