// Tables as squeue and sinfo print them: `-o "%.18i %.9P"` and `-O JobID:8,Name:.20`, over a table of fields.
// Invariants: a Format that parsed names only fields of its table; rendering never fails; a row is one line.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/text.h"
#include "client/show/display.h"

namespace gw::client {

/// Name and letter of a field, without what it shows.
struct FieldName {
  char letter = 0;        ///< For -o; 0: only by name.
  std::string_view name;  ///< For -O, any case; empty: only by letter.
  std::string_view header;
};

/// One column of a parsed format.
struct Column {
  size_t field = 0;    ///< Index in the table.
  uint32_t width = 0;  ///< In columns of a terminal; 0: as wide as its text.
  bool is_right = false;
  bool is_auto = false;  ///< `%#P`, `%#.6m`: as wide as the widest text of the column; at least `width`, or 9 without.
  std::string suffix;    ///< Text up to the next column.
};

struct Format {
  std::string prefix;  ///< Text before the first column.
  std::vector<Column> columns;
};

/// Reads an `-o` format. Errors: unknown letter, `%` at the end, a width over 9999.
base::Result<Format> parse_short_format(std::string_view text, std::span<const FieldName> fields);
/// Reads an `-O` format: names separated by commas, each with `:[.][width][suffix]`; 20 wide without a colon, as wide
/// as its text where no digit follows the colon. Errors: unknown name, with did-you-mean.
base::Result<Format> parse_long_format(std::string_view text, std::span<const FieldName> fields);

/// Pads or cuts `text` to the column, appends it and the suffix. A cut is between characters.
void append_cell(std::string& out, const Column& column, std::string_view text);

/// A field over rows of type Row. `key`, where set, gives the number to sort by.
template <typename Row>
struct Field {
  FieldName id;
  std::function<std::string(const Row&)> text;
  std::function<double(const Row&)> key = nullptr;
};

/// The names of a field table, for the parsers.
template <typename Row>
std::vector<FieldName> field_names(const std::vector<Field<Row>>& fields) {
  std::vector<FieldName> names;
  names.reserve(fields.size());
  for (const Field<Row>& f : fields) names.push_back(f.id);
  return names;
}

/// What a field shows of a row. Users write many of them freely: no byte reaches a terminal as a command to it.
template <typename Row>
std::string cell_text(const Field<Row>& field, const Row& row) {
  return base::printable(field.text(row), SIZE_MAX);
}

/// Gives auto columns the width of their widest text; headers count only in columns without a least width, so that
/// those of Slurm stay as they are ("TIME_LIMI").
template <typename Row>
void fit_columns(Format& format, const std::vector<Field<Row>>& fields, const std::vector<Row>& rows) {
  for (Column& c : format.columns) {
    if (!c.is_auto) continue;
    size_t widest = c.width == 0 ? std::max<size_t>(9, fields[c.field].id.header.size()) : c.width;
    for (const Row& row : rows) widest = std::max(widest, display_width(cell_text(fields[c.field], row)));
    c.width = static_cast<uint32_t>(widest);
  }
}

/// The header line with its newline.
template <typename Row>
std::string render_header(const Format& format, const std::vector<Field<Row>>& fields) {
  std::string out = format.prefix;
  for (const Column& c : format.columns) append_cell(out, c, fields[c.field].id.header);
  return out + "\n";
}

/// One line with its newline.
template <typename Row>
void render_row(std::string& out, const Format& format, const std::vector<Field<Row>>& fields, const Row& row) {
  out += format.prefix;
  for (const Column& c : format.columns) append_cell(out, c, cell_text(fields[c.field], row));
  out += '\n';
}

/// One `-S` key: "+P", "-t", "i".
struct SortKey {
  size_t field = 0;
  bool is_descending = false;
};
/// Reads "P,t,-p". Errors: unknown letter.
base::Result<std::vector<SortKey>> parse_sort(std::string_view text, std::span<const FieldName> fields);

/// -1, 0, 1 by one key.
template <typename Row>
int compare_by(const Field<Row>& field, const Row& a, const Row& b) {
  if (field.key) {
    const double x = field.key(a), y = field.key(b);
    return x < y ? -1 : x > y ? 1 : 0;
  }
  const int order = field.text(a).compare(field.text(b));
  return order < 0 ? -1 : order > 0 ? 1 : 0;
}

/// Is `a` before `b`?
template <typename Row>
bool sorts_before(const std::vector<Field<Row>>& fields, const std::vector<SortKey>& keys, const Row& a, const Row& b) {
  for (const SortKey& k : keys) {
    const int order = compare_by(fields[k.field], a, b);
    if (order != 0) return k.is_descending ? order > 0 : order < 0;
  }
  return false;
}

}  // namespace gw::client
