// The line of a job's history that tells how a step ended: written here, and read.
#include "model/step.h"

#include "base/text.h"

namespace gw::model {
namespace {

constexpr std::string_view kStart = "step ";
constexpr int kMostOfExit = 255;

std::optional<int> number(std::string_view text) {
  const auto parsed = base::parse_int(text, 0, kMostOfExit, "exit");
  return parsed ? std::optional(static_cast<int>(*parsed)) : std::nullopt;
}

}  // namespace

std::string end_line(const Step& step) {
  const std::string why = step.detail.empty() ? "" : ": " + step.detail;
  return std::string(kStart) + step.text() + " " + step.exit.text() + why;
}

std::optional<ExitStatus> exit_in(std::string_view end_line, std::string_view step) {
  const std::string start = std::string(kStart) + std::string(step) + " ";
  if (!end_line.starts_with(start)) return std::nullopt;
  const std::string_view rest = end_line.substr(start.size());
  const size_t colon = rest.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view second = rest.substr(colon + 1);
  const auto code = number(rest.substr(0, colon));
  const auto signo = number(second.substr(0, second.find(": ")));
  if (!code || !signo) return std::nullopt;
  return ExitStatus{*code, *signo};
}

}  // namespace gw::model
