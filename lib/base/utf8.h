// Well-formed UTF-8, as RFC 3629 has it: no overlong forms, no surrogates, nothing above U+10FFFF.
#pragma once

#include <cstddef>
#include <string_view>

namespace gw::base {

/// Bytes of the character at the front of the text; 0 if there is none, or a broken one.
size_t utf8_length(std::string_view text);
/// Is the whole text well-formed?
bool is_utf8(std::string_view text);

}  // namespace gw::base
