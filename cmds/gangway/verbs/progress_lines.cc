// See progress_lines.h.
#include "cmds/gangway/verbs/progress_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/text.h"
#include "model/progress.h"

namespace gw::cmds {
namespace {

/// What is behind that in a line is not looked at: a regular expression takes its time, and a stack.
constexpr size_t kMostOfALine = 500;
constexpr const char* kUsual = R"((?:step|iter|iteration|batch)\D{0,3}(\d+)(?:\s{0,3}(?:/|of)\s{0,3}(\d+))?)";

std::optional<uint64_t> number_in(const std::string& text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = error == std::errc() && end == text.data() + text.size() && number <= model::kMostSteps;
  return is_number ? std::optional(number) : std::nullopt;
}

}  // namespace

base::Result<ProgressLines> ProgressLines::make(const std::string& pattern) {
  constexpr auto kFlags = std::regex::ECMAScript | std::regex::icase | std::regex::optimize;
  try {
    std::regex compiled(pattern.empty() ? kUsual : pattern, kFlags);
    if (compiled.mark_count() == 0)
      return base::invalid(fmt::format("--pattern: \"{}\" has no group", base::printable(pattern, 60)),
                           "put the number of the step into parentheses: --pattern 'epoch ([0-9]+)'");
    return ProgressLines(std::move(compiled));
  } catch (const std::regex_error& error) {
    return base::invalid(
        fmt::format("--pattern: \"{}\" is no regular expression: {}", base::printable(pattern, 60), error.what()),
        "--pattern 'epoch ([0-9]+)/([0-9]+)'");
  }
}

void ProgressLines::read(std::string_view printed) {
  for (const char c : printed) {
    if (c == '\n' || c == '\r')
      read_line();
    else if (line_.size() < kMostOfALine)
      line_ += c;
  }
}

void ProgressLines::read_line() {
  const std::string line = std::exchange(line_, {});
  std::smatch found;
  if (!std::regex_search(line, found, pattern_)) return;
  const auto step = number_in(found[1].str());
  if (!step) return;
  wire::ProgressRequest said;
  said.set_step(*step);
  const auto of = found.size() > 2 ? number_in(found[2].str()) : std::nullopt;
  if (of && *of >= std::max<uint64_t>(*step, 1)) said.set_of(*of);
  last_ = std::move(said);
}

std::optional<wire::ProgressRequest> ProgressLines::take() { return std::exchange(last_, std::nullopt); }

}  // namespace gw::cmds
