// Columns of UTF-8 text.
#include "client/show/display.h"

#include <strings.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "base/utf8.h"

namespace gw::client {
namespace {

struct Range {
  uint32_t first, last;
};
// Marks of the scripts that names are likely to be written in, and what is invisible in any.
constexpr Range kNoWidth[] = {{0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD}, {0x0610, 0x061A},  {0x064B, 0x065F},
                              {0x0E31, 0x0E31}, {0x0E34, 0x0E3A}, {0x0E47, 0x0E4E}, {0x1AB0, 0x1ACE},  {0x1DC0, 0x1DFF},
                              {0x200B, 0x200F}, {0x2060, 0x2064}, {0x20D0, 0x20F0}, {0xFE00, 0xFE0F},  {0xFE20, 0xFE2F},
                              {0xFEFF, 0xFEFF}, {0x1160, 0x11FF}, {0x3099, 0x309A}, {0xE0100, 0xE01EF}};
constexpr Range kWide[] = {{0x1100, 0x115F},   {0x231A, 0x231B},   {0x23E9, 0x23EC},   {0x2614, 0x2615},
                           {0x26A1, 0x26A1},   {0x2705, 0x2705},   {0x2728, 0x2728},   {0x274C, 0x274C},
                           {0x2B50, 0x2B50},   {0x2E80, 0x303E},   {0x3041, 0x33FF},   {0x3400, 0x4DBF},
                           {0x4E00, 0xA4CF},   {0xA960, 0xA97C},   {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},
                           {0xFE30, 0xFE6F},   {0xFF01, 0xFF60},   {0xFFE0, 0xFFE6},   {0x1F300, 0x1F64F},
                           {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x1FA70, 0x1FAFF}, {0x20000, 0x3FFFD}};

template <size_t kSize>
bool is_in(const Range (&ranges)[kSize], uint32_t c) {
  return std::any_of(std::begin(ranges), std::end(ranges), [c](const Range& r) { return c >= r.first && c <= r.last; });
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

}  // namespace

Glyph first_glyph(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return {};
  const size_t length = base::utf8_length(text);
  if (length == 0) return {};
  uint32_t c = lead & (0xFFu >> (length + 1));
  for (size_t i = 1; i < length; ++i) c = c << 6 | (static_cast<unsigned char>(text[i]) & 0x3Fu);
  return {length, is_in(kNoWidth, c) ? size_t{0} : is_in(kWide, c) ? size_t{2} : size_t{1}};
}

size_t display_width(std::string_view text) {
  if (is_ascii(text)) return text.size();
  size_t columns = 0;
  while (!text.empty()) {
    const Glyph g = first_glyph(text);
    columns += g.columns;
    text.remove_prefix(g.bytes);
  }
  return columns;
}

std::string_view cut_to_width(std::string_view text, size_t columns) {
  if (is_ascii(text)) return text.substr(0, columns);
  size_t at = 0;
  while (at < text.size()) {
    const Glyph g = first_glyph(text.substr(at));
    if (g.columns > columns) break;
    columns -= g.columns;
    at += g.bytes;
  }
  return text.substr(0, at);
}

bool use_unicode() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    return ::strcasestr(value, "utf-8") != nullptr || ::strcasestr(value, "utf8") != nullptr;
  }
  return true;
}

}  // namespace gw::client
