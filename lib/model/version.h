// Versions of Gangway's programs as numbers, so that earlier and later can be told.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gw::model {

/// Orders as versions do; 0: none is known.
using Version = uint32_t;

/// "1.22.3"
constexpr Version version(uint32_t first, uint32_t second, uint32_t third) {
  return (first * 1000 + second) * 1000 + third;
}
/// The first that there was.
constexpr Version kFirstVersion = version(0, 1, 0);
/// 0 if it is none.
Version parse_version(std::string_view text);

}  // namespace gw::model
