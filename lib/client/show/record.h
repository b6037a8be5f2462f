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
  explicit Record(bool one_line) : one_line_(one_line) {}

  /// Starts a line.
  Record& line(std::string_view indent = "   ") {
    if (!text_.empty()) text_ += one_line_ ? std::string(" ") : "\n" + std::string(indent);
    at_start_ = true;
    return *this;
  }
  template <typename Value>
  Record& put(std::string_view key, const Value& value) {
    if (!at_start_) text_ += ' ';
    at_start_ = false;
    if constexpr (std::is_convertible_v<const Value&, std::string_view>)
      fmt::format_to(std::back_inserter(text_), "{}={}", key, base::printable(value, SIZE_MAX));
    else
      fmt::format_to(std::back_inserter(text_), "{}={}", key, value);
    return *this;
  }
  /// The record with what ends it.
  std::string text() const { return text_ + (one_line_ ? "\n" : "\n\n"); }

 private:
  bool one_line_;
  bool at_start_ = true;
  std::string text_;
};

}  // namespace gw::client
