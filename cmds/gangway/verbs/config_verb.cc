// gangway config check FILE, gangway config dump [FILE].
#include <fmt/format.h>

#include "base/counted.h"
#include "base/text.h"
#include "cmds/gangway/shared/verbs.h"
#include "config/config.h"
#include "config/reference.h"

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

/// gangway.yaml(5): the keys by their sections.
std::string keys_page() {
  std::string out = fmt::format(
      ".TH GANGWAY.YAML 5 \"\" \"gangway {}\" \"Gangway\"\n.SH NAME\ngangway.yaml \\- configuration of Gangway\n"
      ".SH SYNOPSIS\n\\fI$GANGWAY_CONF\\fR, or \\fI/etc/gangway/gangway.yaml\\fR\n.SH DESCRIPTION\n"
      "A file in YAML, the same on all hosts. \\fBgangway config check\\fR says what is wrong with one, "
      "\\fBgcontrol reconfigure\\fR brings a changed one into force. Durations have their unit (90s, 5m, 2h, 1d12h), "
      "memory is in MiB or has a unit, host lists are Slurm's (n[001\\-128]). Keys of lists are written with [].\n",
      GANGWAY_VERSION);
  std::string section;
  for (const config::ReferenceRow& row : config::reference_rows()) {
    const size_t dot = row.name.find('.');
    const std::string of = dot == std::string::npos ? "TOP LEVEL" : row.name.substr(0, dot);
    if (of != section) out += ".SH " + client::roff(of) + "\n";
    section = of;
    out += fmt::format(".TP\n\\fB{}\\fR\n{}\n.br\nValue: {}. Default: {}. A change needs: {}.\n",
                       client::roff(row.name), client::roff(row.text), client::roff(row.values),
                       client::roff(row.by_default), client::roff(row.takes_effect));
  }
  return out;
}

int dump(const Invocation& call) {
  bool is_default = false;
  std::vector<std::string> operands;
  // For the build, which makes a page of it.
  if (!call.args.empty() && call.args[0] == "--generate-keys-page")
    return client::print_out(keys_page()) ? client::kExitOk : client::kExitFailed;
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
