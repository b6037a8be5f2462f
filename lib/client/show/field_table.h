// Tables whose columns are named as sacctmgr and sshare take them: "Name,Parent%20,Limit%-30".
// Invariants: a row is one line; no byte that a user wrote reaches a terminal as a command to it.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/text.h"
#include "client/show/format.h"
#include "client/show/quota_fields.h"
#include "client/show/quota_text.h"

namespace gw::client {

inline std::string plain_field(std::string_view name) {
  std::string out = base::to_lower(name);
  std::erase(out, '_');
  return out;
}

/// The field of this name, or the only one that begins so.
template <typename Row>
base::Result<size_t> find_field(const std::vector<TableField<Row>>& fields, const std::string& name) {
  std::optional<size_t> begun;
  std::vector<std::string> known;
  bool is_ambiguous = false;
  for (size_t i = 0; i < fields.size(); ++i) {
    known.emplace_back(fields[i].names.front());
    for (std::string_view one : fields[i].names) {
      if (plain_field(one) == plain_field(name)) return i;
      if (name.empty() || !plain_field(one).starts_with(plain_field(name))) continue;
      is_ambiguous |= begun && *begun != i;
      begun = i;
    }
  }
  if (begun && !is_ambiguous) return *begun;
  std::string hint = base::did_you_mean(base::to_lower(name), known);
  return base::invalid(
      fmt::format("{} field \"{}\"", is_ambiguous ? "ambiguous" : "unknown", base::printable(name, 60)),
      hint.empty() ? "known: " + base::join(known, ", ") : std::move(hint));
}

/// Slurm's: a field is right-aligned, unless its width is written with a minus.
template <typename Row>
base::Result<Format> parse_fields(std::string_view text, const std::vector<TableField<Row>>& fields) {
  constexpr int64_t kWidest = 9999;
  Format out;
  for (const std::string& part : base::split(text, ',')) {
    if (part.empty()) continue;
    const size_t percent = std::min(part.find('%'), part.size());
    GW_TRY(index, find_field(fields, part.substr(0, percent)));
    Column column{index, 0, fields[index].is_right, true, " "};
    if (percent != part.size()) {
      GW_TRY(width, base::parse_int(part.substr(percent + 1), -kWidest, kWidest, "format"));
      column.is_auto = width == 0;
      column.is_right = width > 0;
      column.width = static_cast<uint32_t>(std::abs(width));
    }
    out.columns.push_back(column);
  }
  if (out.columns.empty()) return base::invalid("format: no field is named");
  return out;
}

inline void end_table_line(std::string& out) {
  out.erase(out.find_last_not_of(' ') + 1);
  out += '\n';
}

template <typename Row>
std::string delimited(const Format& format, const std::vector<TableField<Row>>& fields, const std::vector<Row>& rows,
                      QuotaTableStyle style) {
  std::string out;
  const auto line = [&](const auto& cell) {
    for (size_t i = 0; i < format.columns.size(); ++i) {
      if (i > 0) out += '|';
      out += cell(fields[format.columns[i].field]);
    }
    out += style.parsable2 ? "\n" : "|\n";
  };
  if (!style.no_header) line([](const TableField<Row>& f) { return std::string(f.header); });
  for (const Row& row : rows) line([&](const TableField<Row>& f) { return base::printable(f.text(row), SIZE_MAX); });
  return out;
}

template <typename Row>
std::string render(Format format, const std::vector<TableField<Row>>& fields, const std::vector<Row>& rows,
                   QuotaTableStyle style) {
  if (style.parsable || style.parsable2) return delimited(format, fields, rows, style);
  const auto cell = [&](const Column& c, const Row& row) {
    return base::printable(fields[c.field].text(row), SIZE_MAX);
  };
  for (Column& c : format.columns) {
    if (!c.is_auto) continue;
    size_t width = fields[c.field].header.size();
    for (const Row& row : rows) width = std::max(width, display_width(cell(c, row)));
    c.width = static_cast<uint32_t>(width);
  }
  std::string out;
  const auto line = [&](const auto& text) {
    std::string one;
    for (const Column& c : format.columns) append_cell(one, c, text(c));
    end_table_line(one);
    out += one;
  };
  if (!style.no_header) line([&](const Column& c) { return fields[c.field].header; });
  if (!style.no_header && style.is_slurm) line([](const Column& c) { return std::string(c.width, '-'); });
  for (const Row& row : rows) line([&](const Column& c) { return cell(c, row); });
  return out;
}

/// `format` names the columns; empty: those of `usual`. Errors: unknown columns, with "did you mean".
template <typename Row>
base::Result<std::string> field_table(std::string_view format, std::string_view usual,
                                      const std::vector<TableField<Row>>& fields, const std::vector<Row>& rows,
                                      QuotaTableStyle style) {
  GW_TRY(parsed, parse_fields(format.empty() ? usual : format, fields));
  return render(std::move(parsed), fields, rows, style);
}

}  // namespace gw::client
