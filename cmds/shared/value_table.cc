// See value_table.h.
#include "cmds/shared/value_table.h"

#include <algorithm>
#include <cstdlib>

#include "base/text.h"
#include "client/show/display.h"

namespace gw::cmds {
namespace {

using Values = std::vector<std::string>;

std::string cell(const std::string& text, int width) {
  const size_t room = static_cast<size_t>(std::abs(width));
  const size_t taken = client::display_width(text);
  if (taken > room) return std::string(client::cut_to_width(text, room - 1)) + "+";
  const std::string blanks(room - taken, ' ');
  return width < 0 ? text + blanks : blanks + text;
}

bool is_number(const std::string& text) { return text.find_first_not_of("0123456789.:-") == std::string::npos; }

/// The width that column `c` takes.
int width_of(const ValueTable& table, size_t c) {
  if (table.columns[c].width != 0) return table.columns[c].width;
  size_t widest = client::display_width(table.columns[c].name);
  bool has_numbers = true;
  for (const Values& row : table.rows) {
    widest = std::max(widest, client::display_width(base::printable(row[c], SIZE_MAX)));
    has_numbers = has_numbers && is_number(row[c]);
  }
  return has_numbers ? static_cast<int>(widest) : -static_cast<int>(widest);
}

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

}  // namespace

std::string table_text(const ValueTable& table, const TableStyle& style) {
  const bool is_table = style.delimiter.empty();
  std::vector<int> widths;
  Values names, lines;
  for (size_t c = 0; c < table.columns.size(); ++c) {
    widths.push_back(is_table ? width_of(table, c) : 0);
    names.push_back(table.columns[c].name);
    lines.emplace_back(static_cast<size_t>(std::abs(widths.back())), '-');
  }
  std::string out;
  const auto add = [&](const Values& values) {
    std::string line;
    for (size_t c = 0; c < values.size(); ++c) {
      const std::string text = base::printable(values[c], SIZE_MAX);
      line += is_table ? cell(text, widths[c]) + " " : (c > 0 ? style.delimiter : "") + text;
    }
    if (style.ends_with_it) line += style.delimiter;
    out += line + "\n";
  };
  if (!style.no_header) add(names);
  if (!style.no_header && is_table) add(lines);
  for (const Values& row : table.rows) add(row);
  return out;
}

std::string csv_text(const ValueTable& table) {
  std::string out;
  const auto add = [&out](size_t count, const auto& text_of) {
    for (size_t c = 0; c < count; ++c) out += (c > 0 ? "," : "") + quoted(text_of(c));
    out += "\r\n";
  };
  add(table.columns.size(), [&](size_t c) { return table.columns[c].name; });
  for (const Values& row : table.rows) add(row.size(), [&](size_t c) { return base::printable(row[c], SIZE_MAX); });
  return out;
}

}  // namespace gw::cmds
