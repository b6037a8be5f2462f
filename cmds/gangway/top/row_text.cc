// Helpers of the views' texts.
#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "client/show/display.h"
#include "cmds/gangway/top/row_view.h"

namespace gw::cmds::top {

std::vector<std::string> wrap(std::string_view text, size_t columns) {
  std::vector<std::string> out;
  if (columns == 0) return out;
  for (const std::string& paragraph : base::split(text, '\n')) {
    std::string line;
    for (std::string word : base::split(paragraph, ' ')) {
      if (!line.empty() && client::display_width(line) + 1 + client::display_width(word) > columns) {
        out.push_back(std::move(line));
        line.clear();
      }
      if (!line.empty()) line += ' ';
      while (client::display_width(word) > columns) {
        const std::string part(client::cut_to_width(word, std::max<size_t>(columns, 2)));
        out.push_back(part);
        word.erase(0, part.size());
      }
      line += word;
    }
    out.push_back(std::move(line));
  }
  while (!out.empty() && out.back().empty()) out.pop_back();
  return out;
}

std::string bar(double used, double whole, size_t columns, Look look) {
  const double part = whole <= 0 ? 0 : std::clamp(used / whole, 0.0, 1.0);
  const auto full = static_cast<size_t>(std::lround(part * static_cast<double>(columns)));
  std::string out;
  for (size_t i = 0; i < columns; ++i) {
    if (look.unicode)
      out += i < full ? "\u2588" : "\u2591";
    else
      out += i < full ? '#' : '.';
  }
  return out;
}

}  // namespace gw::cmds::top
