// The terminal of a step's first task: the shepherd holds the master, the task has the other end.
#pragma once

#include <sys/ioctl.h>

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "noded/step/proc/owned_fd.h"

namespace gw::noded::step {

struct Terminal {
  proc::OwnedFd master;  ///< Non-blocking.
  proc::OwnedFd slave;
};

/// Makes one that belongs to `uid`. Errors: errno.
base::Result<Terminal> make_terminal(uint32_t uid, uint16_t rows, uint16_t columns);
/// The foreground processes get SIGWINCH, unless it is the size that it has.
/// Nothing if it cannot be known.
std::optional<winsize> window_size(int master);
void set_window_size(int master, uint16_t rows, uint16_t columns);
/// In the task, which leads a session: its controlling terminal and its three standard streams.
base::Status take_terminal(int slave);

}  // namespace gw::noded::step
