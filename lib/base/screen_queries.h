// What of a terminal's output asks the terminal something, which answers as if it were typed.
#pragma once

#include <string>
#include <string_view>

namespace gw::base {

/// The bytes without requests for reports: of the cursor, the terminal's kind, colours, modes, sizes. They are left out
/// of output that is shown again, since whoever asked has his answer. Sequences that are broken off by another go with
/// them; one that is not whole at the end stays.
std::string without_queries(std::string_view bytes);

}  // namespace gw::base
