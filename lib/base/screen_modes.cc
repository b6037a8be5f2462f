// Reading control sequences.
#include "base/screen_modes.h"

#include "base/text.h"

namespace gw::base {
namespace {

struct Mode {
  const char* number;
  bool at_first;
};
// The other screens come first: entering them clears.
constexpr Mode kTable[] = {{"1049", false}, {"1047", false}, {"47", false},   {"1", false},    {"7", true},
                           {"25", true},    {"1000", false}, {"1002", false}, {"1003", false}, {"1004", false},
                           {"1005", false}, {"1006", false}, {"1015", false}, {"2004", false}};

}  // namespace

void ScreenModes::feed(std::string_view bytes) {
  for (size_t i = 0; i < bytes.size(); ++i) {
    const char c = bytes[i];
    if (state_ == State::kText || c == kEsc) {
      i = bytes.find(kEsc, i);
      if (i == std::string_view::npos) return;
      state_ = State::kEscape;
    } else if (state_ == State::kEscape) {
      on_escape(c);
    } else if (c >= '@' && c <= '~') {
      state_ = State::kText;
      on_sequence(c);
    } else if (sequence_.size() < kLongest) {
      sequence_ += c;
    }
  }
}

void ScreenModes::on_escape(char c) {
  state_ = c == '[' ? State::kSequence : State::kText;
  sequence_.clear();
  if (c == '=' || c == '>') has_keypad_ = c == '=';
  if (c == 'c') *this = ScreenModes();
}

void ScreenModes::on_sequence(char last) {
  if ((last == 'h' || last == 'l') && sequence_.starts_with('?'))
    set_private(std::string_view(sequence_).substr(1), last == 'h');
  if (last == 'r' && sequence_.find_first_not_of("0123456789;") == std::string::npos) {
    has_region_ = !sequence_.empty();
    region_ = sequence_;
  }
}

void ScreenModes::set_private(std::string_view numbers, bool on) {
  static_assert(std::size(kTable) == kModes);
  for (const std::string& number : split(numbers, ';'))
    for (size_t i = 0; i < kModes; ++i)
      if (number == kTable[i].number) is_on_[i] = on != kTable[i].at_first;
}

std::string ScreenModes::enter() const {
  std::string text;
  for (size_t i = 0; i < kModes; ++i)
    if (is_on_[i]) text += std::string("\x1b[?") + kTable[i].number + (kTable[i].at_first ? 'l' : 'h');
  if (has_keypad_) text += "\x1b=";
  if (has_region_) text += "\x1b[" + region_ + "r";
  return text;
}

// Setting the margins moves the cursor: it is put back.
std::string ScreenModes::leave() const {
  std::string text;
  if (has_region_)
    text +=
        "\x1b"
        "7\x1b[r\x1b"
        "8";
  if (has_keypad_) text += "\x1b>";
  for (size_t i = kModes; i-- > 0;)
    if (is_on_[i]) text += std::string("\x1b[?") + kTable[i].number + (kTable[i].at_first ? 'h' : 'l');
  if (!text.empty()) text += "\x1b[m";
  return text;
}

}  // namespace gw::base
