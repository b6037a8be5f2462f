// Components of a heterogeneous job.
#include "cmds/batch_components.h"

#include <algorithm>

namespace gw::cmds {
namespace {

using base::Result;
using client::Directive;

tl::unexpected<base::Error> too_many() {
  return base::invalid("a heterogeneous job has at most " + std::to_string(kMaxComponents) + " components");
}

/// `hetjob`, or its older name.
bool is_separator(const Directive& d) {
  return d.kind != "#PBS" && d.words.size() == 1 && (d.words[0] == "hetjob" || d.words[0] == "packjob");
}

std::vector<std::vector<Directive>> by_component(const std::vector<Directive>& all) {
  std::vector<std::vector<Directive>> groups(1);
  for (const Directive& d : all) {
    if (is_separator(d))
      groups.emplace_back();
    else
      groups.back().push_back(d);
  }
  return groups;
}

/// What a component takes over from the one before it, as in Slurm: what describes the job, not the resources.
BatchOptions following(const BatchOptions& before) {
  BatchOptions next = before;
  next.gpus = {};
  next.spec.request = {};
  next.spec.request.exclude = before.spec.request.exclude;
  next.spec.partitions.clear();
  next.spec.gpu_bind.clear();
  next.spec.gres_flags.clear();
  return next;
}

base::Status read_one(BatchOptions& o, const Sources& s, std::span<const Directive> directives,
                      std::span<const std::string> words) {
  client::CommonFlags flags;
  const auto table = batch_table(o, flags, s.now);
  GW_TRY_STATUS(client::apply_directives(table, directives, s.label));
  GW_TRY_STATUS(end_of_source(o));
  GW_TRY_STATUS(client::read_environment(table, batch_doc().env_prefixes, s.environment));
  GW_TRY_STATUS(end_of_source(o));
  auto operands = client::parse_options(table, words, {.stop_at_operand = true});
  if (!operands) return tl::unexpected(operands.error());
  return end_of_source(o);
}

}  // namespace

Result<CommandLine> split_components(const std::vector<client::Option>& table, std::span<const std::string> args) {
  CommandLine line;
  while (true) {
    GW_TRY(operands, client::parse_options(table, args, {.stop_at_operand = true}));
    line.components.emplace_back(args.begin(), args.end() - static_cast<std::ptrdiff_t>(operands.size()));
    line.operands = std::move(operands);
    if (line.operands.empty() || line.operands.front() != ":") return line;
    if (line.components.size() == kMaxComponents) return too_many();
    args = args.last(line.operands.size() - 1);
  }
}

Result<std::vector<BatchOptions>> read_components(const Sources& sources) {
  const std::vector<std::vector<Directive>> directives = by_component(sources.directives);
  const size_t count = std::max({directives.size(), sources.command_line.size(), size_t{1}});
  if (count > kMaxComponents) return too_many();
  std::vector<BatchOptions> components;
  for (size_t i = 0; i < count; ++i) {
    BatchOptions o = components.empty() ? BatchOptions() : following(components.back());
    const std::span<const Directive> said =
        i < directives.size() ? std::span(directives[i]) : std::span<const Directive>();
    const std::span<const std::string> words =
        i < sources.command_line.size() ? std::span(sources.command_line[i]) : std::span<const std::string>();
    GW_TRY_STATUS(read_one(o, sources, said, words));
    components.push_back(std::move(o));
  }
  return components;
}

}  // namespace gw::cmds
