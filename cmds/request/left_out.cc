// See left_out.h.
#include "cmds/request/left_out.h"

#include <algorithm>

namespace gw::cmds {

void LeftOut::add(std::string_view option, std::string_view why) {
  remove(option);
  options_.emplace_back(option, why);
}

void LeftOut::remove(std::string_view option) {
  std::erase_if(options_, [option](const auto& each) { return each.first == option; });
}

std::string LeftOut::text() const {
  std::vector<std::pair<std::string, std::string_view>> groups;  // options that have one reason
  for (const auto& [option, why] : options_) {
    const auto group =
        std::find_if(groups.begin(), groups.end(), [why = why](const auto& each) { return each.second == why; });
    const std::string shown = option.starts_with('-') ? option : "--" + option;
    if (group == groups.end())
      groups.emplace_back(shown, why);
    else
      group->first += ", " + shown;
  }
  std::string text;
  for (const auto& [options, why] : groups)
    text += (text.empty() ? "left out: " : "; ") + options + " (" + std::string(why) + ")";
  return text;
}

}  // namespace gw::cmds
