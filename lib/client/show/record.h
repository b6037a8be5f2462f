// Key=Value words over lines, as scontrol prints records.
// Invariant: no value breaks a line or commands a terminal, whoever wrote it.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/text.h"

namespace gw::client {

/// Builds one record behind what a text has already. The first line starts at the margin, the others three spaces in;
/// on one line all are separated by a space.
class Record {
 public:
  Record(std::string& text, bool one_line) : text_(text), start_(text.size()), one_line_(one_line) {}

  /// Starts a line.
  Record& line(std::string_view indent = "   ") {
    at_start_ = true;
    if (text_.size() == start_) return *this;
    text_ += one_line_ ? ' ' : '\n';
    if (!one_line_) text_ += indent;
    return *this;
  }
  template <typename Value>
  Record& put(std::string_view key, const Value& value) {
    if constexpr (std::is_convertible_v<const Value&, std::string_view>) {
      const std::string_view text(value);
      const bool is_plain = std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
      write(key, is_plain ? text : std::string_view(base::printable(text, SIZE_MAX)));
    } else if constexpr (std::is_integral_v<Value> && sizeof(Value) > 1) {
      const fmt::format_int digits(value);
      write(key, {digits.data(), digits.size()});
    } else {
      write(key, fmt::format("{}", value));
    }
    return *this;
  }
  /// Writes what ends a record.
  void end() { text_ += one_line_ ? "\n" : "\n\n"; }

 private:
  /// Makes room once: lists have millions of these words.
  void write(std::string_view key, std::string_view value) {
    const size_t before = text_.size(), space = at_start_ ? 0 : 1;
    text_.resize(before + space + key.size() + 1 + value.size());
    char* to = text_.data() + before;
    if (space != 0) *to++ = ' ';
    to = std::copy(key.begin(), key.end(), to);
    *to++ = '=';
    std::copy(value.begin(), value.end(), to);
    at_start_ = false;
  }

  std::string& text_;
  size_t start_;  // of the record
  bool one_line_;
  bool at_start_ = true;
};

}  // namespace gw::client
