// Which lasting modes of a terminal the output of its programs has set: the other screen, keys, mouse, cursor. Pure.
// Invariants: any bytes are taken; memory is bounded; a sequence may come in pieces.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace gw::base {

constexpr char kEsc = '\x1b';

class ScreenModes {
 public:
  void feed(std::string_view bytes);
  /// What brings a terminal as it is at first into these modes; empty if that changes nothing.
  std::string enter() const;
  /// What brings it back.
  std::string leave() const;

 private:
  enum class State : uint8_t { kText, kEscape, kSequence };
  static constexpr size_t kModes = 14;
  static constexpr size_t kLongest = 40;  // of a sequence that means anything here

  State state_ = State::kText;
  std::string sequence_;
  std::array<bool, kModes> is_on_{};  // another than at first
  bool has_keypad_ = false;
  bool has_region_ = false;
  std::string region_;

  void on_escape(char c);
  void on_sequence(char last);
  void set_private(std::string_view numbers, bool on);
};

}  // namespace gw::base
