// The size of a step's terminal, as its owner says it.
// Invariant: programs draw a terminal anew when its size changes, so for a new owner it does, if only for a moment.
#pragma once

#include <cstdint>

#include "io/loop.h"

namespace gw::noded::step {

/// Between the two sizes that a terminal gets when its programs are to draw it anew: time for them to see both.
constexpr base::Duration kRedrawPause = base::milliseconds(100);

class TerminalSize {
 public:
  explicit TerminalSize(io::Loop& loop) : loop_(loop) {}
  /// The terminal has gone over to another owner, who has not said its size yet.
  void on_new_owner() { needs_redraw_ = true; }
  /// `master` is valid until stop().
  void set(int master, uint16_t rows, uint16_t columns);
  void stop() { second_.cancel(); }

 private:
  io::Loop& loop_;
  bool needs_redraw_ = false;
  io::Timer second_;  // of the two sizes
};

}  // namespace gw::noded::step
