// The size of a step's terminal.
#include "noded/step/tasks/terminal_size.h"

#include <utility>

#include "noded/step/start/task_terminal.h"

namespace gw::noded::step {

void TerminalSize::set(int master, uint16_t rows, uint16_t columns) {
  second_.cancel();
  const auto now = window_size(master);
  const bool is_same = now && now->ws_row == rows && now->ws_col == columns;
  if (!std::exchange(needs_redraw_, false) || !is_same) return set_window_size(master, rows, columns);
  set_window_size(master, rows > 1 ? static_cast<uint16_t>(rows - 1) : 2, columns);
  second_ = loop_.after(kRedrawPause, [=] { set_window_size(master, rows, columns); });
}

}  // namespace gw::noded::step
