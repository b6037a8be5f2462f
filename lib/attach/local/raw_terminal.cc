// Raw mode.
#include "attach/local/raw_terminal.h"

#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <utility>

namespace gw::attach {
namespace {

// What a signal handler needs; there is one terminal in a program.
int g_fd = -1;
volatile sig_atomic_t g_is_raw = 0;
termios g_found;

void restore() {
  if (g_is_raw == 0) return;
  g_is_raw = 0;
  ::tcsetattr(g_fd, TCSADRAIN, &g_found);
}

void on_fault(int signo) {
  restore();
  ::raise(signo);  // the handler is there for one time
}

void restore_at_faults() {
  static bool is_set = false;
  if (std::exchange(is_set, true)) return;
  std::atexit(restore);
  struct sigaction action {};
  action.sa_handler = on_fault;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
  for (const int signo : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL}) ::sigaction(signo, &action, nullptr);
}

}  // namespace

std::optional<TerminalSize> terminal_size(int fd) {
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0) return std::nullopt;
  if (size.ws_row == 0 || size.ws_col == 0) return TerminalSize{};
  return TerminalSize{size.ws_row, size.ws_col};
}

void write_to_terminal(int fd, std::string_view text) {
  if (!text.empty() && ::isatty(fd) == 1) static_cast<void>(!::write(fd, text.data(), text.size()));
}

RawTerminal::RawTerminal(int fd) {
  if (::tcgetattr(fd, &g_found) != 0) return;
  g_fd = fd;
  restore_at_faults();
  enter();
}

void RawTerminal::leave() { restore(); }

void RawTerminal::enter() {
  if (g_fd < 0 || g_is_raw != 0) return;
  termios raw = g_found;
  ::cfmakeraw(&raw);
  if (::tcsetattr(g_fd, TCSADRAIN, &raw) == 0) g_is_raw = 1;
}

}  // namespace gw::attach
