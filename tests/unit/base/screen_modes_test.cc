// Modes of terminals, read from what programs print.
#include "base/screen_modes.h"

#include <gtest/gtest.h>

namespace gw::base {
namespace {

ScreenModes after(std::string_view bytes, size_t piece = SIZE_MAX) {
  ScreenModes modes;
  for (size_t i = 0; i < bytes.size(); i += std::min(piece, bytes.size() - i)) modes.feed(bytes.substr(i, piece));
  return modes;
}

TEST(ScreenModes, TextSetsNone) {
  EXPECT_EQ(after("plain \x1b[31mred\x1b[m \x1b]0;title\x07 \x1b[2J").enter(), "");
  EXPECT_EQ(after("plain").leave(), "");
}

TEST(ScreenModes, AnEditorsAreEnteredAndLeft) {
  constexpr const char* kEditor = "\x1b[?1049h\x1b[?1h\x1b=\x1b[1;23r text \x1b[?25l";
  for (const size_t piece : {size_t{1}, size_t{2}, size_t{7}, SIZE_MAX}) {
    EXPECT_EQ(after(kEditor, piece).enter(), "\x1b[?1049h\x1b[?1h\x1b[?25l\x1b=\x1b[1;23r");
    EXPECT_EQ(after(kEditor, piece).leave(),
              "\x1b"
              "7\x1b[r\x1b"
              "8\x1b>\x1b[?25h\x1b[?1l\x1b[?1049l\x1b[m");
  }
}

TEST(ScreenModes, WhatWasTakenBackIsGone) {
  EXPECT_EQ(after("\x1b[?1000;1006;2004h\x1b[?1000;2004l").enter(), "\x1b[?1006h");
  EXPECT_EQ(after("\x1b[?25l\x1b[5;6r\x1b=\x1b[?25h\x1b[r\x1b>").enter(), "");
  EXPECT_EQ(after("\x1b[?1049h\x1b=\x1b"
                  "c")
                .enter(),
            "");
}

TEST(ScreenModes, EndlessAndBrokenSequencesDoNoHarm) {
  EXPECT_EQ(after("\x1b[" + std::string(100000, '1') + "h").enter(), "");
  EXPECT_EQ(after("\x1b[\x1b[?25l").enter(), "\x1b[?25l");
  EXPECT_EQ(after(std::string("\x1b[?\0;;h\x1b[?h\x1b[?99999999999h", 24)).enter(), "");
}

}  // namespace
}  // namespace gw::base
