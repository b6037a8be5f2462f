// Command line of gnoded: the implementation.
#include "noded/shell/options.h"

#include <array>

#include "base/text.h"

namespace gw::noded {

namespace {

struct Option {
  const char* name;
  const char* value;  // null for a flag
  std::string DaemonOptions::*text;
  bool DaemonOptions::*flag;
  const char* help;
};

const std::array<Option, 14> kOptions = {{
    {"config", "FILE", &DaemonOptions::config, nullptr,
     "configuration (default: $GANGWAY_CONF or /etc/gangway/gangway.yaml)"},
    {"node", "NAME", &DaemonOptions::node, nullptr,
     "name of this node in the configuration (default: the host's name)"},
    {"topology", "NAME", &DaemonOptions::topology, nullptr,
     "\"live\", a generated machine such as dgx-h100, or an hwloc XML file"},
    {"state-dir", "DIR", &DaemonOptions::state_dir, nullptr,
     "folder for the runs of this node (default: SPOOL_DIR/NODE)"},
    {"pid-file", "FILE", &DaemonOptions::pid_file, nullptr, "where to write the process id"},
    {"log-file", "FILE", &DaemonOptions::log_file, nullptr, "where to log (default: stderr)"},
    {"log-level", "LEVEL", &DaemonOptions::log_level, nullptr, "debug, info, warning or error (default: info)"},
    {"bind", "ADDR", &DaemonOptions::bind, nullptr, "source address of the connection to the controller"},
    {"controller", "HOST:PORT", &DaemonOptions::controller, nullptr,
     "the controller (default: from the configuration)"},
    {"gstepd", "PATH", &DaemonOptions::gstepd, nullptr, "the shepherd program (default: beside this program)"},
    {"commands", "DIR", &DaemonOptions::commands, nullptr,
     "folder of the commands, for PATH of jobs that bring none (default: that of this program)"},
    {"check", nullptr, nullptr, &DaemonOptions::check, "check configuration, topology and containment, and leave"},
    {"version", nullptr, nullptr, &DaemonOptions::version, "print the version, and leave"},
    {"help", nullptr, nullptr, &DaemonOptions::help, "print this, and leave"},
}};

const Option* find_option(std::string_view name) {
  for (const Option& option : kOptions)
    if (name == option.name) return &option;
  return nullptr;
}

base::Error unknown_option(const std::string& word) {
  std::vector<std::string> names;
  for (const Option& option : kOptions) names.push_back(std::string("--") + option.name);
  std::string hint = base::did_you_mean(word, names);
  return {base::ErrorCode::kInvalid, "unknown option \"" + base::printable(word) + "\"",
          hint.empty() ? "see gnoded --help" : hint};
}

}  // namespace

base::Result<DaemonOptions> parse_options(const std::vector<std::string>& words) {
  DaemonOptions options;
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "-h") options.help = true;
    if (words[i] == "-V") options.version = true;
    if (words[i] == "-h" || words[i] == "-V") continue;
    const size_t equals = words[i].find('=');
    const std::string name = words[i].substr(0, equals);
    if (!name.starts_with("-"))
      return base::invalid("surplus word \"" + base::printable(words[i]) + "\"", "see gnoded --help");
    const Option* option = name.starts_with("--") ? find_option(name.substr(2)) : nullptr;
    if (option == nullptr) return tl::unexpected<base::Error>(unknown_option(name));
    if (option->value == nullptr) {
      if (equals != std::string::npos) return base::invalid("option " + name + " takes no value");
      options.*option->flag = true;
    } else if (equals != std::string::npos) {
      options.*option->text = words[i].substr(equals + 1);
    } else if (i + 1 < words.size()) {
      options.*option->text = words[++i];
    } else {
      return base::invalid("option " + name + " needs a value: " + option->value);
    }
  }
  return options;
}

std::string usage() {
  std::string text =
      "usage: gnoded [options]\n"
      "The node daemon: describes this node to the controller, and starts and contains jobs. Runs in the foreground;\n"
      "SIGTERM ends it, the jobs continue and are taken over by the next start.\n\n";
  for (const Option& option : kOptions) {
    std::string left = std::string("  --") + option.name + (option.value ? std::string(" ") + option.value : "");
    left.resize(std::max<size_t>(left.size() + 2, 26), ' ');
    text += left + option.help + "\n";
  }
  return text;
}

}  // namespace gw::noded
