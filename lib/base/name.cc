// See name.h.
#include "base/name.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace gw::base {

Status check_name(std::string_view text, size_t max) {
  const bool is_name =
      !text.empty() && std::all_of(text.begin(), text.end(), is_name_char) && text.find_first_of("-._") != 0;
  if (!is_name)
    return invalid(fmt::format("\"{}\" is not a name", printable(text)),
                   "use letters, digits, -, _ and ., beginning with a letter or digit");
  if (text.size() > max)
    return invalid(fmt::format("the name \"{}\" is longer than {} characters", printable(text), max));
  return {};
}

}  // namespace gw::base
