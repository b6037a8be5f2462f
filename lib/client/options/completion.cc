// Scripts for the completion of shells, made from an option table. What lives in the cluster they ask it for, for a
// second at most.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "client/options/option_table.h"

namespace gw::client {
namespace {

struct Source {
  Completes what;
  std::string_view name;     ///< Of the shell's function.
  std::string_view command;  ///< Prints the words, one a line.
};
constexpr Source kSources[] = {
    {Completes::kJobs, "jobs", "gqueue -h -o %i --me"},
    {Completes::kNodes, "nodes", "ginfo -h -N -o %N"},
    {Completes::kPartitions, "partitions", "ginfo -h -o %R"},
    {Completes::kQos, "qos", "gacctmgr -n -P list qos format=name"},
    {Completes::kReservations, "reservations",
     "gcontrol -o show reservation | sed -n 's/^ReservationName=\\([^ ]*\\).*/\\1/p'"},
    {Completes::kUsers, "users", "getent passwd | cut -d: -f1"},
};

/// What the value of an option names.
constexpr std::pair<std::string_view, Completes> kValues[] = {
    {"account", Completes::kQos},     {"accounts", Completes::kQos},
    {"dependency", Completes::kJobs}, {"exclude", Completes::kNodes},
    {"job", Completes::kJobs},        {"jobid", Completes::kJobs},
    {"jobs", Completes::kJobs},       {"node", Completes::kNodes},
    {"nodelist", Completes::kNodes},  {"partition", Completes::kPartitions},
    {"qos", Completes::kQos},         {"reservation", Completes::kReservations},
    {"uid", Completes::kUsers},       {"user", Completes::kUsers},
    {"users", Completes::kUsers},
};

Completes value_of(const Option& o) {
  for (const auto& [name, what] : kValues)
    if (o.name == name) return what;
  return Completes::kFiles;
}

/// "shell function" -> text; files need no command.
const Source* source_of(Completes what) {
  for (const Source& source : kSources)
    if (source.what == what) return &source;
  return nullptr;
}

std::string words_of(const std::vector<Option>& table) {
  std::string words;
  for (const Option& o : table) {
    if (!is_listed(o)) continue;
    if (!o.name.empty()) words += fmt::format("--{}{} ", o.name, o.arg == Arg::kRequired ? "=" : "");
    if (o.letter != 0) words += fmt::format("-{} ", o.letter);
  }
  return words;
}

/// What an operand is completed by.
std::string operand_command(const CommandDoc& doc) {
  if (!doc.words.empty()) return fmt::format("printf '%s\\n' {}", doc.words);
  const Source* source = source_of(doc.operands);
  return source == nullptr ? std::string() : std::string(source->command);
}

/// `case` lines: the option in front -> the command that lists its values.
std::string cases(const std::vector<Option>& table) {
  std::string out;
  for (const Source& source : kSources) {
    std::vector<std::string> options;
    for (const Option& o : table) {
      if (!is_listed(o) || o.arg == Arg::kNone || value_of(o) != source.what) continue;
      options.push_back("--" + std::string(o.name));
      if (o.letter != 0) options.push_back(std::string("-") + o.letter);
    }
    if (!options.empty()) out += fmt::format("    {}) list=\"{}\" ;;\n", base::join(options, "|"), source.command);
  }
  return out;
}

/// Lists have commas: what stands before the last one stays.
std::string bash(const Program& program, const CommandDoc& doc, const std::vector<Option>& table) {
  return fmt::format(
      "_{0}() {{\n"
      "  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} list= before=\n"
      "  if [[ $cur == '=' ]]; then cur=; fi\n"
      "  if [[ $prev == '=' ]]; then prev=${{COMP_WORDS[COMP_CWORD-2]}}; fi\n"
      "  COMPREPLY=()\n"
      "  if [[ $cur == -* ]]; then\n"
      "    COMPREPLY=($(compgen -W '{1}' -- \"$cur\"))\n"
      "    [[ ${{COMPREPLY[0]}} == *= ]] && compopt -o nospace\n"
      "    return\n"
      "  fi\n"
      "  case $prev in\n"
      "{2}"
      "    -*) ;;\n"
      "    *) list=\"{3}\" ;;\n"
      "  esac\n"
      "  if [[ -z $list ]]; then\n"
      "    compopt -o filenames\n"
      "    COMPREPLY=($(compgen -f -- \"$cur\"))\n"
      "    return\n"
      "  fi\n"
      "  if [[ $cur == *,* ]]; then before=${{cur%,*}},; fi\n"
      "  COMPREPLY=($(compgen -P \"$before\" -W \"$(GANGWAY_TIMEOUT=1 eval \"$list\" 2>/dev/null)\" -- "
      "\"${{cur##*,}}\"))\n"
      "}}\n"
      "complete -F _{0} {0}\n",
      program.name, words_of(table), cases(table), operand_command(doc));
}

std::string zsh_quoted(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'')
      out += "'\\''";
    else if (c == '[' || c == ']' || c == ':')
      out += std::string("\\") + c;
    else
      out += c;
  }
  return out;
}

