// Finding requests among control sequences (ECMA-48, and what xterm adds to it).
#include "base/screen_queries.h"

#include <cstdlib>

#include "base/screen_modes.h"

namespace gw::base {
namespace {

constexpr char kEnquiry = '\x05', kBell = '\a';
constexpr size_t kNotWhole = std::string_view::npos;

struct Sequence {
  size_t end = kNotWhole;
  bool is_broken = false;  // by another
};

/// A string ends by a bell, or by ESC and a backslash.
Sequence string_at(std::string_view text, size_t at) {
  for (size_t i = at + 2; i < text.size(); ++i) {
    if (text[i] == kBell) return {i + 1};
    if (text[i] != kEsc) continue;
    if (i + 1 == text.size()) return {};
    return text[i + 1] == '\\' ? Sequence{i + 2} : Sequence{i, true};
  }
  return {};
}

/// `at`: of an escape character.
Sequence sequence_at(std::string_view text, size_t at) {
  if (at + 1 == text.size()) return {};
  const char kind = text[at + 1];
  if (kind == kEsc) return {at + 1, true};
  if (std::string_view("]P_^X").find(kind) != std::string_view::npos) return string_at(text, at);
  if (kind != '[') return {at + 2};
  for (size_t i = at + 2; i < text.size(); ++i) {
    if (text[i] == kEsc) return {i, true};
    if (text[i] >= '@' && text[i] <= '~') return {i + 1};
  }
  return {};
}

/// The part of a control sequence between its introducer and its last character, and that.
bool control_asks(std::string_view body, char last) {
  const char first = body.empty() ? '\0' : body.front(), before_last = body.empty() ? '\0' : body.back();
  switch (last) {
    case 'c':  // kind of terminal
    case 'n':  // state, cursor
    case 'x':  // parameters
      return before_last != '*' && before_last != '$';
    case 'p':  // a mode
    case 'w':  // presentation
      return before_last == '$';
    case 'y':  // checksum
      return before_last == '*';
    case 'q':  // version
      return first == '>';
    case 'S':  // graphics
    case 'u':  // keyboard
      return first == '?';
    case 't': {  // sizes, places, titles
      const int what = std::atoi(std::string(body).c_str());
      return what >= 11 && what <= 21;
    }
    default:
      return false;
  }
}

bool asks(std::string_view sequence) {
  const std::string_view body = sequence.substr(2);
  switch (sequence[1]) {
    case 'Z':
      return true;
    case '[':
      return control_asks(body.substr(0, body.size() - 1), body.back());
    case ']':
      return body.find(";?") != std::string_view::npos;
    case 'P':
      return body.starts_with("$q") || body.starts_with("+q");
    case '_':
      return body.find("a=q") != std::string_view::npos;
    default:
      return false;
  }
}

}  // namespace

std::string without_queries(std::string_view bytes) {
  std::string out;
  for (size_t i = 0; i < bytes.size();) {
    if (bytes[i] != kEsc) {
      if (bytes[i] != kEnquiry) out += bytes[i];
      ++i;
      continue;
    }
    const Sequence found = sequence_at(bytes, i);
    if (found.end == kNotWhole) return out.append(bytes.substr(i));
    const std::string_view sequence = bytes.substr(i, found.end - i);
    if (!found.is_broken && !asks(sequence)) out += sequence;
    i = found.end;
  }
  return out;
}

}  // namespace gw::base
