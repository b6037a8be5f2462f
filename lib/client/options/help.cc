// Pages made from an option table: --help, --usage, man page.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "client/options/option_table.h"

namespace gw::client {
namespace {

constexpr size_t kHelpColumn = 30;
/// Breaks `text` at spaces into lines of at most `width` characters.
std::vector<std::string> wrapped(std::string_view text, size_t width) {
  std::vector<std::string> lines;
  std::string line;
  for (const std::string& word : base::split(text, ' ')) {
    if (!line.empty() && line.size() + 1 + word.size() > width) {
      lines.push_back(std::move(line));
      line.clear();
    }
    if (!line.empty()) line += ' ';
    line += word;
  }
  if (!line.empty()) lines.push_back(std::move(line));
  return lines;
}

void append_row(std::string& out, size_t width, std::string_view label, std::string_view text) {
  std::string head = fmt::format("  {}", label);
  bool is_first = true;
  for (const std::string& line : wrapped(text, width - kHelpColumn)) {
    if (is_first && head.size() + 2 > kHelpColumn) {
      out += head + "\n";
      head.clear();
    }
    out += fmt::format("{:<{}}{}\n", is_first ? head : "", kHelpColumn, line);
    is_first = false;
  }
  if (is_first) out += head + "\n";
}

/// A command of an example, over several lines where it is too long: as a shell takes it, so that it can be copied.
/// Blanks in quotes stay together.
std::string example(std::string_view command, size_t width) {
  std::string out, line;
  char quote = 0;
  size_t from = 0;
  const auto add = [&](std::string_view word) {
    if (!line.empty() && 2 + line.size() + 1 + word.size() + 2 > width) {
      out += line + " \\\n";
      line = "     ";
    }
    line += (line.empty() ? "" : " ") + std::string(word);
  };
  for (size_t i = 0; i <= command.size(); ++i) {
    const char c = i < command.size() ? command[i] : ' ';
    if (quote == 0 && (c == '\'' || c == '"'))
      quote = c;
    else if (c == quote)
      quote = 0;
    if (c != ' ' || (quote != 0 && i < command.size())) continue;
    add(command.substr(from, i - from));
    from = i + 1;
  }
  return out + line;
}

void append_paragraphs(std::string& out, size_t width, std::string_view text) {
  for (const std::string& paragraph : base::split(text, '\n')) {
    if (paragraph.empty()) continue;
    out += '\n';
    for (const std::string& line : wrapped(paragraph, width)) out += line + "\n";
  }
}

void append_roff_pairs(std::string& out, std::string_view title,
                       const std::vector<std::pair<std::string_view, std::string_view>>& pairs) {
  if (pairs.empty()) return;
  out += fmt::format(".SH {}\n", title);
  for (const auto& [label, text] : pairs) out += fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(label), roff(text));
}

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 32);
  return out;
}

std::string env_names(const Option& o, const CommandDoc& doc) {
  std::string names;
  for (std::string_view prefix : doc.env_prefixes)
    names += (names.empty() ? "" : ", ") + std::string(prefix) + std::string(o.env);
  return names;
}

/// The options that the pages list, in the doc's groups; each group in the order of the table. Without groups one,
/// which has no title.
std::vector<std::pair<std::string_view, std::vector<const Option*>>> grouped(const CommandDoc& doc,
                                                                             const std::vector<Option>& table) {
  std::vector<std::pair<std::string_view, std::vector<const Option*>>> groups;
  for (const OptionGroup& group : doc.groups) groups.emplace_back(group.title, std::vector<const Option*>());
  groups.emplace_back(doc.groups.empty() ? "" : "Other", std::vector<const Option*>());
  for (const Option& o : table) {
    if (!is_listed(o)) continue;
    const auto mine = std::find_if(doc.groups.begin(), doc.groups.end(), [&o](const OptionGroup& group) {
      return std::find(group.options.begin(), group.options.end(), o.name) != group.options.end();
    });
    groups[static_cast<size_t>(mine - doc.groups.begin())].second.push_back(&o);
  }
  std::erase_if(groups, [](const auto& group) { return group.second.empty(); });
  return groups;
}

void append_roff_option(std::string& out, const CommandDoc& doc, const Option& o) {
  out += fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(option_label(o)), roff(o.help));
  if (!o.env.empty() && !doc.env_prefixes.empty())
    out += fmt::format(".br\nEnvironment: {}.\n", roff(env_names(o, doc)));
}

void append_roff_options(std::string& out, const CommandDoc& doc, const std::vector<Option>& table) {
  if (std::none_of(table.begin(), table.end(), is_listed)) return;
  out += ".SH OPTIONS\n";
  for (const auto& [title, options] : grouped(doc, table)) {
    if (!title.empty()) out += fmt::format(".SS {}\n", title);
    for (const Option* o : options) append_roff_option(out, doc, *o);
  }
}

}  // namespace

std::string roff(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else if (c == '\'')
      out += "\\(aq";
    else
      out += c;
  }
  if (!out.empty() && out.front() == '.') out.insert(0, "\\&");
  return out;
}

