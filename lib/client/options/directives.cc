// Directives of batch scripts.
#include "client/options/directives.h"

#include <array>
#include <utility>

#include "base/text.h"

namespace gw::client {
namespace {

constexpr std::array<std::string_view, 3> kKinds = {"#GBATCH", "#SBATCH", "#PBS"};

tl::unexpected<base::Error> at(std::string_view path, const Directive& d, const base::Error& e) {
  return base::fail(e.code, std::string(path) + ":" + std::to_string(d.line) + ": " + d.kind + ": " + e.what, e.hint);
}

/// Which directive a line is, or empty. The word must end there: `#SBATCHX` is a comment.
std::string_view kind_of(std::string_view line) {
  for (std::string_view kind : kKinds)
    if (line.starts_with(kind) && (line.size() == kind.size() || line[kind.size()] == ' ' || line[kind.size()] == '\t'))
      return kind;
  return {};
}

bool is_command(std::string_view line) {
  const std::string_view text = base::trim(line);
  return !text.empty() && text.front() != '#';
}

base::Result<std::string> pbs_nodes(std::string_view value) {
  // N[:ppn=P][:gpus=G]
  std::string out;
  for (const std::string& part : base::split(value, ':')) {
    const size_t equals = part.find('=');
    const std::string key = part.substr(0, equals);
    const std::string number = equals == std::string::npos ? part : part.substr(equals + 1);
    if (equals == std::string::npos && out.empty())
      out = "--nodes=" + number;
    else if (key == "ppn")
      out += " --ntasks-per-node=" + number;
    else if (key == "gpus")
      out += " --gpus-per-node=" + number;
    else
      return base::invalid("-l nodes: \"" + base::printable(part, 40) + "\" is not supported");
  }
  return out;
}

/// One `-l` resource as an option; several words are separated by spaces.
base::Result<std::string> pbs_resource(std::string_view resource) {
  const size_t equals = resource.find('=');
  const std::string key(resource.substr(0, equals));
  const std::string value(equals == std::string_view::npos ? std::string_view() : resource.substr(equals + 1));
  if (key == "walltime") return "--time=" + value;
  if (key == "mem") {  // PBS writes 4gb
    std::string size = base::to_lower(value);
    if (size.size() > 1 && size.back() == 'b') size.pop_back();
    return "--mem=" + size;
  }
  if (key == "ngpus") return "--gpus=" + value;
  if (key == "ncpus") return "--cpus-per-task=" + value;
  if (key == "nodes") return pbs_nodes(value);
  return base::invalid("-l " + base::printable(key, 40) + " is not supported",
                       "walltime, nodes, ncpus, ngpus and mem are");
}

base::Status translate_pbs_option(char letter, const std::string& value, std::vector<std::string>& out) {
  switch (letter) {
    case 'N':
      out.push_back("--job-name=" + value);
      return {};
    case 'q':
      out.push_back("--partition=" + value);
      return {};
    case 'A':
      out.push_back("--account=" + value);
      return {};
    case 'o':
      out.push_back("--output=" + value);
      return {};
    case 'e':
      out.push_back("--error=" + value);
      return {};
    case 'j':
      return {};  // output and errors share a file anyway
    case 'l':
      for (const std::string& resource : base::split(value, ',')) {
        GW_TRY(option, pbs_resource(resource));
        for (std::string& word : base::split(option, ' ')) out.push_back(std::move(word));
      }
      return {};
    default:
      return base::invalid("option -" + base::printable({&letter, 1}) + " is not supported");
  }
}

base::Result<std::vector<std::string>> translate_pbs(const std::vector<std::string>& words) {
  std::vector<std::string> out;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word.size() < 2 || word[0] != '-')
      return base::invalid("unexpected word \"" + base::printable(word, 40) + "\"");
    if (word == "-V") continue;  // the whole environment goes along anyway
    if (word == "-h") {
      out.emplace_back("--hold");
      continue;
    }
    if (word.size() == 2 && i + 1 >= words.size())
      return base::invalid("option " + base::printable(word) + " needs a value");
    const std::string value = word.size() > 2 ? word.substr(2) : words[++i];
    GW_TRY_STATUS(translate_pbs_option(word[1], value, out));
  }
  return out;
}

base::Status fill_words(Directive& d, std::string_view rest) {
  GW_TRY(words, base::split_shell_words(rest));
  if (d.kind != "#PBS") {
    d.words = std::move(words);
    return {};
  }
  GW_TRY(translated, translate_pbs(words));
  d.words = std::move(translated);
  return {};
}

}  // namespace

base::Result<std::vector<Directive>> read_directives(std::string_view script, std::string_view path, bool ignore_pbs) {
  std::vector<Directive> found;
  size_t number = 0;
  while (!script.empty()) {
    const size_t end = script.find('\n');
    const std::string_view line = script.substr(0, end);
    script.remove_prefix(end == std::string_view::npos ? script.size() : end + 1);
    ++number;
    if (is_command(line)) break;
    const std::string_view kind = kind_of(line);
    if (kind.empty() || (ignore_pbs && kind == "#PBS")) continue;
    Directive d{number, std::string(kind), {}};
    if (auto done = fill_words(d, line.substr(kind.size())); !done) return at(path, d, done.error());
    found.push_back(std::move(d));
  }
  return found;
}

base::Status apply_directives(const std::vector<Option>& table, std::span<const Directive> directives,
                              std::string_view path) {
  for (const Directive& d : directives) {
    auto done = parse_options(table, d.words, {.stop_at_operand = false, .directives_only = true});
    if (!done) return at(path, d, done.error());
  }
  return {};
}

}  // namespace gw::client
