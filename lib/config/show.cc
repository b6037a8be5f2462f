// A Config as text: annotated YAML, flat pairs, and the differences of two. See config.h.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/hostlist.h"
#include "base/text.h"
#include "config/keys.h"
#include "config/reference.h"

namespace gw::config {
namespace {

constexpr size_t kCommentWidth = 110;

using Pairs = std::vector<std::pair<std::string, std::string>>;

NodeEntry node_entry(const model::NodeConfig& node) {
  NodeEntry entry{{node.name}, {}, node, {}};
  if (!node.address.empty()) entry.addresses.push_back(node.address);
  entry.common.name.clear();
  entry.common.address.clear();
  if (const std::string gres = model::format_gres(node.gres); !gres.empty()) entry.gres = base::split(gres, ',');
  return entry;
}

// Neighbours that differ in name and address only become one entry.
std::vector<NodeEntry> group_nodes(const std::vector<model::NodeConfig>& nodes) {
  std::vector<NodeEntry> groups;
  for (const auto& node : nodes) {
    NodeEntry entry = node_entry(node);
    bool is_alike = !groups.empty() && groups.back().common == entry.common &&
                    groups.back().addresses.empty() == entry.addresses.empty();
    if (!is_alike) {
      groups.push_back(std::move(entry));
      continue;
    }
    groups.back().names.push_back(node.name);
    if (!node.address.empty()) groups.back().addresses.push_back(node.address);
  }
  return groups;
}

std::string name_of(const NodeEntry& entry) { return show(node_keys()[0], entry); }
std::string name_of(const model::SwitchConfig& line) { return line.name; }
std::string name_of(const PartitionEntry& entry) { return entry.p.name; }
std::string name_of(const QosEntry& entry) { return entry.q.name; }

std::vector<PartitionEntry> partition_entries(const Config& c) {
  std::vector<PartitionEntry> entries;
  for (const auto& p : c.partitions) entries.push_back(entry_of(p));
  return entries;
}

std::vector<QosEntry> qos_entries(const Config& c) {
  std::vector<QosEntry> entries;
  for (const model::Qos& q : c.qos) {
    const auto own = c.qos_orders.find(q.name);
    entries.push_back(own == c.qos_orders.end() ? QosEntry{q, {}, {}}
                                                : QosEntry{q, own->second.order, own->second.weights});
  }
  return entries;
}

template <typename T>
void add_pairs(Pairs& out, std::string_view list, std::span<const Key<T>> keys, const std::vector<T>& objects) {
  for (const T& object : objects)
    for (const Key<T>& key : keys)
      if (!is_name_key(key.info.name))
        out.emplace_back(fmt::format("{}.{}.{}", list, name_of(object), key.info.name), show(key, object));
}

// ---- dump

void add_comment(std::string& out, std::string_view indent, const std::string& text) {
  std::string line;
  for (const std::string& word : base::split(text, ' ')) {
    if (!line.empty() && line.size() + word.size() + 1 > kCommentWidth) {
      out += fmt::format("{}# {}\n", indent, line);
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  out += fmt::format("{}# {}\n", indent, line);
}

void dump_sections(std::string& out, const Config& c) {
  std::string_view section;
  for (const auto& key : config_keys()) {
    std::string_view name = key.info.name;
    size_t dot = name.find('.');
    std::string_view own = dot == std::string_view::npos ? std::string_view() : name.substr(0, dot);
    if (own != section) out += own.empty() ? "\n" : fmt::format("\n{}:\n", own);
    section = own;
    std::string_view indent = own.empty() ? "" : "  ";
    add_comment(out, indent, fmt::format("{} ({})", key.info.doc, kind_text(key.info)));
    out += fmt::format("{}{}: {}\n", indent, own.empty() ? name : name.substr(dot + 1), yaml(key, c));
  }
}

void dump_partition_defaults(std::string& out, const Config& c) {
  const PartitionEntry entry = entry_of(c.partition_defaults);
  out += "\n";
  add_comment(out, "", "What partitions have where they do not say; the keys are those of partitions.");
  out += "partition_defaults:\n";
  for (const auto& key : partition_keys())
    if (is_partition_default(key.info.name)) out += fmt::format("  {}: {}\n", key.info.name, yaml(key, entry));
}

template <typename T>
void dump_list(std::string& out, std::string_view list, std::span<const Key<T>> keys, const std::vector<T>& objects) {
  out += "\n";
  for (const Key<T>& key : keys)
    add_comment(out, "", fmt::format("  {}: {} ({})", key.info.name, key.info.doc, kind_text(key.info)));
  out += fmt::format("{}:{}\n", list, objects.empty() ? " []" : "");
  for (const T& object : objects)
    for (const Key<T>& key : keys)
      out += fmt::format("  {} {}: {}\n", is_name_key(key.info.name) ? "-" : " ", key.info.name, yaml(key, object));
}

// ---- diff

struct Change {
  std::string key;
  std::string text;
  Reload reload;
};

std::string or_none(const std::string& text) { return text.empty() ? "(none)" : text; }

std::string change_text(const std::string& before, const std::string& after) {
  return or_none(before) + " -> " + or_none(after);
}

template <typename T>
std::vector<Change> list_changes(std::string_view list, std::span<const Key<T>> keys, const std::vector<T>& before,
                                 const std::vector<T>& after) {
  std::vector<Change> changes;
  std::map<std::string, const T*> old;
  for (const T& object : before) old.emplace(name_of(object), &object);
  for (const T& object : after) {
    auto found = old.find(name_of(object));
    if (found == old.end()) {
      changes.push_back({fmt::format("{}.{}", list, name_of(object)), "added", Reload::kLive});
      continue;
    }
    for (const Key<T>& key : keys) {
      std::string was = show(key, *found->second), is = show(key, object);
      if (was != is)
        changes.push_back(
            {fmt::format("{}.{}.{}", list, name_of(object), key.info.name), change_text(was, is), key.info.reload});
    }
    old.erase(found);
  }
  for (const auto& [name, object] : old)
    changes.push_back({fmt::format("{}.{}", list, name), "removed", Reload::kLive});
  return changes;
}

// Thousands of nodes that change in the same way are one line: grouped by what changes.
class NodeChanges {
 public:
  void add(const std::string& node, std::string key, std::string text, Reload reload) {
    std::string id = key + '\n' + text;
    auto [place, is_new] = index_.emplace(std::move(id), groups_.size());
    if (is_new) groups_.push_back({{}, std::move(key), std::move(text), reload});
    groups_[place->second].nodes.push_back(node);
  }
  void move_to(std::vector<Change>& out) {
    for (Group& g : groups_) {
      std::string hosts = base::compress_hostlist(g.nodes);
      out.push_back({fmt::format("nodes.{}{}", hosts, g.key.empty() ? "" : "." + g.key), g.text, g.reload});
    }
  }

 private:
  struct Group {
    std::vector<std::string> nodes;
    std::string key, text;
    Reload reload;
  };
  std::vector<Group> groups_;
  std::map<std::string, size_t> index_;
};

void add_node_changes(std::vector<Change>& out, const Config& before, const Config& after) {
  NodeChanges changes;
  std::map<std::string_view, const model::NodeConfig*> old;
  for (const auto& node : before.nodes) old.emplace(node.name, &node);
  for (const auto& node : after.nodes) {
    auto found = old.find(node.name);
    if (found == old.end()) {
      changes.add(node.name, "", "added", Reload::kLive);
      continue;
    }
    if (*found->second != node) {
      for (const auto& key : node_keys()) {
        std::string was = show(key, node_entry(*found->second)), is = show(key, node_entry(node));
        if (was != is) changes.add(node.name, std::string(key.info.name), change_text(was, is), key.info.reload);
      }
    }
    old.erase(found);
  }
  for (const auto& node : before.nodes)
    if (old.contains(node.name)) changes.add(node.name, "", "removed", Reload::kLive);
  changes.move_to(out);
}

void add_changes_of_defaults(std::vector<Change>& out, const Config& before, const Config& after) {
  const PartitionEntry old = entry_of(before.partition_defaults), now = entry_of(after.partition_defaults);
  for (const auto& key : partition_keys()) {
    const std::string was = show(key, old), is = show(key, now);
    if (was != is)
      out.push_back({fmt::format("partition_defaults.{}", key.info.name), change_text(was, is), key.info.reload});
  }
}

std::vector<Change> changes_of(const Config& before, const Config& after) {
  std::vector<Change> changes;
  for (const auto& key : config_keys()) {
    std::string was = show(key, before), is = show(key, after);
    if (was != is) changes.push_back({std::string(key.info.name), change_text(was, is), key.info.reload});
  }
  add_node_changes(changes, before, after);
  for (Change& c : list_changes("network", switch_keys(), before.switches, after.switches))
    changes.push_back(std::move(c));
  add_changes_of_defaults(changes, before, after);
  for (Change& c : list_changes("partitions", partition_keys(), partition_entries(before), partition_entries(after)))
    changes.push_back(std::move(c));
  for (Change& c : list_changes("qos", qos_entry_keys(), qos_entries(before), qos_entries(after)))
    changes.push_back(std::move(c));
  return changes;
}

// ---- reference

std::string_view reload_text(Reload reload) {
  switch (reload) {
    case Reload::kLive:
      return "reconfigure";
    case Reload::kSeed:
      return "gacctmgr";
    case Reload::kController:
      return "restart of gctld";
    case Reload::kNode:
      return "restart of gnoded";
    case Reload::kWeb:
      return "restart of gwebd";
  }
  return "";
}

template <typename T>
void add_reference(std::vector<ReferenceRow>& out, std::string_view list, std::span<const Key<T>> keys) {
  for (const Key<T>& key : keys) {
    bool is_needed = is_name_key(key.info.name) || (list == "partitions" && key.info.name == "nodes");
    std::string value = show(key, T{});
    std::string shown = is_needed ? "needed" : value.empty() ? "empty" : value;
    std::string prefix = list.empty() ? "" : std::string(list) + "[].";
    out.push_back({prefix + std::string(key.info.name), kind_text(key.info), std::move(shown),
                   std::string(reload_text(key.info.reload)), std::string(key.info.doc)});
  }
}

}  // namespace

std::vector<std::pair<std::string, std::string>> entries(const Config& c) {
  Pairs out;
  for (const auto& key : config_keys()) out.emplace_back(std::string(key.info.name), show(key, c));
  add_pairs(out, "nodes", node_keys(), group_nodes(c.nodes));
  add_pairs(out, "network", switch_keys(), c.switches);
  const PartitionEntry defaults = entry_of(c.partition_defaults);
  for (const auto& key : partition_keys())
    if (is_partition_default(key.info.name))
      out.emplace_back(fmt::format("partition_defaults.{}", key.info.name), show(key, defaults));
  add_pairs(out, "partitions", partition_keys(), partition_entries(c));
  add_pairs(out, "qos", qos_entry_keys(), qos_entries(c));
  return out;
}

std::string dump(const Config& c) {
  std::string out = "# Configuration of Gangway. Every key with its value; docs/config.md is the reference.\n";
  dump_sections(out, c);
  dump_list(out, "nodes", node_keys(), group_nodes(c.nodes));
  dump_list(out, "network", switch_keys(), c.switches);
  dump_partition_defaults(out, c);
  dump_list(out, "partitions", partition_keys(), partition_entries(c));
  dump_list(out, "qos", qos_entry_keys(), qos_entries(c));
  return out;
}

std::vector<std::string> diff(const Config& before, const Config& after) {
  std::vector<std::string> lines;
  for (const Change& change : changes_of(before, after)) lines.push_back(change.key + ": " + change.text);
  return lines;
}

std::vector<std::string> restart_needed(const Config& before, const Config& after) {
  std::vector<std::string> keys;
  for (const Change& change : changes_of(before, after))
    if (change.reload != Reload::kLive && change.reload != Reload::kSeed) keys.push_back(change.key);
  return keys;
}

std::vector<ReferenceRow> reference_rows() {
  std::vector<ReferenceRow> rows;
  add_reference(rows, "", config_keys());
  add_reference(rows, "nodes", node_keys());
  add_reference(rows, "network", switch_keys());
  add_reference(rows, "partitions", partition_keys());
  add_reference(rows, "qos", qos_entry_keys());
  return rows;
}

std::vector<std::string> reference() {
  std::vector<std::string> lines;
  for (const ReferenceRow& row : reference_rows()) {
    const bool is_value = row.by_default != "empty" && row.by_default != "needed";
    lines.push_back(fmt::format("| `{}` | {} | {} | {} | {} |", row.name, row.values,
                                is_value ? "`" + row.by_default + "`" : row.by_default, row.takes_effect, row.text));
  }
  return lines;
}

}  // namespace gw::config
