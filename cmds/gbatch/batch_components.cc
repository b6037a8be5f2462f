// Components of a heterogeneous job.
#include "cmds/gbatch/batch_components.h"

#include <algorithm>

#include "base/faults.h"

namespace gw::cmds {
namespace {

using base::Result;
using client::Directive;

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

/// What is said for the whole job: all directives, then the environment, then the whole command line.
Result<BatchOptions> read_common(const Sources& s) {
  BatchOptions o;
  client::CommonFlags flags;
  auto table = batch_table(o, flags, s.now);
  if (s.seen != nullptr) s.seen->watch(table);
  std::vector<Directive> said;
  std::copy_if(s.directives.begin(), s.directives.end(), std::back_inserter(said),
               [](const Directive& d) { return !is_separator(d); });
  GW_TRY_STATUS(client::apply_directives(table, said, s.label));
  GW_TRY_STATUS(client::read_environment(table, batch_doc().env_prefixes, s.environment));
  for (const std::vector<std::string>& words : s.command_line) {
    auto operands = client::parse_options(table, words, {.stop_at_operand = true});
    if (!operands) return tl::unexpected(operands.error());
  }
  o.given = {};
  return o;
}

base::Status read_one(BatchOptions& o, const Sources& s, std::span<const Directive> directives,
                      std::span<const std::string> words) {
  client::CommonFlags flags;
  const auto table = batch_table(o, flags, s.now);
  base::Faults faults;
  // What its words contradict is of interest once each of them is understood.
  const auto end_source = [&] {
    if (faults.empty()) faults.add(end_of_source(o));
  };
  faults.add(client::apply_directives(table, directives, s.label));
  end_source();
  faults.add(client::read_environment(table, batch_doc().env_prefixes, s.environment));
  end_source();
  faults.add(client::parse_options(table, words, {.stop_at_operand = true}));
  end_source();
  return faults.status();
}

}  // namespace

Result<std::vector<BatchOptions>> read_components(const Sources& sources) {
  const std::vector<std::vector<Directive>> directives = by_component(sources.directives);
  const size_t count = std::max({directives.size(), sources.command_line.size(), size_t{1}});
  if (count > kMaxComponents) return too_many_components();
  std::vector<BatchOptions> components;
  for (size_t i = 0; i < count; ++i) {
    BatchOptions o;
    if (!components.empty()) o.spec.request.exclude = components.back().spec.request.exclude;  // as in Slurm
    const std::span<const Directive> said =
        i < directives.size() ? std::span(directives[i]) : std::span<const Directive>();
    const std::span<const std::string> words =
        i < sources.command_line.size() ? std::span(sources.command_line[i]) : std::span<const std::string>();
    GW_TRY_STATUS(read_one(o, sources, said, words));
    components.push_back(std::move(o));
  }
  GW_TRY(common, read_common(sources));
  for (BatchOptions& o : components) {
    BatchOptions whole = common;
    take_resources(whole, o);
    o = std::move(whole);
  }
  return components;
}

}  // namespace gw::cmds
