// Values of gbatch's options on locality.
#include "cmds/request/locality_options.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "bind/words.h"

namespace gw::cmds {
namespace {

using base::invalid;
using base::Status;
using Text = std::string_view;

constexpr int64_t kMaxNodes = 1'000'000;

/// The error with the option's name before it.
tl::unexpected<base::Error> of_option(const char* option, const base::Error& e) {
  return base::fail(e.code, std::string(option) + ": " + e.what, e.hint);
}

}  // namespace

Status set_locality(model::Request& r, Text value) {
  auto steps = model::parse_locality(value);
  if (!steps) return of_option("--locality", steps.error());
  r.locality = std::move(*steps);
  return {};
}

Status set_switches(model::Request& r, Text value) {
  const size_t at = value.find('@');
  GW_TRY(count, base::parse_int(value.substr(0, at), 1, kMaxNodes, "--switches"));
  base::Duration wait = base::kUnlimited;
  if (at != Text::npos) {
    auto parsed = base::parse_duration(value.substr(at + 1));
    if (!parsed) return of_option("--switches", parsed.error());
    wait = *parsed;
  }
  r.max_switches = static_cast<uint32_t>(count);
  r.switches_wait = wait;
  return {};
}

Status set_fit(model::Request& r, Text value) {
  auto fit = model::parse_fit(value);
  if (!fit) return of_option("--fit", fit.error());
  r.fit = *fit;
  return {};
}

base::Result<std::string> parse_gpu_bind(Text text) {
  if (text.empty()) return invalid("option --gpu-bind needs a value");
  GW_TRY(words, bind::parse_gpu(text));
  static_cast<void>(words);
  return base::to_lower(text);
}

base::Result<std::string> parse_gres_flags(Text text) {
  const std::vector<std::string> known = {"enforce-binding", "disable-binding", "allow-task-sharing",
                                          "multiple-tasks-per-sharing", "one-task-per-sharing"};
  std::string all = base::to_lower(text);
  const std::vector<std::string> words = base::split(all, ',');
  const auto has = [&](const std::string& word) { return std::find(words.begin(), words.end(), word) != words.end(); };
  for (const std::string& word : words) {
    if (std::find(known.begin(), known.end(), word) != known.end()) continue;
    const std::string meant = base::did_you_mean(word, known);
    return invalid("--gres-flags: \"" + base::printable(word, 40) + "\" is no flag",
                   meant.empty() ? base::join(known, ", ") : meant);
  }
  if (words.empty()) return invalid("--gres-flags: the value is empty");
  for (const auto& [a, b] : {std::pair{0, 1}, std::pair{3, 4}})
    if (has(known[a]) && has(known[b])) return invalid("--gres-flags: " + known[a] + " contradicts " + known[b]);
  return all;
}

}  // namespace gw::cmds
