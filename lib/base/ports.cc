// Reading and writing ranges of ports.
#include "base/ports.h"

#include "base/text.h"

namespace gw::base {
namespace {

constexpr int64_t kFirstUnprivileged = 1024;  // who listens may be an ordinary user

}  // namespace

std::string PortRange::text() const {
  return first == last ? std::to_string(first) : std::to_string(first) + "-" + std::to_string(last);
}

Result<PortRange> parse_port_range(std::string_view text) {
  if (text == "0") return PortRange{};
  const size_t dash = text.find('-');
  const auto first = parse_int(text.substr(0, dash), kFirstUnprivileged, UINT16_MAX, "port");
  const auto last =
      dash == std::string_view::npos ? first : parse_int(text.substr(dash + 1), kFirstUnprivileged, UINT16_MAX, "port");
  if (!first || !last || *last < *first)
    return invalid("\"" + printable(text, 40) + "\" is not a range of ports",
                   "write FIRST-LAST, both from 1024 to 65535, such as 61000-64999; 0 for any port");
  return PortRange{static_cast<uint16_t>(*first), static_cast<uint16_t>(*last)};
}

}  // namespace gw::base
