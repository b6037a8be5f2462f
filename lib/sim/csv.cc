// See csv.h.
#include "sim/csv.h"

#include <algorithm>

namespace gw::sim {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace

CsvReader::CsvReader(std::string_view text) : text_(text) {
  if (text_.starts_with(kByteOrderMark)) at_ = kByteOrderMark.size();
}

void CsvReader::end_line() {
  if (at_ < text_.size() && text_[at_] == '\r') ++at_;
  if (at_ < text_.size() && text_[at_] == '\n') ++at_;
  ++line_;
}

void CsvReader::skip_line() {
  at_ = std::min(text_.find('\n', at_), text_.size());
  end_line();
}

std::string_view CsvReader::plain() {
  const size_t start = at_;
  at_ = std::min(text_.find_first_of(",\r\n", at_), text_.size());
  std::string_view field = text_.substr(start, at_ - start);
  while (!field.empty() && (field.front() == ' ' || field.front() == '\t')) field.remove_prefix(1);
  while (!field.empty() && (field.back() == ' ' || field.back() == '\t')) field.remove_suffix(1);
  return field;
}

base::Result<std::string_view> CsvReader::quoted() {
  const size_t start = ++at_;
  bool has_doubled = false;
  for (;; ++at_) {
    at_ = text_.find('"', at_);
    if (at_ == std::string_view::npos) {
      at_ = start;
      return base::invalid("a quote that is not closed");
    }
    if (at_ + 1 >= text_.size() || text_[at_ + 1] != '"') break;
    has_doubled = true;
    ++at_;
  }
  std::string_view field = text_.substr(start, at_ - start);
  ++at_;
  if (!at_line_end() && text_[at_] != ',') return base::invalid("text behind a closing quote");
  line_ += static_cast<uint32_t>(std::count(field.begin(), field.end(), '\n'));
  if (!has_doubled) return field;
  std::string& copy = kept_.emplace_back(field);
  for (size_t at = copy.find("\"\""); at != std::string::npos; at = copy.find("\"\"", at + 1)) copy.erase(at, 1);
  return std::string_view(copy);
}

base::Result<bool> CsvReader::next(std::vector<std::string_view>& fields) {
  fields.clear();
  while (at_ < text_.size() && at_line_end()) end_line();
  row_line_ = line_;
  if (at_ >= text_.size()) return false;
  for (;;) {
    if (at_ < text_.size() && text_[at_] == '"') {
      auto field = quoted();
      if (!field) {
        skip_line();
        return tl::unexpected(field.error());
      }
      fields.push_back(*field);
    } else {
      fields.push_back(plain());
    }
    if (at_line_end()) break;
    ++at_;  // the comma
  }
  end_line();
  return true;
}

void split_blanks(std::string_view line, std::vector<std::string_view>& fields) {
  fields.clear();
  for (size_t at = line.find_first_not_of(" \t\r"); at != std::string_view::npos;
       at = line.find_first_not_of(" \t\r", at)) {
    const size_t end = std::min(line.find_first_of(" \t\r", at), line.size());
    fields.push_back(line.substr(at, end - at));
    at = end;
  }
}

}  // namespace gw::sim
