// Lines of a terminal drawing: pieces of text with a colour each, and a width that counts what is seen.
#pragma once

#include <string>
#include <string_view>

namespace gw::topo {

enum class Ink { kPlain, kDim, kBold, kGreen, kYellow, kRed, kCyan };

/// One line under construction. Text beyond `limit` columns is cut, and the cut is shown.
class Line {
 public:
  Line(size_t limit, bool colour, bool unicode) : limit_(limit), colour_(colour), unicode_(unicode) {}

  Line& add(std::string_view text, Ink ink = Ink::kPlain);
  /// Spaces up to that column; none if it is passed already.
  Line& pad_to(size_t column);
  size_t columns() const { return columns_; }
  /// The line with its colour codes, without a newline.
  const std::string& text() const { return text_; }

 private:
  size_t limit_;
  bool colour_;
  bool unicode_;
  size_t columns_ = 0;
  bool cut_ = false;
  std::string text_;
};

/// Columns that a UTF-8 text takes (one per character).
size_t text_columns(std::string_view text);

}  // namespace gw::topo
