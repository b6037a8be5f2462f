// The key that leaves a terminal's programs and lets them continue: ctrl-\ twice. Pure.
// Invariant: every byte that is not part of it is passed on, in order; the first ctrl-\ only once it is known that no
// second one follows.
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace gw::attach {

class DetachKey {
 public:
  static constexpr char kKey = '\x1c';

  /// What is passed on of what was typed: what comes before the second key, if that comes.
  std::string feed(std::string_view typed) {
    std::string on;
    for (const char c : typed) {
      const bool was_held = std::exchange(is_held_, c == kKey);
      if (was_held && c == kKey) {
        is_found_ = true;
        break;
      }
      if (was_held) on += kKey;
      if (c != kKey) on += c;
    }
    return on;
  }
  bool is_found() const { return is_found_; }
  /// One has come: see give_up().
  bool is_held() const { return is_held_ && !is_found_; }
  /// No second one has followed in time: what is passed on.
  std::string give_up() { return std::exchange(is_held_, false) ? std::string(1, kKey) : std::string(); }

 private:
  bool is_held_ = false;
  bool is_found_ = false;
};

}  // namespace gw::attach
