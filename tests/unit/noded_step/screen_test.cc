// What is kept of a terminal's output for who comes next.
#include "noded/step/tasks/screen.h"

#include <gtest/gtest.h>

namespace gw::noded::step {
namespace {

constexpr size_t kFull = Screen::kScreenful;

TEST(Screen, GivesAllWhileItIsLittle) {
  Screen screen;
  screen.write("\x80 half a character at the very beginning\r\n");
  EXPECT_EQ(screen.last(kFull), "\x80 half a character at the very beginning\r\n");
}

TEST(Screen, BeginsAfterALineOrAtASequence) {
  Screen lines;
  for (int i = 0; i < 10000; ++i) lines.write("line " + std::to_string(i) + "\r\n");
  EXPECT_EQ(lines.last(SIZE_MAX).substr(0, 5), "line ");
  EXPECT_GT(lines.last(SIZE_MAX).size(), kFull - 20);
  Screen sequences;
  for (int i = 0; i < 10000; ++i) sequences.write("\x1b[31mred");
  EXPECT_EQ(sequences.last(SIZE_MAX).substr(0, 5), "\x1b[31m");
}

TEST(Screen, BeginsWithAWholeCharacter) {
  for (size_t shift = 0; shift < 3; ++shift) {
    Screen screen;
    screen.write(std::string(shift, 'x'));
    for (size_t i = 0; i < kFull; ++i) screen.write("\xe2\x82\xac");
    EXPECT_EQ(screen.last(SIZE_MAX).substr(0, 3), "\xe2\x82\xac");
  }
}

TEST(Screen, BringsTheModesThatWereSetLongAgo) {
  Screen screen;
  screen.write("\x1b[?1049h\x1b[?1;2004h\x1b[?25l");
  for (int i = 0; i < 10000; ++i) screen.write("line\r\n");
  EXPECT_EQ(screen.last(SIZE_MAX).substr(0, 28), "\x1b[?1049h\x1b[?1h\x1b[?25l\x1b[?2004hl");
  screen.write("\x1b[?1049l");
  for (int i = 0; i < 10000; ++i) screen.write("line\r\n");
  EXPECT_EQ(screen.last(SIZE_MAX).substr(0, 5), "\x1b[?1h");
}

TEST(Screen, DoesNotAskAgainWhatAProgramAsked) {
  Screen screen;
  screen.write("\x1b[6n\x1b[c$ ");
  EXPECT_EQ(screen.last(kFull), "$ ");
}

TEST(Screen, GivesNoMoreThanIsAskedFor) {
  Screen screen;
  screen.write("\x1b[?1049h");
  for (int i = 0; i < 10000; ++i) screen.write("line\r\n");
  for (const size_t most : {size_t{300}, size_t{1000}, size_t{5000}}) {
    EXPECT_LE(screen.last(most).size(), most);
    EXPECT_GT(screen.last(most).size(), most - 280);
  }
}

}  // namespace
}  // namespace gw::noded::step
