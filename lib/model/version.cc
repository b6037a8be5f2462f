// See version.h.
#include "model/version.h"

#include <array>
#include <charconv>

namespace gw::model {

Version parse_version(std::string_view text) {
  std::array<uint32_t, 3> parts{};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0 && (at == end || *at++ != '.')) return 0;
    const auto [next, error] = std::from_chars(at, end, parts[i]);
    if (error != std::errc() || parts[i] > 999) return 0;
    at = next;
  }
  return at == end ? version(parts[0], parts[1], parts[2]) : 0;
}

}  // namespace gw::model
