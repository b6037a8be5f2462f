// Tables as squeue and sinfo print them: `-o "%.18i %.9P"` and `-O JobID:8,Name:.20`, over a table of fields.
// Invariants: a Format that parsed names only fields of its table; rendering never fails; a row is one line.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/text.h"
#include "client/show/display.h"
#include "client/show/in_parts.h"

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

/// Reads an `-o` format; `%all` is every field, with a bar behind each. Errors: unknown letter, `%` at the end, a width
/// over 9999.
base::Result<Format> parse_short_format(std::string_view text, std::span<const FieldName> fields);
/// Reads an `-O` format: names separated by commas, each with `:[.][width][suffix]`; 20 wide without a colon, as wide
/// as its text where no digit follows the colon; `All` is every field, with a bar behind each. Errors: unknown name,
/// with did-you-mean.
base::Result<Format> parse_long_format(std::string_view text, std::span<const FieldName> fields);

/// What the text of a cell says, as far as a colour can: it says nothing that the text does not.
enum class Tone : uint8_t { kPlain, kGood, kBusy, kWaits, kBad, kFaint };

/// How a table looks on a terminal.
struct TableLook {
  bool colour = false;
  size_t columns = 0;  ///< A last column that has no width of its own ends there, with an ellipsis; 0: it takes all.
};

/// Begins the tone, and ends what has begun; "" for plain.
std::string_view tone_code(Tone tone);
inline constexpr std::string_view kBoldCode = "\033[1m", kPlainCode = "\033[0m";

/// What is left of so many columns for the last one; 0: it has a width, or one before it has none.
size_t room_of_last(const Format& format, size_t columns);
/// `text`, or as much of it as there is room for, with an ellipsis.
std::string cut_to_room(std::string_view text, size_t room);

/// Pads or cuts `text` to the column, appends it and the suffix. A cut is between characters.
void append_cell(std::string& out, const Column& column, std::string_view text);

/// A field over rows of type Row. `key`, where set, gives the number to sort by.
template <typename Row>
struct Field {
  FieldName id;
  std::function<std::string(const Row&)> text;
  std::function<double(const Row&)> key = nullptr;
  std::function<Tone(const Row&)> tone = nullptr;
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

/// The header line and those of the rows, each with its newline.
struct TableText {
  std::string header, lines;
};

/// A table of these rows. Auto columns become as wide as their widest text; headers count only in columns without a
/// least width, so that those of Slurm stay as they are ("TIME_LIMI").
template <typename Row>
TableText render_table(Format format, const std::vector<Field<Row>>& fields, const std::vector<Row>& rows,
                       TableLook look = {}) {
  std::vector<std::vector<std::string>> fitted(format.columns.size());  // cells of auto columns
  for (size_t i = 0; i < fitted.size(); ++i) {
    Column& c = format.columns[i];
    if (!c.is_auto) continue;
    size_t widest = c.width == 0 ? std::max<size_t>(9, fields[c.field].id.header.size()) : c.width;
    fitted[i].reserve(rows.size());
    for (const Row& row : rows) {
      fitted[i].push_back(cell_text(fields[c.field], row));
      widest = std::max(widest, display_width(fitted[i].back()));
    }
    c.width = static_cast<uint32_t>(widest);
  }
  TableText out{format.prefix, {}};
  for (const Column& c : format.columns) append_cell(out.header, c, fields[c.field].id.header);
  if (look.colour) out.header = std::string(kBoldCode) + out.header + std::string(kPlainCode);
  out.header += '\n';
  const size_t room = look.columns == 0 ? 0 : room_of_last(format, look.columns);
  const auto append_text = [&](std::string& lines, size_t i, size_t row) {
    const Column& c = format.columns[i];
    if (c.is_auto) return append_cell(lines, c, fitted[i][row]);
    const std::string text = cell_text(fields[c.field], rows[row]);
    append_cell(lines, c, room > 0 && i + 1 == fitted.size() ? cut_to_room(text, room) : text);
  };
  const auto append_row = [&](std::string& lines, size_t row) {
    lines += format.prefix;
    for (size_t i = 0; i < fitted.size(); ++i) {
      const Field<Row>& field = fields[format.columns[i].field];
      const std::string_view code = look.colour && field.tone ? tone_code(field.tone(rows[row])) : "";
      lines += code;
      append_text(lines, i, row);
      if (!code.empty()) lines += kPlainCode;
    }
    lines += '\n';
  };
  text_in_parts(rows.size(), append_row, [&out](const std::string& part) { out.lines += part; });
  return out;
}

/// One `-S` key: "+P", "-t", "i".
struct SortKey {
  size_t field = 0;
  bool is_descending = false;
};
/// Reads "P,t,-p". Errors: unknown letter.
base::Result<std::vector<SortKey>> parse_sort(std::string_view text, std::span<const FieldName> fields);

/// What all rows are sorted by for one key: numbers where its field has one, else texts. Worked out once for each row,
/// not once for each comparison.
struct SortColumn {
  bool is_descending = false;
  std::vector<double> numbers;
  std::vector<std::string> texts;

  /// -1, 0, 1
  int compare(size_t a, size_t b) const {
    const int order =
        !numbers.empty() ? (numbers[a] > numbers[b]) - (numbers[a] < numbers[b]) : texts[a].compare(texts[b]);
    return is_descending ? -order : order;
  }
};

/// Puts rows in the order of the keys; those that are alike stay in theirs.
template <typename Row>
void sort_rows(std::vector<Row>& rows, const std::vector<Field<Row>>& fields, const std::vector<SortKey>& keys) {
  std::vector<SortColumn> columns;
  for (const SortKey& key : keys) {
    const Field<Row>& field = fields[key.field];
    SortColumn& column = columns.emplace_back();
    column.is_descending = key.is_descending;
    for (const Row& row : rows)
      if (field.key)
        column.numbers.push_back(field.key(row));
      else
        column.texts.push_back(field.text(row));
  }
  std::vector<size_t> order(rows.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&columns](size_t a, size_t b) {
    for (const SortColumn& column : columns)
      if (const int by = column.compare(a, b); by != 0) return by < 0;
    return false;
  });
  std::vector<Row> sorted;
  sorted.reserve(rows.size());
  for (const size_t at : order) sorted.push_back(std::move(rows[at]));
  rows = std::move(sorted);
}

}  // namespace gw::client
