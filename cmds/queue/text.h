// Text that the commands of several systems print.
#pragma once

#include <string>
#include <string_view>

#include "base/time.h"

namespace gw::cmds::queue {

/// With `&amp;` and the like, for the text of an element and for an attribute.
std::string xml_text(std::string_view text);
/// In local time, as strftime(3) has it; `otherwise` for zero.
std::string local_time(base::Time time, const char* form, std::string_view otherwise = "-");
/// "Thu Nov 26 10:00:00 2026"
constexpr const char* kCalendarForm = "%a %b %e %H:%M:%S %Y";
/// The name of whoever runs the command, or the number where there is none.
std::string own_user();

}  // namespace gw::cmds::queue
