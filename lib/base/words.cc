// Text.h, second part: likeness of words, shell words, and printable forms of untrusted bytes.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/text.h"
#include "base/utf8.h"

namespace gw::base {
namespace {

/// Damerau-Levenshtein distance with adjacent transpositions; three rows of memory.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  std::iota(above.begin(), above.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

/// Reads shell words of one line; see split_shell_words.
class WordReader {
 public:
  explicit WordReader(std::string_view line) : line_(line) {}

  Result<std::vector<std::string>> read() {
    while (at_ < line_.size() && !at_comment()) {
      const char c = line_[at_++];
      if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
        finish_word();
      } else if (c == '\'' || c == '"') {
        in_word_ = true;
        if (!read_quoted(c)) return invalid(fmt::format("a {} quote is not closed in: {}", c, printable(line_)));
      } else {
        in_word_ = true;
        word_ += c == '\\' && at_ < line_.size() ? line_[at_++] : c;
      }
    }
    finish_word();
    return std::move(words_);
  }

 private:
  bool at_comment() const { return !in_word_ && line_[at_] == '#'; }

  void finish_word() {
    if (in_word_) words_.push_back(std::move(word_));
    word_.clear();
    in_word_ = false;
  }

  bool read_quoted(char quote) {
    while (at_ < line_.size()) {
      char c = line_[at_++];
      if (c == quote) return true;
      const bool escapes = quote == '"' && c == '\\' && at_ < line_.size();
      if (escapes && std::string_view("\"\\$`").find(line_[at_]) != std::string_view::npos) c = line_[at_++];
      word_ += c;
    }
    return false;
  }

  std::string_view line_;
  size_t at_ = 0;
  bool in_word_ = false;
  std::string word_;
  std::vector<std::string> words_;
};

bool is_plain(char c) {
  const bool is_alnum = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  return is_alnum || std::string_view("_@%+=:,./-").find(c) != std::string_view::npos;
}

/// Length of the printable character at the front, or 0: no control characters (C0, DEL, C1), no broken bytes.
size_t printable_length(std::string_view text) {
  const size_t length = utf8_length(text);
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  if (length == 1 && (byte(0) < 0x20 || byte(0) == 0x7f)) return 0;
  if (length == 2 && byte(0) == 0xc2 && byte(1) < 0xa0) return 0;  // C1
  return length;
}

}  // namespace

std::string nearest(std::string_view word, std::span<const std::string> candidates) {
  constexpr size_t kLongest = 256;
  const size_t limit = std::min<size_t>(word.size() <= 3 ? 1 : 2, word.empty() ? 0 : word.size() - 1);
  if (limit == 0 || word.size() > kLongest) return {};
  const std::string* best = nullptr;
  size_t best_distance = limit + 1;
  for (const std::string& candidate : candidates) {
    if (candidate.size() + limit < word.size() || candidate.size() > word.size() + limit) continue;
    if (const size_t d = distance(word, candidate); d < best_distance) {
      best = &candidate;
      best_distance = d;
    }
  }
  return best == nullptr ? std::string() : *best;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> candidates) {
  const std::string best = nearest(word, candidates);
  return best.empty() ? std::string() : fmt::format("did you mean \"{}\"?", best);
}

Result<std::vector<std::string>> split_shell_words(std::string_view line) { return WordReader(line).read(); }

std::string shell_quote(std::string_view word) {
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) return std::string(word);
  std::string out = "'";
  for (const char c : word) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

std::string printable(std::string_view text, size_t max) {
  static constexpr std::string_view kCut = "...";
  const auto is_ascii = [](char c) { return c >= ' ' && c <= '~'; };
  if (text.size() <= max && std::all_of(text.begin(), text.end(), is_ascii)) return std::string(text);
  std::string out;
  size_t keep = 0;  // where to cut so that the mark still fits
  while (!text.empty()) {
    const size_t length = printable_length(text);
    if (length > 0) {
      out += text.substr(0, length);
    } else {
      out += fmt::format("\\x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(text[0])));
    }
    if (out.size() > max) return out.substr(0, keep).append(kCut.substr(0, max));
    if (out.size() + kCut.size() <= max) keep = out.size();
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return out;
}

}  // namespace gw::base
