// What a submission takes along from where it is made.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>

#include "base/text.h"
#include "cmds/request/batch_script.h"

namespace gw::cmds {
namespace {

struct NamedLimit {
  const char* name;
  int resource;
};
constexpr NamedLimit kLimits[] = {
    {"CPU", RLIMIT_CPU},         {"FSIZE", RLIMIT_FSIZE}, {"DATA", RLIMIT_DATA},   {"STACK", RLIMIT_STACK},
    {"CORE", RLIMIT_CORE},       {"RSS", RLIMIT_RSS},     {"NPROC", RLIMIT_NPROC}, {"NOFILE", RLIMIT_NOFILE},
    {"MEMLOCK", RLIMIT_MEMLOCK}, {"AS", RLIMIT_AS},
};

std::string_view name_of(std::string_view line) { return line.substr(0, line.find('=')); }

bool is_ours(std::string_view line) { return line.starts_with("SLURM_") || line.starts_with("GANGWAY_"); }

/// A form of --export taken apart.
struct ExportForm {
  bool all = false;
  bool ours = true;                   ///< SLURM_* and GANGWAY_* go along.
  std::vector<std::string> names;     ///< Present variables that go along.
  std::vector<std::string> settings;  ///< NAME=value
};

base::Result<ExportForm> parse_form(std::string_view form) {
  ExportForm f;
  GW_TRY(entries, split_variables(form, "--export"));
  const bool alone = entries.size() == 1;
  for (const std::string& entry : entries) {
    if (base::iequals(entry, "ALL")) {
      f.all = true;
    } else if (base::iequals(entry, "NONE") || base::iequals(entry, "NIL")) {
      if (!alone && base::iequals(entry, "NONE")) return base::invalid("--export: NONE stands alone");
      f.ours = !base::iequals(entry, "NIL");
    } else if (name_of(entry).empty()) {
      return base::invalid("--export: \"" + base::printable(entry, 60) + "\" is no variable name");
    } else {
      (entry.find('=') == std::string::npos ? f.names : f.settings).push_back(entry);
    }
  }
  return f;
}

bool contains(const std::vector<std::string>& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

}  // namespace

base::Result<std::vector<std::string>> split_variables(std::string_view form, std::string_view option) {
  std::vector<std::string> entries(1);
  char quote = 0;
  for (char c : form) {
    if (quote != 0 && c == quote)
      quote = 0;
    else if (quote == 0 && (c == '\'' || c == '"'))
      quote = c;
    else if (quote == 0 && c == ',')
      entries.emplace_back();
    else
      entries.back() += c;
  }
  if (quote != 0) return base::invalid(std::string(option) + ": a quote is not closed in " + base::printable(form, 80));
  return entries;
}

base::Result<std::string> export_environment(std::string_view form, const std::vector<std::string>& environ_lines,
                                             const std::vector<std::string>& more) {
  GW_TRY(f, parse_form(form.empty() ? "ALL" : form));
  f.settings.insert(f.settings.end(), more.begin(), more.end());
  std::vector<std::string> replaced;
  for (const std::string& setting : f.settings) replaced.emplace_back(name_of(setting));
  // As in Slurm, so that a step inside the job passes on no more than the job has.
  if (!form.empty() && !base::iequals(form, "ALL")) {
    f.settings.push_back("SLURM_EXPORT_ENV=" + std::string(form));
    replaced.emplace_back("SLURM_EXPORT_ENV");
  }
  std::string block;
  for (const std::string& line : environ_lines) {
    const std::string_view name = name_of(line);
    if (line.find('=') == std::string::npos || contains(replaced, name)) continue;
    if (f.all || contains(f.names, name) || (f.ours && is_ours(line))) block += line + '\0';
  }
  for (const std::string& setting : f.settings) block += setting + '\0';
  return block;
}

bool implies_login_environment(std::string_view form) {
  const auto f = parse_form(form.empty() ? "ALL" : form);
  return f && !f->all && f->ours;
}

std::vector<std::string> pbs_settings(const model::JobSpec& spec) {
  std::vector<std::string> lines{"PBS_ENVIRONMENT=PBS_BATCH", "PBS_O_HOST=" + host_name()};
  char here[PATH_MAX];
  if (::getcwd(here, sizeof here) != nullptr) lines.push_back(std::string("PBS_O_WORKDIR=") + here);
  if (!spec.partitions.empty()) lines.push_back("PBS_O_QUEUE=" + spec.partitions.front());
  for (const char* name : {"HOME", "LANG", "LOGNAME", "MAIL", "PATH", "SHELL", "TZ"})
    if (const char* value = std::getenv(name); value != nullptr)
      lines.push_back(fmt::format("PBS_O_{}={}", name, value));
  return lines;
}

std::vector<std::string> present_environment() {
  std::vector<std::string> lines;
  for (char** line = environ; line != nullptr && *line != nullptr; ++line) lines.emplace_back(*line);
  return lines;
}

std::map<std::string, uint64_t> present_limits() {
  std::map<std::string, uint64_t> limits;
  for (const NamedLimit& l : kLimits) {
    rlimit value{};
    if (::getrlimit(static_cast<__rlimit_resource>(l.resource), &value) != 0) continue;
    limits[l.name] = value.rlim_cur == RLIM_INFINITY ? UINT64_MAX : static_cast<uint64_t>(value.rlim_cur);
  }
  return limits;
}

uint32_t present_umask() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return mask;
}

std::string host_name() {
  char name[HOST_NAME_MAX + 1] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "localhost";
}

std::string submit_line(const std::string& program, std::span<const std::string> args) {
  std::string line = program;
  bool hide_next = false;
  for (const std::string& arg : args) {
    std::string shown = arg;
    for (const char* option : {"--wrap", "--export"})
      if (arg.starts_with(std::string(option) + "=")) shown = std::string(option) + "=...";
    if (hide_next) shown = "...";
    hide_next = arg == "--wrap" || arg == "--export";
    line += " " + base::shell_quote(shown);
    if (line.size() > 4096) return line.substr(0, 4093) + "...";
  }
  return line;
}

}  // namespace gw::cmds
