// A terminal in full screen, by ncurses, which lives in terminal.cc alone.
// Invariants: one at a time; the terminal is as before when it is destroyed, and while the program is stopped (ctrl-Z).
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "base/result.h"
#include "cmds/gangway/top/grid.h"
#include "cmds/gangway/top/known.h"

namespace gw::cmds::top {

class Terminal {
 public:
  /// Errors: standard input or output is no terminal; $TERM is not known here, or cannot place its cursor.
  static base::Result<std::unique_ptr<Terminal>> open();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  /// Colours as the terminal has them, but for NO_COLOR; letters beyond ASCII as the locale says.
  Look look() const { return look_; }
  /// Columns and rows, as they are now.
  std::pair<size_t, size_t> size() const;
  void show(const Grid& grid);
  /// The next key that was pressed, as Screen::press takes it; kNoKey: one that means nothing here. Null: there is
  /// none.
  std::optional<int> read_key();

 private:
  explicit Terminal(Look look) : look_(look) {}
  Look look_;
};

}  // namespace gw::cmds::top
