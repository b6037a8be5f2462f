// Key=Value words over lines, as scontrol prints records.
// Invariant: no value breaks a line or commands a terminal, whoever wrote it.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/text.h"

namespace gw::client {

/// Builds one record. The first line starts at the margin, the others three spaces in; on one line all are separated by
/// a space.
class Record {
 public:
  explicit Record(bool one_line) : one_line_(one_line) { text_.reserve(kUsual); }

  /// Starts a line.
  Record& line(std::string_view indent = "   ") {
    at_start_ = true;
    if (text_.empty()) return *this;
    text_ += one_line_ ? ' ' : '\n';
    if (!one_line_) text_ += indent;
    return *this;
  }
  template <typename Value>
  Record& put(std::string_view key, const Value& value) {
    if (!at_start_) text_ += ' ';
    at_start_ = false;
    text_ += key;
    text_ += '=';
    if constexpr (std::is_convertible_v<const Value&, std::string_view>) {
      text_ += base::printable(value, SIZE_MAX);
    } else if constexpr (std::is_integral_v<Value> && sizeof(Value) > 1) {
      const fmt::format_int digits(value);
      text_.append(digits.data(), digits.size());
    } else {
      fmt::format_to(std::back_inserter(text_), "{}", value);
    }
    return *this;
  }
  /// The record with what ends it.
  std::string text() const { return text_ + (one_line_ ? "\n" : "\n\n"); }

 private:
  static constexpr size_t kUsual = 2048;  // bytes of a job's record
  bool one_line_;
  bool at_start_ = true;
  std::string text_;
};

}  // namespace gw::client
