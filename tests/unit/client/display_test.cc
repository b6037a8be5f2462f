// Width and cutting of UTF-8 text, alone and in the cells of a table.
#include "client/show/display.h"

#include <gtest/gtest.h>

#include "base/utf8.h"
#include "client/show/format.h"

namespace gw::client {
namespace {

constexpr const char* kAccents =
    "Gr\xc3\xb6\xc3\x9f"
    "e";                                                   // 5 columns, 7 bytes
constexpr const char* kWide = "\xe6\xa8\xa1\xe5\x9e\x8b";  // two wide letters
constexpr const char* kCombined = "e\xcc\x81x";            // e, acute accent, x
constexpr const char* kEmoji = "\xf0\x9f\x9a\x80";         // one, wide
constexpr const char* kBroken = "a\xff\xc3z";              // bytes that are no text

TEST(DisplayWidth, CountsColumns) {
  const std::pair<const char*, size_t> cases[] = {{"", 0},        {"abc", 3},  {kAccents, 5}, {kWide, 4},
                                                  {kCombined, 2}, {kEmoji, 2}, {kBroken, 4}};
  for (const auto& [text, width] : cases) EXPECT_EQ(display_width(text), width) << text;
}

TEST(CutToWidth, CutsBetweenCharacters) {
  const struct {
    const char* text;
    size_t columns;
    const char* cut;
  } cases[] = {{"abc", 2, "ab"},
               {"abc", 9, "abc"},
               {kAccents, 3, "Gr\xc3\xb6"},
               {kWide, 3, "\xe6\xa8\xa1"},
               {kWide, 1, ""},
               {kWide, 4, kWide},
               {kCombined, 1, "e\xcc\x81"},
               {kEmoji, 1, ""},
               {kBroken, 3, "a\xff\xc3"},
               {kAccents, 0, ""}};
  for (const auto& c : cases) EXPECT_EQ(cut_to_width(c.text, c.columns), c.cut) << c.text << " " << c.columns;
}

TEST(Cell, PadsByColumnsAndNeverCutsASequence) {
  const auto cell = [](const char* text, uint32_t width, bool is_right) {
    std::string out;
    Column column;
    column.width = width;
    column.is_right = is_right;
    append_cell(out, column, text);
    return out;
  };
  EXPECT_EQ(cell(kAccents, 7, true), "  " + std::string(kAccents));
  EXPECT_EQ(cell(kWide, 5, false), std::string(kWide) + " ");
  EXPECT_EQ(cell(kWide, 3, false), "\xe6\xa8\xa1 ");
  for (uint32_t width = 1; width < 12; ++width)
    for (const char* text : {kAccents, kWide, kCombined, kEmoji}) {
      EXPECT_TRUE(base::is_utf8(cell(text, width, true))) << text << " " << width;
      EXPECT_EQ(display_width(cell(text, width, true)), width) << text;
    }
}

}  // namespace
}  // namespace gw::client
