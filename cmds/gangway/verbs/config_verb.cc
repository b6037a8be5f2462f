// gangway config check FILE, gangway config dump [FILE].
#include <fmt/format.h>

#include "base/counted.h"
#include "base/text.h"
#include "cmds/gangway/shared/verbs.h"
#include "config/config.h"

namespace gw::cmds {
namespace {

const client::CommandDoc kCheckDoc = {
    "check a configuration file",
    "[FILE]",
    "Reads the file as the daemons do and says what is wrong with it, as FILE:LINE:COLUMN. Without FILE it takes "
    "$GANGWAY_CONF, or else /etc/gangway/gangway.yaml. A running cluster is not touched.",
    {{"0", "the file is good; it may have drawn warnings"}, {"1", "the file would be refused"}},
    {{"GANGWAY_CONF", "path of the configuration"}},
    {{"gangway config check new.yaml", "checks a file before `gcontrol reconfigure`"}},
    {},
};

const client::CommandDoc kDumpDoc = {
    "print the configuration with all defaults",
    "[OPTIONS] [FILE]",
    "Prints every key with its value and what it means, as a configuration file. Without FILE it takes $GANGWAY_CONF, "
    "or "
    "else /etc/gangway/gangway.yaml; --defaults takes no file.",
    {{"0", "done"}, {"1", "the file would be refused"}},
    {{"GANGWAY_CONF", "path of the configuration"}},
    {{"gangway config dump --defaults > gangway.yaml", "writes a sample file"}},
    {},
};

base::Result<std::string> one_path(const std::vector<std::string>& operands) {
  if (operands.size() > 1) return base::invalid(fmt::format("one file at a time, not {}", operands.size()));
  return operands.empty() ? config::default_path() : operands[0];
}

int check(const Invocation& call) {
  std::vector<std::string> operands;
  if (const auto code = parse_verb(call, kCheckDoc, {}, operands)) return *code;
  const auto path = one_path(operands);
  if (!path) return failed(call.program, path.error());
  const auto config = config::load(*path);
  if (!config) return failed(call.program, config.error());
  for (const std::string& w : config->warnings) client::print_note(call.program, "warning: " + w);
  const std::string line = fmt::format("{}: good: cluster {}, {}, {}, {} QOS\n", *path, config->cluster,
                                       base::counted(config->nodes.size(), "node"),
                                       base::counted(config->partitions.size(), "partition"), config->qos.size());
  return client::print_out(line) ? client::kExitOk : client::kExitFailed;
}

int dump(const Invocation& call) {
  bool is_default = false;
  std::vector<std::string> operands;
  const auto defaults = flag("defaults", 0, "the built-in defaults, without a file", is_default);
  if (const auto code = parse_verb(call, kDumpDoc, {defaults}, operands)) return *code;
  if (is_default && !operands.empty()) {
    return failed(call.program, {base::ErrorCode::kInvalid, "--defaults takes no file", "leave one of the two"});
  }
  if (is_default) return client::print_out(config::dump({})) ? client::kExitOk : client::kExitFailed;
  const auto path = one_path(operands);
  if (!path) return failed(call.program, path.error());
  const auto config = config::load(*path);
  if (!config) return failed(call.program, config.error());
  return client::print_out(config::dump(*config)) ? client::kExitOk : client::kExitFailed;
}

constexpr Verb kConfigVerbs[] = {
    {"check", "[FILE]", "say what is wrong with a configuration file", check},
    {"dump", "[FILE]", "print every key with its value and meaning", dump},
};

}  // namespace

int config_verb(const Invocation& call) {
  return run_verb(call.program, "Checks and prints configurations.", kConfigVerbs, call.args);
}

}  // namespace gw::cmds