bool is_listed(const Option& o) { return o.handler && (o.flags & (kHidden | kUnlisted)) == 0; }

std::string option_label(const Option& o) {
  std::string label;
  if (o.letter != 0) label = std::string("-") + o.letter;
  if (!o.name.empty()) label += (label.empty() ? "--" : ", --") + std::string(o.name);
  if (o.arg == Arg::kNone) return label;
  const std::string value(o.value.empty() ? std::string_view("VALUE") : o.value);
  const std::string separator = o.name.empty() ? " " : "=";
  return label + (o.arg == Arg::kRequired ? separator + value : "[=" + value + "]");
}

std::string usage_text(const Program& program, const CommandDoc& doc) {
  return fmt::format("Usage: {}{}{}\n", program.name, doc.synopsis.empty() ? "" : " ", doc.synopsis);
}

HelpLook look_of_terminal() {
  constexpr size_t kLeast = 50, kMost = 100;
  return {std::clamp(terminal_columns(STDOUT_FILENO, HelpLook().columns), kLeast, kMost), use_colour(STDOUT_FILENO)};
}

std::string help_text(const Program& program, const CommandDoc& doc, const std::vector<Option>& table, HelpLook look) {
  std::string out = usage_text(program, doc);
  out += fmt::format("{}: {}\n", program.name, doc.summary);
  append_paragraphs(out, look.columns, doc.description);
  const auto head = [&](std::string_view title) {
    out += look.is_bold ? fmt::format("\n\033[1m{}:\033[0m\n", title) : fmt::format("\n{}:\n", title);
  };
  for (const auto& [title, options] : grouped(doc, table)) {
    head(title.empty() ? "Options" : title);
    for (const Option* o : options)
      append_row(out, look.columns, o->letter == 0 ? "    " + option_label(*o) : option_label(*o), o->help);
  }
  const auto section = [&](std::string_view title, const auto& pairs) {
    if (pairs.empty()) return;
    head(title);
    for (const auto& [label, text] : pairs) append_row(out, look.columns, label, text);
  };
  section("Exit codes", doc.exit_codes);
  section("Environment", doc.environment);
  std::vector<std::pair<std::string, std::string_view>> examples;
  for (const auto& [command, text] : doc.examples) examples.emplace_back(example(command, look.columns), text);
  section("Examples", examples);
  return out;
}

std::string man_page(const Program& program, const CommandDoc& doc, const std::vector<Option>& table) {
  std::string page = program.name;  // that of `gangway topo` is gangway-topo
  std::replace(page.begin(), page.end(), ' ', '-');
  std::string out = fmt::format(".TH {} 1 \"\" \"gangway {}\" \"Gangway\"\n", upper(page), GANGWAY_VERSION);
  out += fmt::format(".SH NAME\n{} \\- {}\n", roff(page), roff(doc.summary));
  out += fmt::format(".SH SYNOPSIS\n\\fB{}\\fR {}\n.SH DESCRIPTION\n", roff(program.name), roff(doc.synopsis));
  for (const std::string& line : base::split(doc.description, '\n')) out += line.empty() ? ".PP\n" : roff(line) + "\n";
  append_roff_pairs(out, "VERBS", doc.verbs);
  append_roff_options(out, doc, table);
  append_roff_pairs(out, "EXIT STATUS", doc.exit_codes);
  append_roff_pairs(out, "ENVIRONMENT", doc.environment);
  append_roff_pairs(out, "EXAMPLES", doc.examples);
  return out;
}

void add_common_options(std::vector<Option>& table, CommonFlags& flags, char help_letter) {
  const auto set = [](bool& flag) {
    return [&flag](std::string_view) {
      flag = true;
      return base::Status{};
    };
  };
  table.push_back({"help", help_letter, Arg::kNone, {}, "show this help", {}, kStop, set(flags.help)});
  table.push_back({"usage", 0, Arg::kNone, {}, "show a line of usage", {}, kStop, set(flags.usage)});
  table.push_back({"version", 'V', Arg::kNone, {}, "show the version", {}, kStop, set(flags.version)});
  table.push_back({"generate-man", 0, Arg::kNone, {}, {}, {}, kStop | kHidden, set(flags.man)});
  table.push_back({"generate-completion", 0, Arg::kOptional, {}, {}, {}, kStop | kHidden, [&flags](std::string_view v) {
                     flags.completion = true;
                     flags.shell = v.empty() ? "bash" : v;
                     if (flags.shell == "bash" || flags.shell == "zsh" || flags.shell == "fish") return base::Status{};
                     return base::Status(base::invalid("--generate-completion: bash, zsh or fish"));
                   }});
}

std::string common_text(const CommonFlags& flags, const Program& program, const CommandDoc& doc,
                        const std::vector<Option>& table) {
  if (flags.version) return version_line(program) + "\n";
  if (flags.usage) return usage_text(program, doc);
  if (flags.man) return man_page(program, doc, table);
  if (flags.completion) return completion_script(flags.shell, program, doc, table);
  return help_text(program, doc, table, program.is_slurm ? HelpLook{} : look_of_terminal());
}

}  // namespace gw::client
