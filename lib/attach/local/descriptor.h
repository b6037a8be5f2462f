// One of the program's own standard descriptors, read or written without ever waiting.
// Invariant: the open file that others share (the shell's terminal, a pipe's other users) keeps its flags: a pipe or a
// terminal is opened once more for this program alone, a socket is asked call by call.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string_view>

#include "io/fd.h"

namespace gw::attach {

class Descriptor {
 public:
  /// `fd` stays the caller's, and open.
  static Descriptor for_reading(int fd) { return Descriptor(fd, false); }
  static Descriptor for_writing(int fd) { return Descriptor(fd, true); }

  /// To watch; only if can_wait().
  int fd() const { return own_ ? own_.get() : fd_; }
  /// False of files and the like, which are always ready.
  bool can_wait() const { return kind_ != Kind::kFile; }
  bool is_terminal() const { return is_terminal_; }
  /// As read(2) and write(2); EAGAIN where they would wait, never EINTR.
  ssize_t read(char* to, size_t n);
  ssize_t write(std::string_view bytes);

 private:
  enum class Kind { kFile, kOwn, kSocket, kShared };
  Descriptor(int fd, bool for_writing);
  bool is_ready(short what) const;

  int fd_;
  io::Fd own_;
  Kind kind_ = Kind::kFile;
  bool is_terminal_ = false;
};

}  // namespace gw::attach
