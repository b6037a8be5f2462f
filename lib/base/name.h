// Names of what an administrator makes: clusters, partitions, QOS, switches, hosts.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/result.h"

namespace gw::base {

constexpr size_t kMaxName = 64;

/// Letters, digits, `-`, `_` and `.`.
constexpr bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
}
/// Is it a name that can be written in a file, on a command line and in a list without quotes? Errors: empty, other
/// characters, not beginning with a letter or digit, longer than `max`.
Status check_name(std::string_view text, size_t max = kMaxName);

}  // namespace gw::base
