// See run_parts.h.
#include "cmds/grun/run_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>

#include "base/text.h"

namespace gw::cmds {
namespace {

using base::invalid;
using base::Result;
using Words = std::span<const std::string>;

constexpr int64_t kMostTasksOfPart = 1'000'000;
constexpr size_t kMostParts = 128;

Result<uint32_t> tasks_from(std::string_view text) {
  GW_TRY(tasks, base::parse_int(text, 1, kMostTasksOfPart, "-n/--ntasks of a part"));
  return static_cast<uint32_t>(tasks);
}

/// Takes an option off; false: there is none.
Result<bool> take_option(Words& words, StepPart& part) {
  if (words.empty() || !words.front().starts_with('-') || words.front().size() == 1) return false;
  const std::string word = words.front();
  words = words.subspan(1);
  if (word == "--") return false;
  std::string value;
  for (const std::string_view name : {"--ntasks=", "-n"})
    if (word.starts_with(name) && word.size() > name.size()) value = word.substr(name.size());
  if (word == "-n" || word == "--ntasks") {
    if (words.empty()) return invalid("option " + word + " of a part needs a value");
    value = words.front();
    words = words.subspan(1);
  }
  if (value.empty())
    return invalid(fmt::format("option {} of a further part", base::printable(word, 60)),
                   "behind \":\" only -n/--ntasks is taken: what else a step asks for stands before its first program, "
                   "and holds for all parts");
  GW_TRY(tasks, tasks_from(value));
  part.tasks = tasks;
  return true;
}

Result<StepPart> parse_part(Words words, bool has_options) {
  StepPart part;
  while (has_options) {
    GW_TRY(is_taken, take_option(words, part));
    if (!is_taken) break;
  }
  if (words.empty()) return invalid("a part of the step names no program", "grun -n1 PROGRAM : -n7 PROGRAM");
  part.command.assign(words.begin(), words.end());
  return part;
}

}  // namespace

Result<std::vector<StepPart>> parse_parts(const std::vector<std::string>& words, uint32_t tasks) {
  std::vector<StepPart> parts;
  auto begin = words.begin();
  if (std::find(begin, words.end(), ":") == words.end()) return parts;
  while (true) {
    const auto end = std::find(begin, words.end(), ":");
    GW_TRY(part, parse_part({begin, end}, !parts.empty()));
    if (parts.empty()) part.tasks = tasks;
    parts.push_back(std::move(part));
    if (parts.size() > kMostParts) return invalid(fmt::format("a step has at most {} parts", kMostParts));
    if (end == words.end()) return parts;
    begin = end + 1;
  }
}

Commands commands_of(const std::vector<StepPart>& parts) {
  Commands out;
  for (const StepPart& part : parts) out.insert(out.end(), part.tasks, part.command);
  return out;
}

}  // namespace gw::cmds
