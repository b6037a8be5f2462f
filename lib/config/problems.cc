// See problems.h.
#include "config/problems.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace gw::config {
namespace {

constexpr size_t kMaxLines = 100;
constexpr size_t kMaxKept = 10'000;  // A file of mistakes must not fill the memory with their texts.

template <typename Lines>
std::vector<std::string> in_order(Lines lines) {
  std::stable_sort(lines.begin(), lines.end(), [](const auto& a, const auto& b) {
    return a.line != b.line ? a.line < b.line : a.column < b.column;
  });
  std::vector<std::string> texts;
  for (auto& line : lines) {
    if (texts.size() == kMaxLines) {
      texts.push_back(fmt::format("and {} more", lines.size() - kMaxLines));
      break;
    }
    texts.push_back(std::move(line.text));
  }
  return texts;
}

}  // namespace

void Problems::add(std::vector<Line>& to, const Value& at, const std::string& what, const std::string& hint) const {
  if (to.size() >= kMaxKept) return;
  std::string remedy = hint.empty() ? "" : " (" + hint + ")";
  to.push_back({at.line, at.column, fmt::format("{}:{}:{}: {}{}", path_, at.line, at.column, what, remedy)});
}

base::Error Problems::to_error() const {
  std::vector<std::string> lines = in_order(errors_);
  for (std::string& line : in_order(host_errors_)) lines.push_back(std::move(line));
  return base::Error{base::ErrorCode::kInvalid, base::join(lines, "\n"), ""};
}

std::vector<std::string> Problems::warnings() const { return in_order(warnings_); }

}  // namespace gw::config
