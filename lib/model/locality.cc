// How close together a job's resources are, and how nodes are fitted: the words for it.
// Invariant: format_locality() gives a text that parse_locality() reads back as the same steps.
#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/text.h"
#include "model/request.h"

namespace gw::model {
namespace {

using base::invalid;

constexpr std::array<std::string_view, kLocalityCount> kLevels = {"gpu",  "nvlink", "pcie",  "numa",
                                                                  "node", "leaf",   "block", "any"};
constexpr std::array<std::string_view, 4> kFits = {"default", "best", "worst", "spread"};

/// Index of `text` in `words`, whatever its case.
template <size_t N>
base::Result<size_t> find_word(std::string_view text, const std::array<std::string_view, N>& words, const char* what) {
  const auto at = std::find(words.begin(), words.end(), base::to_lower(text));
  if (at != words.end()) return static_cast<size_t>(at - words.begin());
  const std::vector<std::string> all(words.begin(), words.end());
  const std::string meant = base::did_you_mean(base::to_lower(text), all);
  return invalid("\"" + base::printable(text, 40) + "\" is not " + what,
                 meant.empty() ? "one of " + base::join(all, ", ") : meant);
}

base::Result<LocalityStep> parse_step(std::string_view text, bool is_last) {
  const size_t at = text.find('@');
  GW_TRY(level, parse_locality_level(text.substr(0, at)));
  if (at == std::string_view::npos) return LocalityStep{level, is_last ? base::kUnlimited : base::Duration{}};
  const std::string_view wait = text.substr(at + 1);
  if (wait.empty())
    return invalid("a waiting time is missing after \"" + base::printable(text, 40) + "\"", "such as leaf@10m");
  GW_TRY(time, base::parse_duration(wait));
  if (time == base::kUnlimited && !is_last)
    return invalid("\"" + base::printable(text, 40) + "\" waits for ever: the levels after it are never reached");
  return LocalityStep{level, time};
}

}  // namespace

std::string_view name(Locality level) {
  const auto i = static_cast<size_t>(level);
  GW_CHECK(i < kLevels.size());
  return kLevels[i];
}

base::Result<Locality> parse_locality_level(std::string_view text) {
  GW_TRY(i, find_word(text, kLevels, "a level of locality"));
  return static_cast<Locality>(i);
}

base::Result<std::vector<LocalityStep>> parse_locality(std::string_view text) {
  std::vector<LocalityStep> steps;
  const std::vector<std::string> parts = base::split(text, ',');
  if (parts.empty()) return invalid("no level of locality is given");
  for (size_t i = 0; i < parts.size(); ++i) {
    GW_TRY(step, parse_step(parts[i], i + 1 == parts.size()));
    if (!steps.empty() && step.level <= steps.back().level)
      return invalid("level " + std::string(name(step.level)) + " is not wider than " +
                         std::string(name(steps.back().level)) + ", which stands before it",
                     "write the tightest level first");
    steps.push_back(step);
  }
  return steps;
}

std::string format_locality(const std::vector<LocalityStep>& steps) {
  std::string text;
  for (const LocalityStep& step : steps) {
    const bool is_last = &step == &steps.back();
    text += (text.empty() ? "" : ",") + std::string(name(step.level));
    if (step.wait != (is_last ? base::kUnlimited : base::Duration{})) text += "@" + base::format_duration(step.wait);
  }
  return text;
}

std::string_view name(Fit fit) {
  const auto i = static_cast<size_t>(fit);
  GW_CHECK(i < kFits.size());
  return kFits[i];
}

base::Result<Fit> parse_fit(std::string_view text) {
  GW_TRY(i, find_word(text, kFits, "a way of fitting"));
  return static_cast<Fit>(i);
}

}  // namespace gw::model
