// Line by line. See plain_yaml.h.
#include "config/plain_yaml.h"

#include <algorithm>

namespace gw::config {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_visible(char c) { return c >= ' ' && c <= '~'; }
bool is_key_char(char c) { return is_letter(c) || is_digit(c) || c == '_'; }
bool is_text_char(char c) { return is_key_char(c) || c == '.' || c == '/' || c == '-' || c == '@' || c == '+'; }

// Nothing but blanks and a comment.
bool is_end(std::string_view rest) {
  const size_t at = rest.find_first_not_of(' ');
  return at == std::string_view::npos || (rest[at] == '#' && at > 0);
}

bool is_null_word(std::string_view text) { return text == "null" || text == "Null" || text == "NULL"; }

struct Line {
  std::string_view body;  ///< From the first character that is no blank to the end.
  uint32_t number = 0;
  size_t indent = 0;
};

Value make(Value::Kind kind, const Line& line, size_t offset) {
  Value value;
  value.kind = kind;
  value.line = line.number;
  value.column = static_cast<uint32_t>(line.indent + offset + 1);
  return value;
}

// The scalar that begins at `offset` of the line and is all that stands there.
std::optional<Value> read_scalar(const Line& line, size_t offset) {
  const std::string_view rest = line.body.substr(offset);
  Value value = make(Value::Kind::kScalar, line, offset);
  const char quote = rest.front();
  value.is_quoted = quote == '"' || quote == '\'';
  size_t end = 0;
  if (value.is_quoted) {
    end = rest.find(quote, 1);
    if (end == std::string_view::npos) return std::nullopt;
    value.text = rest.substr(1, end - 1);
    if (!std::all_of(value.text.begin(), value.text.end(), is_visible)) return std::nullopt;
    if (value.text.find('\\') != std::string::npos) return std::nullopt;
    ++end;
  } else {
    if (!is_key_char(quote) && quote != '/') return std::nullopt;
    while (end < rest.size() && is_text_char(rest[end])) ++end;
    value.text = rest.substr(0, end);
    if (is_null_word(value.text)) return std::nullopt;
  }
  if (!is_end(rest.substr(end))) return std::nullopt;
  return value;
}

// The key at the begin of the line; its length in `length`.
std::optional<Value> read_key(const Line& line, size_t& length) {
  length = 0;
  while (length < line.body.size() && is_key_char(line.body[length])) ++length;
  const std::string_view text = line.body.substr(0, length);
  const std::string_view rest = line.body.substr(length);
  if (text.empty() || !is_letter(text.front()) || is_null_word(text)) return std::nullopt;
  if (!rest.starts_with(':') || (rest.size() > 1 && rest[1] != ' ')) return std::nullopt;
  Value key = make(Value::Kind::kScalar, line, 0);
  key.text = text;
  return key;
}

// Whether what begins on this line ends on it, whatever it is: all brackets and quotes are closed, and nothing
// announces more. Quotes count only where a value may begin or end; elsewhere they are refused.
bool stands_for_itself(std::string_view body) {
  int depth = 0;
  bool may_begin = true;
  for (size_t i = 0; i < body.size(); ++i) {
    const char c = body[i];
    if (c == '#' && (i == 0 || body[i - 1] == ' ')) break;
    if (!is_visible(c)) return false;
    if (c == '"' || c == '\'') {
      const size_t end = may_begin ? body.find(c, i + 1) : std::string_view::npos;
      if (end == std::string_view::npos) return false;
      const std::string_view inside = body.substr(i + 1, end - i - 1);
      if (!std::all_of(inside.begin(), inside.end(), is_visible) || inside.find('\\') != inside.npos) return false;
      if (end + 1 < body.size() && std::string_view(" ,:]}").find(body[end + 1]) == std::string_view::npos)
        return false;
      i = end;
      may_begin = false;
      continue;
    }
    depth += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
    if (depth < 0) return false;
    may_begin = c == '[' || c == '{' || c == ',' || c == ' ';
  }
  return depth == 0;
}

class PlainReader {
 public:
  PlainReader(std::string_view text, std::span<const std::string_view> only) : text_(text), only_(only) {}

  std::optional<Value> read() {
    root_.kind = Value::Kind::kMap;
    while (root_.items.size() < 2 * only_.size()) {
      const std::optional<Line> line = next();
      if (!line) break;
      if (line->indent > 0 || !read_top(*line)) return std::nullopt;
    }
    return std::move(root_);
  }

 private:
  // The next line that holds more than blanks and a comment.
  std::optional<Line> next() {
    while (!text_.empty()) {
      const size_t end = std::min(text_.find('\n'), text_.size());
      Line line{text_.substr(0, end), ++number_, 0};
      text_.remove_prefix(std::min(end + 1, text_.size()));
      line.indent = std::min(line.body.find_first_not_of(' '), line.body.size());
      line.body.remove_prefix(line.indent);
      if (!line.body.empty() && line.body.front() != '#') return line;
    }
    return std::nullopt;
  }

  // The next line if it is part of the value of the last top-level key; else it stays.
  std::optional<Line> next_below(bool takes_dashes) {
    const std::string_view text = text_;
    const uint32_t number = number_;
    const std::optional<Line> line = next();
    const bool is_dash = line && (line->body == "-" || line->body.starts_with("- "));
    if (line && (line->indent > 0 || (takes_dashes && is_dash))) return line;
    text_ = text;
    number_ = number;
    return std::nullopt;
  }

  bool read_top(const Line& line) {
    size_t length = 0;
    std::optional<Value> key = read_key(line, length);
    if (!key) return false;
    if (!has_keys_) root_.line = key->line;
    has_keys_ = true;
    if (std::find(only_.begin(), only_.end(), key->text) == only_.end()) return pass_over(line);
    if (root_.find(key->text) != nullptr) return false;
    std::optional<Value> value = is_end(line.body.substr(length + 1)) ? read_section() : read_value(line, length);
    if (!value || next_below(true)) return false;
    root_.items.push_back(std::move(*key));
    root_.items.push_back(std::move(*value));
    return true;
  }

  // What stands behind the key of this length.
  static std::optional<Value> read_value(const Line& line, size_t length) {
    const size_t at = line.body.find_first_not_of(' ', length + 1);
    return at == std::string_view::npos ? std::nullopt : read_scalar(line, at);
  }

  std::optional<Value> read_section() {
    std::optional<Value> map;
    size_t indent = 0;
    while (const std::optional<Line> line = next_below(false)) {
      size_t length = 0;
      std::optional<Value> key = read_key(*line, length);
      std::optional<Value> value = key ? read_value(*line, length) : std::nullopt;
      if (!value || (map && line->indent != indent)) return std::nullopt;
      if (!map) map = make(Value::Kind::kMap, *line, 0);
      indent = line->indent;
      map->items.push_back(std::move(*key));
      map->items.push_back(std::move(*value));
    }
    return map;
  }

  bool pass_over(const Line& first) {
    if (!stands_for_itself(first.body)) return false;
    while (const std::optional<Line> line = next_below(true))
      if (!stands_for_itself(line->body)) return false;
    return true;
  }

  std::string_view text_;  // what is left
  std::span<const std::string_view> only_;
  uint32_t number_ = 0;
  bool has_keys_ = false;
  Value root_;
};

}  // namespace

std::optional<Value> read_plain_yaml(std::string_view text, std::span<const std::string_view> only) {
  return PlainReader(text, only).read();
}

}  // namespace gw::config
