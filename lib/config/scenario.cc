// The entry points of the scenario reader, and what its parts share. See scenario.h.
#include "config/scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "base/text.h"
#include "config/scenario_keys.h"
#include "config/scenario_read.h"

namespace gw::config {
namespace {

constexpr base::Duration kMaxOffset = base::hours(24 * 3660);  // Far from what the arithmetic of times bears.

// The top level has maps and lists only, which are read part by part; what is left is to name the unknown keys.
void check_top(const Value& root, std::span<const std::string_view> parts, const Reading& reading) {
  (void)read_bound({}, parts, root, "a document", reading.problems);
}

std::string read_title(const Value& root, const Reading& reading) {
  std::string title;
  const KeyInfo info{"name", Kind::kText, Reload::kLive, ""};
  if (const Value* value = root.find("name")) read_value(info, &title, *value, reading.problems);
  return title;
}

Scenario read_scenario(const Value& root, const Reading& reading) {
  Scenario scenario;
  scenario.place = reading.place(root);
  check_top(root, kScenarioParts, reading);
  scenario.name = read_title(root, reading);
  if (root.find("nodes") == nullptr)
    reading.problems.error(root, "a scenario needs nodes", "write `nodes: []` for an empty cluster");
  scenario.cluster = read_cluster_parts(root, reading);
  read_jobs(root, scenario, reading);
  read_expectations(root, scenario, reading);
  warn_of_guarantees(scenario.cluster, root, reading.problems);
  return scenario;
}

base::Result<base::Duration> parse_offset(std::string_view text, bool is_signed) {
  const bool is_negative = is_signed && text.starts_with('-');
  if (is_negative) text.remove_prefix(1);
  const bool is_bare = !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  if (is_bare && text.find_first_not_of('0') != std::string_view::npos)
    return base::invalid(fmt::format("{} has no unit", base::printable(text)),
                         fmt::format("write {0}s or {0}m", base::printable(text, 20)));
  const auto parsed = base::parse_duration(text);
  if (!parsed)
    return base::invalid(fmt::format("\"{}\" is not a length of time", base::printable(text)),
                         "write 90s, 5m, 2h or 1d12h");
  const base::Duration d = *parsed;
  if (d > kMaxOffset) return base::invalid(fmt::format("{} is longer than 3660 days", base::printable(text)));
  return is_negative ? base::Duration{} - d : d;
}

}  // namespace

std::string Place::says(const std::string& what) const { return fmt::format("{}:{}:{}: {}", path, line, column, what); }

std::string_view name(JobPhase phase) {
  switch (phase) {
    case JobPhase::kPending:
      return "pending";
    case JobPhase::kRunning:
      return "running";
    case JobPhase::kSuspended:
      return "suspended";
    case JobPhase::kEnded:
      return "ended";
  }
  return "";
}

base::Duration read_offset(const std::string& text, bool is_signed, base::Duration fallback, const Value& map,
                           std::string_view key, const Reading& reading) {
  if (text.empty()) return fallback;
  auto parsed = parse_offset(text, is_signed);
  if (parsed) return *parsed;
  reading.problems.error(place_of(map, key), fmt::format("{}: {}", key, parsed.error().what), parsed.error().hint);
  return fallback;
}

void check_names(const std::vector<std::string>& names, const std::vector<std::string>& known, std::string_view what,
                 const Value& at, const Reading& reading) {
  if (names.empty()) return;
  const std::unordered_set<std::string_view> all(known.begin(), known.end());
  for (const std::string& name : names) {
    if (all.contains(name)) continue;
    std::string hint = reading.problems.wants_hints() ? base::did_you_mean(name, known) : "";
    if (hint.empty() && !known.empty() && known.size() <= 8) hint = "one of " + base::join(known, ", ");
    return reading.problems.error(at, fmt::format("no {} \"{}\"", what, base::printable(name)), hint);
  }
}

bool is_new_name(const std::string& name, const Value& entry, std::string_view what,
                 std::map<std::string, uint32_t>& lines, const Reading& reading) {
  if (name.empty()) {
    if (entry.find("name") == nullptr)
      reading.problems.error(entry, fmt::format("this {} has no name", what), "write `name: NAME`");
    return false;
  }
  const auto [first, is_new] = lines.emplace(name, entry.line);
  if (!is_new)
    reading.problems.error(entry, fmt::format("{} {} stands twice, first in line {}", what, name, first->second),
                           "leave one, or give it another name");
  return is_new;
}

base::Result<std::vector<Scenario>> parse_scenarios(std::string_view text, const std::string& path) {
  GW_TRY(documents, read_yaml_documents(text, path));
  if (documents.empty()) return base::invalid(path + ":1:1: no scenario", "write at least `nodes: []`");
  Problems problems(path);
  const Reading reading{path, problems};
  std::vector<Scenario> scenarios;
  for (const Value& root : documents) scenarios.push_back(read_scenario(root, reading));
  if (problems.has_errors()) return tl::unexpected<base::Error>(problems.to_error());
  scenarios.front().warnings = problems.warnings();
  return scenarios;
}

base::Result<ClusterFile> parse_cluster(std::string_view text, const std::string& path) {
  GW_TRY(root, read_yaml(text, path));
  Problems problems(path);
  const Reading reading{path, problems};
  check_top(root, kClusterParts, reading);
  (void)read_title(root, reading);
  ClusterFile file;
  file.cluster = read_cluster_parts(root, reading);
  if (file.cluster.nodes.empty() && !problems.has_errors())
    problems.error(place_of(root, "nodes"), "the cluster has no nodes", "add them under nodes:");
  warn_of_guarantees(file.cluster, root, problems);
  if (problems.has_errors()) return tl::unexpected<base::Error>(problems.to_error());
  file.warnings = problems.warnings();
  return file;
}

}  // namespace gw::config
