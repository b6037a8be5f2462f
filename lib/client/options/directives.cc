// Directives of batch scripts.
#include "client/options/directives.h"

#include <array>
#include <optional>
#include <utility>

#include "base/faults.h"
#include "base/text.h"
#include "client/options/pbs.h"

namespace gw::client {
namespace {

constexpr std::array<std::string_view, 3> kKinds = {"#GBATCH", "#SBATCH", "#PBS"};

base::Error at(std::string_view path, const Directive& d, const base::Error& e) {
  return base::after(std::string(path) + ":" + std::to_string(d.line) + ": " + d.kind + ": ", e);
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

/// Takes the next line off.
std::string_view next_line(std::string_view& script) {
  const size_t end = script.find('\n');
  const std::string_view line = script.substr(0, end);
  script.remove_prefix(end == std::string_view::npos ? script.size() : end + 1);
  return line;
}

/// What follows the prefix, if the line is such a directive.
std::optional<std::string_view> own_words(std::string_view line, const OwnDirectives& own) {
  if (own.prefix.empty() || !line.starts_with(own.prefix)) return std::nullopt;
  const std::string_view rest = line.substr(own.prefix.size());
  if (own.is_everywhere) return base::trim(rest).starts_with('-') ? std::optional(rest) : std::nullopt;
  return rest.empty() || rest[0] == ' ' || rest[0] == '\t' ? std::optional(rest) : std::nullopt;
}

}  // namespace

base::Result<std::vector<Directive>> read_directives(std::string_view script, std::string_view path, bool ignore_pbs) {
  std::vector<Directive> found;
  base::Faults faults;
  size_t number = 0;
  while (!script.empty()) {
    const std::string_view line = next_line(script);
    ++number;
    if (is_command(line)) break;
    const std::string_view kind = kind_of(line);
    if (kind.empty() || (ignore_pbs && kind == "#PBS")) continue;
    Directive d{number, std::string(kind), {}};
    if (auto done = fill_words(d, line.substr(kind.size())); !done) faults.add(at(path, d, done.error()));
    found.push_back(std::move(d));
  }
  GW_TRY_STATUS(faults.status());
  return found;
}

base::Result<std::vector<Directive>> read_own_directives(std::string_view script, std::string_view path,
                                                         const OwnDirectives& own) {
  std::vector<Directive> found;
  base::Faults faults;
  for (size_t number = 1; !script.empty(); ++number) {
    const std::string_view line = next_line(script);
    if (is_command(line) && !own.is_everywhere) break;
    const auto rest = own_words(line, own);
    if (!rest) continue;
    Directive d{number, own.prefix, {}};
    auto words = base::split_shell_words(*rest).and_then(own.translate);
    if (!words) faults.add(at(path, d, words.error()));
    if (words) d.words = std::move(*words);
    found.push_back(std::move(d));
  }
  GW_TRY_STATUS(faults.status());
  return found;
}

std::string_view other_directives(std::string_view script, std::string_view own) {
  while (!script.empty()) {
    const std::string_view line = next_line(script);
    if (is_command(line)) break;
    for (const std::string_view kind : {"#SBATCH", "#PBS", "#$"})
      if (kind != own && line.starts_with(kind) && base::trim(line.substr(kind.size())).starts_with('-')) return kind;
  }
  return {};
}

base::Status apply_directives(const std::vector<Option>& table, std::span<const Directive> directives,
                              std::string_view path) {
  base::Faults faults;
  for (const Directive& d : directives) {
    auto done = parse_options(table, d.words, {.stop_at_operand = false, .directives_only = true});
    if (!done) faults.add(at(path, d, done.error()));
  }
  return faults.status();
}

}  // namespace gw::client