std::string zsh_action(Completes what) {
  const Source* source = source_of(what);
  return source == nullptr ? "_files" : fmt::format("_gangway_{}", source->name);
}

/// A line of _arguments for each name of an option.
std::string zsh_option(const Option& o) {
  std::string out;
  const auto add = [&](const std::string& name, bool is_long) {
    const std::string value =
        o.arg == Arg::kNone ? ""
                            : fmt::format("{}:{}:{}", o.arg == Arg::kOptional ? ":" : "",
                                          zsh_quoted(o.value.empty() ? "VALUE" : o.value), zsh_action(value_of(o)));
    const std::string equals = o.arg == Arg::kNone ? "" : is_long ? "=" : o.arg == Arg::kOptional ? "-" : "+";
    out += fmt::format("  '{}{}[{}]{}' \\\n", name, equals, zsh_quoted(o.help), value);
  };
  if (!o.name.empty()) add("--" + std::string(o.name), true);
  if (o.letter != 0) add(std::string("-") + o.letter, false);
  return out;
}

std::string zsh(const Program& program, const CommandDoc& doc, const std::vector<Option>& table) {
  std::string out = fmt::format("#compdef {}\n", program.name);
  for (const Source& source : kSources)
    out += fmt::format(
        "_gangway_{0}() {{\n  local -a words\n  words=(${{(f)\"$(GANGWAY_TIMEOUT=1 {1} 2>/dev/null)\"}})\n"
        "  _values -s , '{0}' $words\n}}\n",
        source.name, source.command);
  out += "_arguments -s \\\n";
  for (const Option& o : table)
    if (is_listed(o)) out += zsh_option(o);
  const std::string operand = !doc.words.empty() ? fmt::format("({})", doc.words) : zsh_action(doc.operands);
  return out + fmt::format("  '*:operand:{}'\n", operand);
}

std::string fish_quoted(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return out;
}

std::string fish(const Program& program, const CommandDoc& doc, const std::vector<Option>& table) {
  const auto values = [](std::string_view command) {
    return fmt::format(" -x -a '(GANGWAY_TIMEOUT=1 {} 2>/dev/null)'", fish_quoted(command));
  };
  std::string out;
  for (const Option& o : table) {
    if (!is_listed(o)) continue;
    std::string names;
    if (!o.name.empty()) names += fmt::format(" -l {}", o.name);
    if (o.letter != 0) names += fmt::format(" -s {}", o.letter);
    const Source* source = source_of(value_of(o));
    const std::string value = o.arg != Arg::kRequired ? "" : source == nullptr ? " -r" : values(source->command);
    out += fmt::format("complete -c {}{}{} -d '{}'\n", program.name, names, value, fish_quoted(o.help));
  }
  if (const std::string command = operand_command(doc); !command.empty())
    out += fmt::format("complete -c {}{}\n", program.name, values(command));
  return out;
}

}  // namespace

std::string completion_script(std::string_view shell, const Program& program, const CommandDoc& doc,
                              const std::vector<Option>& table) {
  if (shell == "bash") return bash(program, doc, table);
  if (shell == "zsh") return zsh(program, doc, table);
  return shell == "fish" ? fish(program, doc, table) : std::string();
}

}  // namespace gw::client
