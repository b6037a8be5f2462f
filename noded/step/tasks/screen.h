// The last of what a terminal's programs have printed, for who comes next.
// Invariants: at most twice kScreenful is held; what is given begins neither within a control sequence nor within a
// character, in the modes that the terminal then had, and asks the terminal nothing.
#pragma once

#include <string>
#include <string_view>

#include "base/screen_modes.h"

namespace gw::noded::step {

class Screen {
 public:
  static constexpr size_t kScreenful = 16 << 10;

  void write(std::string_view bytes);
  /// The last screenful, or less, in at most so many bytes.
  std::string last(size_t most) const;

 private:
  std::string text_;
  base::ScreenModes modes_;  // at the beginning of text_
  bool is_cut_ = false;      // something came before
};

}  // namespace gw::noded::step
