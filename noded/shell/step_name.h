// What launcher and shepherds call a step, and what the agent does.
// Invariant: the inverse of RunKey::step_name().
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

namespace gw::noded {

/// "batch" -> 0, "3" -> 4; nothing for any other text.
inline std::optional<uint32_t> step_of(std::string_view name) {
  if (name == "batch") return 0;
  uint32_t number = 0;
  const char* end = name.data() + name.size();
  const auto [ptr, error] = std::from_chars(name.data(), end, number);
  if (error != std::errc{} || ptr != end || number == UINT32_MAX) return std::nullopt;
  return number + 1;
}

}  // namespace gw::noded
