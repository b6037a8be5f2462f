// The terminal of a step's first task.
#include "noded/step/start/task_terminal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>

#include "noded/step/start/child.h"
#include "noded/step/start/streams.h"

namespace gw::noded::step {

base::Result<Terminal> make_terminal(uint32_t uid, uint16_t rows, uint16_t columns) {
  constexpr int kFlags = O_RDWR | O_NOCTTY | O_CLOEXEC;
  Terminal terminal;
  terminal.master.reset(::posix_openpt(kFlags | O_NONBLOCK));
  if (!terminal.master || ::unlockpt(terminal.master.get()) != 0) return base::fail_errno("making a terminal", errno);
  set_window_size(terminal.master.get(), rows, columns);
  // By the master, not by its name: the name may mean another terminal where /dev/pts is another mount.
  terminal.slave.reset(::ioctl(terminal.master.get(), TIOCGPTPEER, kFlags));
  if (!terminal.slave) return base::fail_errno("opening the terminal", errno);
  GW_TRY_STATUS(lift(terminal.slave));
  // The user's, as after a login: programs open it by its name.
  const bool is_given = ::geteuid() != 0 || ::fchown(terminal.slave.get(), uid, static_cast<gid_t>(-1)) == 0;
  if (!is_given) return base::fail_errno("giving the terminal to uid " + std::to_string(uid), errno);
  static_cast<void>(::fchmod(terminal.slave.get(), S_IRUSR | S_IWUSR | S_IWGRP));
  return terminal;
}

void set_window_size(int master, uint16_t rows, uint16_t columns) {
  winsize size{};
  size.ws_row = rows;
  size.ws_col = columns;
  static_cast<void>(::ioctl(master, TIOCSWINSZ, &size));
}

std::optional<winsize> window_size(int master) {
  winsize size{};
  return ::ioctl(master, TIOCGWINSZ, &size) == 0 ? std::optional(size) : std::nullopt;
}

base::Status take_terminal(int slave) {
  if (::ioctl(slave, TIOCSCTTY, 0) != 0) return base::fail_errno("taking the terminal", errno);
  for (const int target : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) GW_TRY_STATUS(place_stream(slave, target));
  return {};
}

}  // namespace gw::noded::step
