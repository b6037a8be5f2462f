// A number with its noun, for people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gw::base {

/// "1 node", "2 nodes": for nouns whose plural ends in s.
inline std::string counted(uint64_t n, std::string_view noun) {
  return std::to_string(n) + " " + std::string(noun) + (n == 1 ? "" : "s");
}

}  // namespace gw::base
