// What a terminal has shown.
#include "noded/step/tasks/screen.h"

#include <algorithm>

#include "base/screen_queries.h"

namespace gw::noded::step {
namespace {

constexpr size_t kModesRoom = 256;  // that sequences for modes may take

/// From there on, where a line or a control sequence begins; failing that, a character.
size_t safe_start(std::string_view text, size_t from) {
  const size_t found = text.find_first_of("\n\x1b", from);
  if (found != std::string_view::npos) return text[found] == '\n' ? found + 1 : found;
  while (from < text.size() && (static_cast<unsigned char>(text[from]) & 0xc0) == 0x80) ++from;
  return from;
}

}  // namespace

void Screen::write(std::string_view bytes) {
  text_ += bytes;
  if (text_.size() <= 2 * kScreenful) return;
  const size_t gone = text_.size() - kScreenful;
  modes_.feed(std::string_view(text_).substr(0, gone));
  text_.erase(0, gone);
  is_cut_ = true;
}

std::string Screen::last(size_t most) const {
  const size_t size = std::min({kScreenful, text_.size(), most - std::min(most, kModesRoom)});
  size_t start = text_.size() - size;
  if (is_cut_ || start > 0) start = safe_start(text_, start);
  base::ScreenModes modes = modes_;
  modes.feed(std::string_view(text_).substr(0, start));
  return modes.enter() + base::without_queries(std::string_view(text_).substr(start));
}

}  // namespace gw::noded::step
