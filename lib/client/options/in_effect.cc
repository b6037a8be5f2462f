// See in_effect.h.
#include "client/options/in_effect.h"

#include <fmt/format.h>

#include <cstdio>
#include <utility>

#include "base/text.h"

namespace gw::client {
namespace {

constexpr std::string_view kVerbose = "verbose";
/// Lists of nodes and environments can be long.
constexpr size_t kMostShown = 500;

}  // namespace

void OptionsInEffect::watch(std::vector<Option>& table) {
  for (Option& option : table) {
    if (!option.handler || option.name.empty()) continue;
    option.handler = [this, inner = std::move(option.handler), name = option.name,
                      is_flag = option.arg == Arg::kNone](std::string_view value) -> base::Status {
      GW_TRY_STATUS(inner(value));
      Use& use = uses_[std::string(name)];
      use.value = value;
      use.is_flag = is_flag;
      ++use.times;
      return {};
    };
  }
}

void OptionsInEffect::fill(const OptionsInEffect& weaker) { uses_.insert(weaker.uses_.begin(), weaker.uses_.end()); }

uint32_t OptionsInEffect::count(std::string_view name) const {
  const auto it = uses_.find(name);
  return it == uses_.end() ? 0 : it->second.times;
}

std::vector<std::pair<std::string, std::string>> OptionsInEffect::shown() const {
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto& [name, use] : uses_) {
    const bool has_no_value = use.is_flag || use.value.empty();
    std::string value = has_no_value ? "set" : base::printable(use.value, kMostShown);
    if (name == kVerbose) value = std::to_string(use.times);
    out.emplace_back(name, std::move(value));
  }
  return out;
}

std::string options_text(const Program& program, const OptionsInEffect& options, OptionFrame frame) {
  std::string out;
  if (frame == OptionFrame::kLists) {
    const std::string rule = std::string(29, '-') + "\n";
    for (const auto& [name, value] : options.shown()) out += fmt::format("{:<11} = {}\n", name, value);
    return rule + out + rule;
  }
  const std::string begin = program.name + ": ", rule = fmt::format("{}{:-<20} {:-<20}\n", begin, "", "");
  for (const auto& [name, value] : options.shown()) out += fmt::format("{}{:<20}: {}\n", begin, name, value);
  return begin + "defined options\n" + rule + out + rule + begin + "end of defined options\n";
}

Program outspoken(Program program, const OptionsInEffect& options, OptionFrame frame) {
  program.verbose = options.count(kVerbose);
  if (program.verbose > 0) std::fputs(options_text(program, options, frame).c_str(), stderr);
  return program;
}

}  // namespace gw::client
