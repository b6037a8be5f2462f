// The user's terminal while a task's program has it: raw, and put back as it was.
// Invariant: whichever way the program ends, but by SIGKILL, the terminal is as it was found: also by exit(), and by
// the signals that a fault brings.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace gw::attach {

struct TerminalSize {
  uint16_t rows = 24;
  uint16_t columns = 80;
};
/// Of the terminal behind `fd`; nothing if there is none.
std::optional<TerminalSize> terminal_size(int fd);

/// Writes as much as a terminal takes now.
void write_to_terminal(int fd, std::string_view text);

/// At most one at a time in a program.
class RawTerminal {
 public:
  /// Nothing is changed if `fd` is no terminal.
  explicit RawTerminal(int fd);
  ~RawTerminal() { leave(); }
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;

  /// For the time that the program is stopped.
  void leave();
  void enter();
};

}  // namespace gw::attach
