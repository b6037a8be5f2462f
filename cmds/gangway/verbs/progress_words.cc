// See progress_words.h.
#include "cmds/gangway/verbs/progress_words.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "base/text.h"
#include "model/progress.h"

namespace gw::cmds {
namespace {

base::Result<uint64_t> steps_of(const std::string& text, int64_t least, std::string_view option) {
  GW_TRY(steps, base::parse_int(text, least, static_cast<int64_t>(model::kMostSteps), option));
  return static_cast<uint64_t>(steps);
}

/// Thousandths of steps a second.
base::Result<uint64_t> rate_of(const std::string& text) {
  double rate = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rate);
  const bool is_number = error == std::errc() && end == text.data() + text.size() && std::isfinite(rate);
  if (!is_number || rate < 0.001 || rate > 1e9)
    return base::invalid(fmt::format("--rate: \"{}\" is no number of steps a second from 0.001 to 1000000000",
                                     base::printable(text, 60)),
                         "--rate 3.2; a step that takes 40 seconds is --rate 0.025");
  return static_cast<uint64_t>(std::llround(rate * 1000));
}

}  // namespace

base::Result<wire::ProgressRequest> progress_request(const ProgressWords& words) {
  wire::ProgressRequest out;
  if (words.step.empty() && words.of.empty() && words.rate.empty())
    return base::invalid("nothing is told of how far the job is", "--step N, with --of N once, or --rate X");
  if (!words.step.empty()) {
    GW_TRY(step, steps_of(words.step, 0, "--step"));
    out.set_step(step);
  }
  if (!words.of.empty()) {
    GW_TRY(of, steps_of(words.of, 1, "--of"));
    out.set_of(of);
  }
  if (!words.rate.empty()) {
    GW_TRY(rate, rate_of(words.rate));
    out.set_rate_milli(rate);
  }
  if (out.has_step() && out.has_of() && out.step() > out.of())
    return base::invalid(fmt::format("step {} of {}", out.step(), out.of()), "--of is how many steps there are in all");
  return out;
}

}  // namespace gw::cmds
