// See grid.h.
#include "cmds/gangway/top/grid.h"

#include "base/text.h"
#include "client/show/display.h"

namespace gw::cmds::top {

namespace {

/// What the codes that the tables use make of a style.
Style styled(std::string_view codes, Style style, Style plain) {
  using client::Tone;
  for (const std::string& code : base::split(codes, ';')) {
    if (code == "0" || code.empty()) style = plain;
    if (code == "1") style.is_bold = true;
    if (code == "2" || code == "90") style.tone = Tone::kFaint;
    if (code == "7") style.is_reverse = true;
    if (code == "31" || code == "35") style.tone = Tone::kBad;
    if (code == "32") style.tone = Tone::kGood;
    if (code == "33") style.tone = Tone::kWaits;
    if (code == "34" || code == "36") style.tone = Tone::kBusy;
  }
  return style;
}

/// The codes between ESC [ and m at the beginning of the text; null: there are none.
std::string_view codes_at(std::string_view text) {
  if (!text.starts_with("\033[")) return {};
  const size_t end = text.find_first_not_of("0123456789;", 2);
  return end == std::string_view::npos || text[end] != 'm' ? std::string_view() : text.substr(0, end + 1);
}

/// Signs that show nothing, and change how what stands behind them is shown: U+200B to 200F, 202A to 202E, 2060 to
/// 206F, FEFF, and the controls from 80 to 9F.
bool turns_or_joins(std::string_view glyph) {
  const auto byte = [glyph](size_t i) { return i < glyph.size() ? static_cast<unsigned char>(glyph[i]) : 0; };
  if (byte(0) == 0xC2) return byte(1) < 0xA0;
  if (byte(0) == 0xEF) return byte(1) == 0xBB && byte(2) == 0xBF;
  if (byte(0) != 0xE2) return false;
  return (byte(1) == 0x80 && ((byte(2) >= 0x8B && byte(2) <= 0x8F) || (byte(2) >= 0xAA && byte(2) <= 0xAE))) ||
         (byte(1) == 0x81 && byte(2) >= 0xA0 && byte(2) <= 0xAF);
}

}  // namespace

/// Of what a wide letter has there nothing is left.
void Grid::clear(size_t row, size_t column) {
  Cell* const line = &cells_[row * columns_];
  if (line[column].glyph.empty() && column > 0) line[column - 1].glyph = " ";
  if (column + 1 < columns_ && line[column + 1].glyph.empty()) line[column + 1].glyph = " ";
}

size_t Grid::put(size_t row, size_t column, std::string_view text, Style style) {
  const Style plain = style;
  if (row >= rows()) return column;
  Cell* last = nullptr;
  while (!text.empty()) {
    if (const std::string_view codes = codes_at(text); !codes.empty()) {
      style = styled(codes.substr(2, codes.size() - 3), style, plain);
      text.remove_prefix(codes.size());
      continue;
    }
    const client::Glyph glyph = client::first_glyph(text);
    const std::string_view bytes = text.substr(0, glyph.bytes);
    text.remove_prefix(glyph.bytes);
    if (glyph.bytes == 1 && (static_cast<unsigned char>(bytes[0]) < 0x20 || bytes[0] == 0x7F)) continue;
    if (turns_or_joins(bytes)) continue;
    if (glyph.columns == 0) {
      constexpr size_t kMostBytes = 32;  // of a letter and its marks
      if (last != nullptr && last->glyph.size() < kMostBytes) last->glyph += bytes;
      continue;
    }
    if (column + glyph.columns > columns_) break;
    for (size_t i = 0; i < glyph.columns; ++i) {
      clear(row, column + i);
      cells_[row * columns_ + column + i] = {i == 0 ? std::string(bytes) : std::string(), style};
    }
    last = &cells_[row * columns_ + column];
    column += glyph.columns;
  }
  return column;
}

void Grid::restyle(size_t row, Style style) {
  for (size_t c = 0; row < rows() && c < columns_; ++c) cells_[row * columns_ + c].style = style;
}

std::string Grid::text() const {
  std::string out;
  for (size_t row = 0; row < rows(); ++row) {
    for (size_t c = 0; c < columns_; ++c) out += at(row, c).glyph;
    out.erase(out.find_last_not_of(' ') + 1);
    out += '\n';
  }
  return out;
}

}  // namespace gw::cmds::top
