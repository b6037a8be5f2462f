// Comma-separated values as RFC 4180 has them: quoted fields may hold commas, newlines and doubled quotes; lines end in
// LF or CRLF. Also tables of fields separated by blanks, with comments (SWF).
// Invariant: fields are views into the text, or into what the reader keeps; they live as long as the reader.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gw::sim {

class CsvReader {
 public:
  explicit CsvReader(std::string_view text);
  /// Reads the next row that is not empty into `fields`; false at the end. Errors: a quote that is not closed, text
  /// behind a closing quote; the rest of the line is skipped then, and reading can continue.
  base::Result<bool> next(std::vector<std::string_view>& fields);
  /// Line in which the row began that next() read last; from 1 on.
  uint32_t line() const { return row_line_; }

 private:
  std::string_view text_;
  size_t at_ = 0;
  uint32_t line_ = 1, row_line_ = 1;
  std::deque<std::string> kept_;  // fields with doubled quotes

  base::Result<std::string_view> quoted();
  std::string_view plain();
  bool at_line_end() const { return at_ >= text_.size() || text_[at_] == '\n' || text_[at_] == '\r'; }
  void end_line();
  void skip_line();
};

/// Cuts a line at blanks.
void split_blanks(std::string_view line, std::vector<std::string_view>& fields);

}  // namespace gw::sim
