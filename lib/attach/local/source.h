// Standard input on its way to tasks: read a piece at a time, and only when it is wanted.
// Invariants: nothing is called back from inside want(). A terminal is not read while it belongs to another job of the
// shell: it is looked at again now and then, which costs nothing to speak of.
#pragma once

#include <functional>
#include <string_view>

#include "attach/local/descriptor.h"
#include "io/loop.h"

namespace gw::attach {

class Source {
 public:
  /// `on_piece` gets each piece that was wanted; an empty one is the end, and the last.
  Source(io::Loop& loop, Descriptor from, std::function<void(std::string_view)> on_piece);
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  /// One more piece, as soon as there is one.
  void want();
  /// Looks again at a terminal that belonged to another job; to be called on SIGCONT.
  void look_again();

 private:
  io::Loop& loop_;
  Descriptor from_;
  std::function<void(std::string_view)> piece_fn_;
  io::Watch watch_;
  io::Timer timer_;
  bool is_wanted_ = false;

  void read();
  bool is_in_background() const;
};

}  // namespace gw::attach
