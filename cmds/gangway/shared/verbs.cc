// How a verb is found and its options are read.
#include "cmds/gangway/shared/verbs.h"

#include <fmt/format.h>

#include "base/text.h"

namespace gw::cmds {
namespace {

using client::Program;

std::string overview(const Program& program, std::string_view summary, std::span<const Verb> verbs) {
  std::string out = fmt::format("Usage: {} VERB [OPTIONS]\n\n{}\n\nVerbs:\n", program.name, summary);
  for (const Verb& v : verbs) {
    out += fmt::format("  {:<34}{}\n", fmt::format("{} {}", v.name, v.arguments), v.summary);
  }
  return out + fmt::format("\n`{} VERB --help` tells more.\n", program.name);
}

std::string man_page_of(const Program& program, std::string_view summary, std::span<const Verb> verbs) {
  std::vector<std::string> labels;
  for (const Verb& v : verbs)
    labels.push_back(fmt::format("{}{}{}", v.name, v.arguments.empty() ? "" : " ", v.arguments));
  const std::string description =
      fmt::format("The verb says what to do. `{0} VERB --help` tells its options and exit codes; ", program.name) +
      "each verb of gangway has a page of its own, such as gangway-topo(1).";
  client::CommandDoc doc;
  doc.summary = summary;
  doc.synopsis = "VERB [OPTIONS]";
  doc.description = description;
  for (size_t i = 0; i < verbs.size(); ++i) doc.verbs.emplace_back(labels[i], verbs[i].summary);
  doc.exit_codes = {{"0", "Success."}, {"1", "Failure, or no such verb."}};
  return client::man_page(program, doc, {});
}

std::vector<std::string> names_of(std::span<const Verb> verbs) {
  std::vector<std::string> names;
  for (const Verb& v : verbs) names.emplace_back(v.name);
  return names;
}

}  // namespace

int failed(const Program& program, const base::Error& error) {
  client::print_error(program, error);
  return client::kExitFailed;
}

client::Option flag(std::string_view name, char letter, std::string_view help, bool& target) {
  client::Option o;
  o.name = name;
  o.letter = letter;
  o.help = help;
  o.handler = [&target](std::string_view) {
    target = true;
    return base::Status{};
  };
  return o;
}

client::Option text_option(std::string_view name, char letter, std::string_view value, std::string_view help,
                           std::string& target) {
  client::Option o;
  o.name = name;
  o.letter = letter;
  o.arg = client::Arg::kRequired;
  o.value = value;
  o.help = help;
  o.handler = [&target, name](std::string_view v) -> base::Status {
    if (v.empty()) return base::invalid(fmt::format("--{}: the value is empty", name));
    target = v;
    return {};
  };
  return o;
}

int run_verb(const Program& program, std::string_view summary, std::span<const Verb> verbs,
             std::span<const std::string> args) {
  if (args.empty() || args[0] == "--help" || args[0] == "-h" || args[0] == "help") {
    client::print_out(overview(program, summary, verbs));
    return args.empty() ? client::kExitUsage : client::kExitOk;
  }
  if (args[0] == "--version" || args[0] == "-V") {
    return client::print_out(client::version_line(program) + "\n") ? client::kExitOk : client::kExitFailed;
  }
  // For the build, which makes a page of each verb.
  if (args[0] == "--generate-man" || args[0] == "--generate-verbs") {
    const std::string text =
        args[0] == "--generate-man" ? man_page_of(program, summary, verbs) : base::join(names_of(verbs), "\n") + "\n";
    return client::print_out(text) ? client::kExitOk : client::kExitFailed;
  }
  for (const Verb& v : verbs) {
    if (v.name == args[0]) return v.run({{program.name + " " + args[0], false}, args.subspan(1)});
  }
  const auto names = names_of(verbs);
  const std::string hint = base::did_you_mean(args[0], names);
  client::print_error(program, fmt::format("unknown verb \"{}\"{}; verbs are: {}", base::printable(args[0], 40),
                                           hint.empty() ? "" : " (" + hint + ")", base::join(names, ", ")));
  return client::kExitUsage;
}

std::optional<int> parse_verb(const Invocation& call, const client::CommandDoc& doc, std::vector<client::Option> table,
                              std::vector<std::string>& operands, client::ParseRules rules) {
  client::CommonFlags flags;
  client::add_common_options(table, flags);
  auto parsed = client::parse_options(table, call.args, rules);
  if (!parsed) {
    client::print_error(call.program, parsed.error());
    return client::kExitUsage;
  }
  if (flags.any()) {
    return client::print_out(client::common_text(flags, call.program, doc, table)) ? client::kExitOk
                                                                                   : client::kExitFailed;
  }
  operands = std::move(*parsed);
  return std::nullopt;
}

}  // namespace gw::cmds
