// Top level and sections. See read.h.
#include <fmt/format.h>

#include <algorithm>

#include "base/ports.h"
#include "base/text.h"
#include "config/plugins.h"
#include "config/read.h"

namespace gw::config {
namespace {

constexpr size_t kMaxClusterName = 40;  // It is part of cgroup paths.
constexpr size_t kLongRunDir = 80;      // Unix socket paths end at 108 bytes.
// Read by functions of their own.
constexpr std::string_view kLists[] = {"nodes", "network", "partition_defaults", "partitions", "qos"};

std::string_view section_of(std::string_view dotted) {
  size_t dot = dotted.find('.');
  return dot == std::string_view::npos ? std::string_view() : dotted.substr(0, dot);
}

bool is_section(std::string_view name) {
  return std::any_of(config_keys().begin(), config_keys().end(),
                     [&](const auto& key) { return section_of(key.info.name) == name; });
}

std::vector<std::string> top_names() {
  std::vector<std::string> names(std::begin(kLists), std::end(kLists));
  for (const auto& key : config_keys()) {
    std::string name(key.info.name.substr(0, key.info.name.find('.')));
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

void read_section(std::string_view name, const Value& value, Config& c, Problems& problems) {
  if (value.kind == Value::Kind::kNull) return;
  if (value.kind != Value::Kind::kMap)
    return problems.error(value, fmt::format("{} is a section of keys", name), "write its keys below it, indented");
  read_map(config_keys(), std::string(name) + ".", value, c, problems);
}

// cluster: NAME, or cluster: {name: NAME}
void read_cluster(const Key<Config>& key, const Value& value, Config& c, Problems& problems) {
  if (value.kind != Value::Kind::kMap) return read_value(key.info, key.at(c), value, problems);
  MapKeys seen;
  const std::string known[] = {"name"};
  for (size_t i = 0; i + 1 < value.items.size(); i += 2) {
    if (!seen.is_new(value.items[i], problems)) continue;
    if (value.items[i].text == known[0])
      read_value(key.info, key.at(c), value.items[i + 1], problems);
    else
      tell_unknown_key(value.items[i], known, problems);
  }
}

void read_top(const Value& name, const Value& value, Config& c, Problems& problems, bool is_whole) {
  if (is_section(name.text)) return read_section(name.text, value, c, problems);
  for (const auto& key : config_keys()) {
    if (key.info.name != name.text) continue;
    bool is_cluster = key.info.name == "cluster";
    return is_cluster ? read_cluster(key, value, c, problems) : read_value(key.info, key.at(c), value, problems);
  }
  bool is_list = std::find(std::begin(kLists), std::end(kLists), name.text) != std::end(kLists);
  if (!is_list && is_whole) tell_unknown_key(name, top_names(), problems);
}

void check_host(const Value& root, std::string_view key, const std::string& host, Problems& problems) {
  if (host.find_first_of(" /,[]") != std::string::npos)
    problems.error(place_of(root, key), fmt::format("\"{}\" is not a host name or address", base::printable(host)),
                   "give one name or address, without port");
}

void check_sections(const Value& root, const Config& c, Problems& problems) {
  if (c.cluster.size() > kMaxClusterName || c.cluster.find('.') != std::string::npos)
    problems.error(place_of(root, "cluster"), fmt::format("\"{}\" is not a cluster name", c.cluster),
                   fmt::format("use letters, digits, - and _, at most {}", kMaxClusterName));
  if (c.controller_host.empty())
    problems.error(place_of(root, "controller.host"), "controller.host must not be empty",
                   "give the host name of the controller");
  check_host(root, "controller.host", c.controller_host, problems);
  check_host(root, "controller.listen", c.listen, problems);
  if (const auto ports = base::parse_port_range(c.step_ports); !ports)
    problems.error(place_of(root, "node_daemon.step_ports"), ports.error().what, ports.error().hint);
  if (c.run_dir.size() > kLongRunDir)
    problems.error(place_of(root, "controller.run_dir"),
                   fmt::format("controller.run_dir is longer than {} characters", kLongRunDir),
                   "socket paths end at 108: choose a shorter folder");
  if (c.node_timeout < c.heartbeat * 2)
    problems.error(place_of(root, "links.node_timeout"), "links.node_timeout is less than twice links.heartbeat",
                   "one late sign of life would take a node out");
  for (const std::string& dir : c.plugin_dirs)
    if (!dir.starts_with('/'))
      problems.error(place_of(root, "plugin_dirs"), fmt::format("\"{}\" is not an absolute path", base::printable(dir)),
                     "write it from / on");
}

// `name` is one of `known`, or a mistake at `at`.
void check_known(const Value& at, const char* what, const std::string& name, std::span<const std::string_view> words,
                 Problems& problems) {
  const std::vector<std::string> known(words.begin(), words.end());
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  const std::string meant = base::did_you_mean(name, known);
  problems.error(at, fmt::format("no {} \"{}\"", what, name),
                 meant.empty() ? "one of " + base::join(known, ", ") : meant);
}

/// Without folders of plug-ins there are no others than the scheduler's.
void check_plugin(const char* what, std::span<const InTreePlugin> all, const NamedPlugin& named, bool has_others,
                  Problems& problems) {
  std::vector<std::string_view> names, known;
  for (const InTreePlugin& one : all) {
    names.push_back(one.name);
    if (one.name == named.name) known = one.weights;
  }
  if (!has_others) check_known(named.name_at, what, named.name, names, problems);
  if (known.empty()) return;  // that it has none, the plug-in itself says
  for (const auto& [name, weight] : named.weights) check_known(named.weights_at, "weight", name, known, problems);
}

}  // namespace

void check_order(const NamedPlugin& named, bool has_others, Problems& problems) {
  check_plugin("order", in_tree_orders(), named, has_others, problems);
}

void check_share_policy(const NamedPlugin& named, bool has_others, Problems& problems) {
  check_plugin("share policy", in_tree_shares(), named, has_others, problems);
}

void check_filter(const NamedPlugin& named, bool has_others, Problems& problems) {
  check_plugin("filter", in_tree_filters(), named, has_others, problems);
}

const Value& place_of(const Value& root, std::string_view dotted) {
  std::string_view section = section_of(dotted);
  const Value* at = root.find(section.empty() ? dotted : section);
  if (at == nullptr) return root;
  const Value* inner = section.empty() ? nullptr : at->find(dotted.substr(section.size() + 1));
  return inner != nullptr ? *inner : *at;
}

std::span<const Value> list_items(const Value& root, std::string_view key, Problems& problems) {
  const Value* value = root.find(key);
  if (value == nullptr || value->kind == Value::Kind::kNull) return {};
  if (value->kind == Value::Kind::kList) return value->items;
  problems.error(*value, fmt::format("{} is a list", key), "begin each entry with `- name: NAME`");
  return {};
}

bool MapKeys::is_new(const Value& name, Problems& problems) {
  if (name.kind != Value::Kind::kScalar) {
    problems.error(name, "a key that is no plain text");
    return false;
  }
  for (const auto& [text, line] : seen_) {
    if (text != name.text) continue;
    problems.error(name, fmt::format("the key {} stands twice, first in line {}", base::printable(name.text), line),
                   "leave one");
    return false;
  }
  // A map with that many keys consists of unknown ones, and each has been told.
  if (seen_.size() < 1000) seen_.emplace_back(name.text, name.line);
  return true;
}

void tell_unknown(const Value& name, std::span<const std::string> known, Problems& problems, std::string hint) {
  if (hint.empty()) hint = base::did_you_mean(name.text, known);
  if (hint.empty()) hint = "known here: " + base::join(known, ", ");
  problems.error(name, fmt::format("unknown key \"{}\"", base::printable(name.text)), hint);
}

void tell_unknown_key(const Value& name, std::span<const std::string> known, Problems& problems) {
  std::string hint = base::did_you_mean(name.text, known);
  for (const auto& key : config_keys()) {
    std::string_view section = section_of(key.info.name);
    bool is_same = !section.empty() && key.info.name.substr(section.size() + 1) == name.text;
    if (hint.empty() && is_same) hint = fmt::format("it belongs under {}:", section);
  }
  tell_unknown(name, known, problems, hint);
}

void read_sections(const Value& root, Config& c, Problems& problems, bool is_whole) {
  MapKeys seen;
  for (size_t i = 0; i + 1 < root.items.size(); i += 2)
    if (seen.is_new(root.items[i], problems)) read_top(root.items[i], root.items[i + 1], c, problems, is_whole);
  check_sections(root, c, problems);
  const bool has_others = !c.plugin_dirs.empty();
  check_order({place_of(root, "scheduler.order"), c.order, place_of(root, "scheduler.order_weights"), c.order_weights},
              has_others, problems);
  check_share_policy(
      {place_of(root, "scheduler.share"), c.share, place_of(root, "scheduler.share_weights"), c.share_weights},
      has_others, problems);
}

}  // namespace gw::config
