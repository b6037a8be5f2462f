// See terminal.h.
#include "cmds/gangway/top/terminal.h"

#define NCURSES_NOMACROS
#define NCURSES_WIDECHAR 1
#include <curses.h>
#include <fmt/format.h>
#include <langinfo.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <clocale>
#include <csignal>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/text.h"
#include "client/conn/program.h"
#include "client/show/display.h"
#include "cmds/gangway/top/screen.h"

extern "C" char* tigetstr(const char* name);  // term.h has macros for names such as `columns`

namespace gw::cmds::top {

namespace {

using client::Tone;

bool is_utf8() { return std::string_view(::nl_langinfo(CODESET)) == "UTF-8"; }

/// Is there a locale in which the library writes letters beyond ASCII, and does the user want them?
bool set_locale() {
  std::setlocale(LC_CTYPE, "");
  if (!client::use_unicode()) return false;
  if (!is_utf8()) std::setlocale(LC_CTYPE, "C.UTF-8");
  return is_utf8();
}

constexpr Tone kTones[] = {Tone::kGood, Tone::kBusy, Tone::kWaits, Tone::kBad};

void begin_colours() {
  ::start_color();
  ::use_default_colors();
  constexpr short kColours[] = {COLOR_GREEN, COLOR_CYAN, COLOR_YELLOW, COLOR_RED};
  for (const Tone tone : kTones) {
    const auto pair = static_cast<short>(tone);
    ::init_pair(pair, kColours[pair - 1], -1);
  }
}

attr_t attributes_of(Style style, bool colour) {
  attr_t out = A_NORMAL;
  if (style.is_bold) out |= A_BOLD;
  if (style.is_reverse) out |= A_REVERSE;
  if (style.tone == Tone::kFaint) out |= A_DIM;
  if (!colour && style.tone == Tone::kBad) out |= A_BOLD;
  return out;
}

short pair_of(Style style, bool colour) {
  const bool has_one = colour && style.tone != Tone::kPlain && style.tone != Tone::kFaint;
  return has_one ? static_cast<short>(style.tone) : short{0};
}

int key_of(wint_t code) {
  switch (code) {
    case KEY_UP:
      return kUp;
    case KEY_DOWN:
      return kDown;
    case KEY_LEFT:
      return kLeft;
    case KEY_RIGHT:
      return kRight;
    case KEY_PPAGE:
      return kPageUp;
    case KEY_NPAGE:
      return kPageDown;
    case KEY_HOME:
      return kHome;
    case KEY_END:
      return kEnd;
    case KEY_BACKSPACE:
      return kBackspace;
    case KEY_ENTER:
      return kEnter;
    default:
      return kNoKey;
  }
}

int key_of_letter(wint_t letter) {
  if (letter == '\r') return kEnter;
  if (letter == '\b') return kBackspace;
  return static_cast<int>(letter);
}

std::string only_ascii(const std::string& glyph) {
  return glyph.size() == 1 && static_cast<unsigned char>(glyph[0]) < 0x80 ? glyph : "?";
}

}  // namespace

base::Result<std::unique_ptr<Terminal>> Terminal::open() {
  if (::isatty(STDIN_FILENO) != 1 || ::isatty(STDOUT_FILENO) != 1)
    return base::invalid("this takes a terminal", "gqueue, ginfo and gshare print for programs and files");
  const char* term = std::getenv("TERM");
  Look look;
  look.unicode = set_locale();
  SCREEN* const screen = ::newterm(nullptr, stdout, stdin);
  if (screen == nullptr)
    return base::invalid(
        fmt::format("this terminal is not known here: TERM={}", term == nullptr ? "" : base::printable(term, 40)),
        "TERM=xterm and TERM=vt100 fit most; gqueue -i 2 needs none");
  ::set_term(screen);
  if (::tigetstr("cup") == nullptr) {
    ::endwin();
    return base::invalid(
        fmt::format("this terminal cannot place its cursor: TERM={}", term == nullptr ? "" : base::printable(term, 40)),
        "gqueue, ginfo and gshare print line by line");
  }
  std::signal(SIGABRT, [](int) { ::endwin(); });  // whatever ends the program, the terminal is as before
  look.colour = client::use_colour(STDOUT_FILENO) && ::has_colors();
  if (look.colour) begin_colours();
  ::cbreak();
  ::noecho();
  ::nonl();
  ::keypad(stdscr, TRUE);
  ::nodelay(stdscr, TRUE);
  constexpr int kEscapeDelay = 25;  // milliseconds
  ::set_escdelay(kEscapeDelay);
  ::curs_set(0);
  return std::unique_ptr<Terminal>(new Terminal(look));
}

Terminal::~Terminal() { ::endwin(); }

std::pair<size_t, size_t> Terminal::size() const {
  winsize size = {};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0 &&
      (size.ws_row != LINES || size.ws_col != COLS))
    ::resizeterm(size.ws_row, size.ws_col);
  return {static_cast<size_t>(COLS), static_cast<size_t>(LINES)};
}

void Terminal::show(const Grid& grid) {
  ::werase(stdscr);
  for (size_t row = 0; row < grid.rows(); ++row) {
    std::string text;
    Style style;
    ::wmove(stdscr, static_cast<int>(row), 0);
    const auto flush = [&] {
      ::wattr_set(stdscr, attributes_of(style, look_.colour), pair_of(style, look_.colour), nullptr);
      ::waddnstr(stdscr, text.c_str(), static_cast<int>(text.size()));
      text.clear();
    };
    for (size_t column = 0; column < grid.columns(); ++column) {
      const Cell& cell = grid.at(row, column);
      if (!(cell.style == style)) {
        flush();
        style = cell.style;
      }
      text += look_.unicode ? cell.glyph : only_ascii(cell.glyph);
    }
    flush();
  }
  ::wrefresh(stdscr);
}

std::optional<int> Terminal::read_key() {
  const auto next = [](wint_t& code) { return ::wget_wch(stdscr, &code); };
  wint_t code = 0;
  const int kind = next(code);
  if (kind == KEY_CODE_YES) return key_of(code);
  if (kind != OK) return std::nullopt;
  wint_t behind = 0;
  if (code != kEscape || next(behind) == ERR) return key_of_letter(code);
  // Alt with a letter, or a key that this terminal's description does not name: none of its letters is a key.
  constexpr int kMostLetters = 32;
  const bool is_sequence = behind == '[' || behind == 'O';
  for (int i = 0; is_sequence && i < kMostLetters && next(behind) == OK && (behind < 0x40 || behind > 0x7E); ++i) {
  }
  return kNoKey;
}

}  // namespace gw::cmds::top
