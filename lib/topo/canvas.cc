// Coloured lines of bounded width; see canvas.h.
#include "topo/canvas.h"

namespace gw::topo {
namespace {

const char* code(Ink ink) {
  switch (ink) {
    case Ink::kDim:
      return "\033[2m";
    case Ink::kBold:
      return "\033[1m";
    case Ink::kGreen:
      return "\033[32m";
    case Ink::kYellow:
      return "\033[33m";
    case Ink::kRed:
      return "\033[31m";
    case Ink::kCyan:
      return "\033[36m";
    case Ink::kPlain:
      break;
  }
  return "";
}

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// Bytes of the first `columns` characters.
size_t bytes_of(std::string_view text, size_t columns) {
  size_t i = 0;
  for (; i < text.size(); ++i) {
    if (is_continuation(text[i])) continue;
    if (columns == 0) break;
    --columns;
  }
  return i;
}

}  // namespace

size_t text_columns(std::string_view text) {
  size_t n = 0;
  for (const char c : text) n += is_continuation(c) ? 0 : 1;
  return n;
}

Line& Line::add(std::string_view text, Ink ink) {
  if (cut_ || text.empty()) return *this;
  const size_t want = text_columns(text), room = limit_ - columns_;
  std::string piece(text);
  if (want > room) {
    cut_ = true;
    piece = std::string(text.substr(0, bytes_of(text, room > 0 ? room - 1 : 0)));
    if (room > 0) piece += unicode_ ? "…" : "~";
  }
  columns_ += text_columns(piece);
  const bool inked = colour_ && ink != Ink::kPlain;
  text_ += inked ? code(ink) + piece + "\033[0m" : piece;
  return *this;
}

Line& Line::pad_to(size_t column) {
  if (columns_ < column) add(std::string(column - columns_, ' '));
  return *this;
}

}  // namespace gw::topo
