// What the commands share.
#include "cmds/shared/commands.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "client/options/in_effect.h"

namespace gw::cmds {
namespace {

using client::Program;

}  // namespace

Parsed parse_command(const Program& program, const client::CommandDoc& doc, const std::vector<client::Option>& table,
                     client::CommonFlags& flags, Args args, int usage_exit, client::ParseRules rules) {
  std::vector<client::Option> watched = table;
  client::OptionsInEffect seen;
  seen.watch(watched);
  auto operands = client::parse_options(watched, args, rules);
  if (flags.any()) return {printed(client::common_text(flags, program, doc, table)), {}};
  if (operands) return {std::nullopt, std::move(*operands), seen.count("verbose")};
  client::print_error(program, operands.error());
  client::print_note(program, "Try \"" + program.name + " --help\" for more information");
  return {usage_exit, {}};
}

client::Program louder(client::Program program, const Parsed& parsed) {
  program.verbose = parsed.verbose;
  return program;
}

int failed(const Program& program, const base::Error& error, int code) {
  client::print_error(program, error);
  return code;
}

int refuse_operand(const client::Program& program, const std::string& word, std::string hint) {
  return failed(program,
                {base::ErrorCode::kInvalid, "unexpected argument \"" + base::printable(word) + "\"", std::move(hint)});
}

int printed(std::string_view text) { return client::print_out(text) ? client::kExitOk : client::kExitFailed; }

void also_called(std::vector<client::Option>& table, std::string_view other, std::string_view name) {
  const auto row = std::find_if(table.begin(), table.end(), [&](const client::Option& o) { return o.name == name; });
  if (row == table.end()) return;
  client::Option again = *row;
  again.name = other;
  again.letter = 0;
  again.env = {};
  again.flags |= client::kHidden;
  table.push_back(std::move(again));
}

base::Status check_clusters(const std::string& asked, const std::string& cluster) {
  if (asked.empty()) return {};
  for (const std::string& part : base::split(asked, ','))
    if (base::trim(part) == cluster || base::iequals(base::trim(part), "all")) return {};
  return base::invalid("No cluster '" + base::printable(asked, 60) + "' known by database.",
                       "this is cluster " + cluster + ", the only one that this installation knows");
}

void add_cluster_option(std::vector<client::Option>& table, std::string* cluster) {
  const auto take = [cluster](std::string_view value) -> base::Status {
    GW_TRY(config, client::load_config());
    if (value.empty()) return base::invalid("option -M/--clusters needs a value");
    GW_TRY_STATUS(check_clusters(std::string(value), config.cluster));
    if (cluster != nullptr) *cluster = config.cluster;
    return {};
  };
  table.push_back({"clusters",
                   'M',
                   client::Arg::kRequired,
                   "NAMES",
                   "this cluster, or all: there is no other",
                   {},
                   client::kPlain,
                   take});
  also_called(table, "cluster", "clusters");
}

client::Handler sets(bool& flag) {
  return [&flag](std::string_view) {
    flag = true;
    return base::Status{};
  };
}

client::Handler keeps(std::string& text) {
  return [&text](std::string_view value) {
    text = value;
    return base::Status{};
  };
}

client::Handler lists(std::vector<std::string>& list, std::string_view option) {
  return [&list, option](std::string_view value) -> base::Status {
    for (const std::string& part : base::split(value, ',')) {
      const std::string_view word = base::trim(part);
      if (word.empty())
        return base::invalid("option " + std::string(option) + ": an empty name in \"" + base::printable(value, 60) +
                             "\"");
      list.emplace_back(word);
    }
    if (value.empty()) return base::invalid("option " + std::string(option) + " needs a value");
    return {};
  };
}

base::Result<wire::ApiReply> ask(const Program& program, wire::ApiRequest request) {
  GW_TRY(connection, client::connect(program));
  return connection.call(std::move(request));
}

}  // namespace gw::cmds
