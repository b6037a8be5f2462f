// See run_parts.h.
#include "cmds/grun/run_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "client/options/in_effect.h"
#include "wire/job_attributes.h"

namespace gw::cmds {
namespace {

using base::invalid;
using base::Result;
using Words = std::span<const std::string>;

constexpr size_t kMostParts = 128;
constexpr std::string_view kTasks = "ntasks";
/// Beside what each component of a job has for itself: where the tasks of a part run, and how they are bound.
constexpr std::string_view kOfPart[] = {
    "core-spec",       "cores-per-socket", "cpu-bind",         "cpu_bind",          "distribution",     "exact",
    "extra-node-info", "gpus-per-socket",  "het-group",        "job-name",          "mem-bind",         "mem_bind",
    "nodefile",        "ntasks-per-core",  "ntasks-per-gpu",   "ntasks-per-socket", "overcommit",       "overlap",
    "oversubscribe",   "pack-group",       "prefer",           "relative",          "sockets-per-node", "spread-job",
    "tasks-per-node",  "thread-spec",      "threads-per-core", "tres-per-task",     "use-min-nodes",    "whole"};

bool is_of_part(std::string_view name) {
  const bool is_of_component =
      std::any_of(wire::kJobAttributes.begin(), wire::kJobAttributes.end(),
                  [&](const wire::JobAttribute& a) { return a.is_per_component && wire::option_name(a) == name; });
  return is_of_component || std::find(std::begin(kOfPart), std::end(kOfPart), name) != std::end(kOfPart);
}

base::Status check_program(const std::vector<std::string>& command) {
  if (!command.empty()) return {};
  return invalid("a part of the call names no program", "grun -n1 PROGRAM : -n7 PROGRAM");
}

Result<CallPart> read_part(Words words, const CallSurroundings& from) {
  CallPart part;
  client::CommonFlags flags;
  client::OptionsInEffect seen;
  auto table = run_table(part.options, flags, from.now);
  GW_TRY_STATUS(read_run_environment(table, from.get, from.is_inside));
  part.options.is_distribution_of_environment = part.options.distribution.is_arbitrary;
  seen.watch(table);
  GW_TRY(command, client::parse_options(table, words, {.stop_at_operand = true}));
  for (const auto& [name, value] : seen.shown()) {
    if (!is_of_part(name))
      return invalid(fmt::format("option --{} of a further part", name),
                     "say it before the first program: it holds for all parts");
    part.says_only_tasks &= name == kTasks;
  }
  GW_TRY_STATUS(check_program(command));
  part.command = std::move(command);
  return part;
}

}  // namespace

Result<std::vector<CallPart>> read_parts(RunOptions first, const std::vector<std::string>& words,
                                         const CallSurroundings& from) {
  std::vector<CallPart> parts;
  auto end = std::find(words.begin(), words.end(), ":");
  parts.push_back({std::move(first), {words.begin(), end}, true});
  GW_TRY_STATUS(check_program(parts.front().command));
  while (end != words.end()) {
    if (parts.size() == kMostParts) return invalid(fmt::format("a call has at most {} parts", kMostParts));
    const auto begin = end + 1;
    end = std::find(begin, words.end(), ":");
    GW_TRY(part, read_part({begin, end}, from));
    parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace gw::cmds
