// A screen as cells: what `gangway top` draws, before a terminal shows it.
// Invariants: nothing is written outside; a wide letter has both of its cells or none; no control character is a cell.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "client/show/format.h"

namespace gw::cmds::top {

struct Style {
  client::Tone tone = client::Tone::kPlain;
  bool is_bold = false;
  bool is_reverse = false;
  bool operator==(const Style&) const = default;
};

struct Cell {
  std::string glyph = " ";  ///< With the marks that belong to it; empty: the right half of a wide letter.
  Style style = {};
};

class Grid {
 public:
  Grid(size_t columns, size_t rows) : columns_(columns), cells_(columns * rows) {}

  size_t columns() const { return columns_; }
  size_t rows() const { return columns_ == 0 ? 0 : cells_.size() / columns_; }
  const Cell& at(size_t row, size_t column) const { return cells_[row * columns_ + column]; }

  /// Writes `text` from there to the edge; returns the column behind it. Codes of colours in it count (tone_code), all
  /// other control characters are dropped.
  size_t put(size_t row, size_t column, std::string_view text, Style style = {});
  /// The whole row has this style from now on.
  void restyle(size_t row, Style style);
  /// The rows without their styles and without blanks at their ends.
  std::string text() const;

 private:
  size_t columns_;
  std::vector<Cell> cells_;

  void clear(size_t row, size_t column);
};

}  // namespace gw::cmds::top
