// Reading of output formats.
#include "client/show/format.h"

#include <algorithm>

#include "base/text.h"
#include "client/show/display.h"

namespace gw::client {
namespace {

using base::invalid;

constexpr uint32_t kDefaultLongWidth = 20;
constexpr uint32_t kMaxWidth = 9999;
constexpr std::string_view kAll = "all";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Reads a decimal width at `at`; 0 if there is none.
base::Result<uint32_t> take_width(std::string_view text, size_t& at) {
  uint32_t width = 0;
  while (at < text.size() && is_digit(text[at])) {
    width = width * 10 + static_cast<uint32_t>(text[at++] - '0');
    if (width > kMaxWidth)
      return invalid("a column of \"" + base::printable(text, 60) + "\" is wider than " + std::to_string(kMaxWidth));
  }
  return width;
}

std::string known_letters(std::span<const FieldName> fields) {
  std::string letters;
  for (const FieldName& f : fields)
    if (f.letter != 0) letters += std::string(letters.empty() ? "" : " ") + "%" + f.letter;
  return letters;
}

base::Result<size_t> by_letter(char letter, std::span<const FieldName> fields) {
  for (size_t i = 0; i < fields.size(); ++i)
    if (fields[i].letter == letter) return i;
  return invalid("Invalid format specification: no field %" + base::printable(std::string_view(&letter, 1)),
                 "fields are " + known_letters(fields));
}

base::Result<size_t> by_name(std::string_view name, std::span<const FieldName> fields) {
  std::vector<std::string> names;
  for (size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].name.empty()) continue;
    if (base::iequals(fields[i].name, name)) return i;
    names.emplace_back(fields[i].name);
  }
  std::vector<std::string> lower;
  for (const std::string& n : names) lower.push_back(base::to_lower(n));
  const std::string close = base::nearest(base::to_lower(name), lower);
  const auto found = std::find(lower.begin(), lower.end(), close);
  const std::string hint = close.empty() || found == lower.end()
                               ? "fields are " + base::join(names, ", ")
                               : "did you mean \"" + names[static_cast<size_t>(found - lower.begin())] + "\"?";
  return invalid("Invalid format specification: no field " + base::printable(name, 60), hint);
}

/// Every field, as wide as its text, with a bar behind it. Error: they are there already.
base::Status add_all(Format& format, std::span<const FieldName> fields) {
  if (format.columns.size() >= fields.size())
    return invalid("Invalid format specification: all stands for every field");
  for (size_t i = 0; i < fields.size(); ++i) {
    Column column;
    column.field = i;
    column.suffix = "|";
    format.columns.push_back(std::move(column));
  }
  return {};
}

}  // namespace

base::Result<Format> parse_short_format(std::string_view text, std::span<const FieldName> fields) {
  Format format;
  for (size_t at = 0; at < text.size();) {
    if (text[at] != '%') {
      std::string& into = format.columns.empty() ? format.prefix : format.columns.back().suffix;
      into += text[at++];
      continue;
    }
    ++at;
    if (text.substr(at, kAll.size()) == kAll) {
      GW_TRY_STATUS(add_all(format, fields));
      at += kAll.size();
      continue;
    }
    Column column;
    if (at < text.size() && text[at] == '#') column.is_auto = true, ++at;
    if (at < text.size() && text[at] == '.') column.is_right = true, ++at;
    if (at < text.size() && text[at] == '-') column.is_right = false, ++at;  // as it is without
    GW_TRY(width, take_width(text, at));
    column.width = width;
    if (at >= text.size())
      return invalid("Invalid format specification: \"" + base::printable(text, 60) + "\" ends inside a field");
    GW_TRY(field, by_letter(text[at++], fields));
    column.field = field;
    format.columns.push_back(std::move(column));
  }
  return format;
}

base::Result<Format> parse_long_format(std::string_view text, std::span<const FieldName> fields) {
  Format format;
  for (const std::string& part : base::split(text, ',')) {
    if (base::iequals(base::trim(part), kAll)) {
      GW_TRY_STATUS(add_all(format, fields));
      continue;
    }
    const size_t colon = part.find(':');
    Column column;
    column.width = kDefaultLongWidth;
    GW_TRY(field, by_name(base::trim(std::string_view(part).substr(0, colon)), fields));
    column.field = field;
    if (colon != std::string::npos) {
      size_t at = colon + 1;
      if (at < part.size() && part[at] == '.') column.is_right = true, ++at;
      GW_TRY(width, take_width(part, at));
      column.width = width;
      column.suffix = part.substr(at);
    }
    format.columns.push_back(std::move(column));
  }
  if (format.columns.empty()) return invalid("Invalid format specification: no field is named");
  return format;
}

void append_cell(std::string& out, const Column& column, std::string_view text) {
  if (column.width == 0) {
    out += text;
  } else {
    const std::string_view cut = cut_to_width(text, column.width);
    const size_t padding = column.width - display_width(cut);
    if (column.is_right) out.append(padding, ' ');
    out += cut;
    if (!column.is_right) out.append(padding, ' ');
  }
  out += column.suffix;
}

std::string_view tone_code(Tone tone) {
  switch (tone) {
    case Tone::kPlain:
      return "";
    case Tone::kGood:
      return "\033[32m";
    case Tone::kBusy:
      return "\033[36m";
    case Tone::kWaits:
      return "\033[33m";
    case Tone::kBad:
      return "\033[31m";
    case Tone::kFaint:
      return "\033[2m";
  }
  return "";
}

size_t room_of_last(const Format& format, size_t columns) {
  constexpr size_t kLeast = 12;  // of a text that is worth to be shown: a reason, some nodes
  if (format.columns.empty() || format.columns.back().width != 0) return 0;
  size_t used = display_width(format.prefix) + display_width(format.columns.back().suffix);
  for (size_t i = 0; i + 1 < format.columns.size(); ++i) {
    if (format.columns[i].width == 0) return 0;
    used += format.columns[i].width + display_width(format.columns[i].suffix);
  }
  return std::max(columns > used ? columns - used : 0, kLeast);
}

std::string cut_to_room(std::string_view text, size_t room) {
  if (display_width(text) <= room) return std::string(text);
  const std::string_view ellipsis = use_unicode() ? "\u2026" : "...";
  return std::string(cut_to_width(text, room - display_width(ellipsis))) + std::string(ellipsis);
}

base::Result<std::vector<SortKey>> parse_sort(std::string_view text, std::span<const FieldName> fields) {
  std::vector<SortKey> keys;
  for (const std::string& part : base::split(text, ',')) {
    const bool has_sign = !part.empty() && (part[0] == '-' || part[0] == '+');
    const std::string letter = part.substr(has_sign ? 1 : 0);
    if (letter.size() != 1)
      return invalid("Invalid sort specification: \"" + base::printable(part, 20) + "\"", "such as P,t,-p");
    GW_TRY(field, by_letter(letter[0], fields));
    keys.push_back({field, part[0] == '-'});
  }
  return keys;
}

}  // namespace gw::client
