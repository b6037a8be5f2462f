// See slurm_lists.h.
#include "cmds/gangway/import/slurm_lists.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/hostlist.h"
#include "base/text.h"
#include "base/time.h"

namespace gw::cmds::import {
namespace {

using base::invalid;
using base::Status;
using Settings = std::vector<std::pair<std::string, std::string>>;

/// What the DEFAULT line said, and over it what this line says.
Settings with_defaults(const Settings& defaults, const Settings& mine) {
  Settings all = mine;
  for (const auto& setting : defaults) {
    const bool is_said = std::any_of(mine.begin(), mine.end(),
                                     [&](const auto& said) { return base::iequals(said.first, setting.first); });
    if (!is_said) all.push_back(setting);
  }
  return all;
}

/// DEFAULT= lines: they are kept, and told about where they count.
bool is_default(Work& w, const Line& line, const std::string& name, Settings& defaults) {
  if (!base::iequals(name, "DEFAULT")) return false;
  Settings mine(line.settings.begin() + 1, line.settings.end());
  defaults = with_defaults(defaults, mine);
  w.note(line, Verdict::kTaken, "what the lines below do not say");
  return true;
}

/// Tells of the settings of a line of a list: which were taken, and of the others why not.
class Told {
 public:
  void take(const std::string& key) { taken_.push_back(key); }
  void ignore(const std::string& key, const std::string& why) { ignored_[why].push_back(key); }
  void note(Work& w, const Line& line, const std::string& what) {
    w.note(line, Verdict::kTaken, what + (taken_.empty() ? "" : ": " + base::join(taken_, ", ")));
    for (const auto& [why, keys] : ignored_) w.note(line, Verdict::kIgnored, base::join(keys, ", ") + " (" + why + ")");
  }

 private:
  std::vector<std::string> taken_;
  std::map<std::string, std::vector<std::string>> ignored_;
};

/// Looks the keys of the line up, and hands those that are done by hand to `set`, which says whether it took them.
template <typename Set>
Status each_setting(Work& w, const Line& line, const Settings& settings, std::span<const SlurmKey> keys, Told& told,
                    const Set& set) {
  for (const auto& [name, value] : settings) {
    const SlurmKey* key = find_key(keys, name);
    if (key == nullptr) {
      w.unknown(line, name, keys);
    } else if (key->form != Form::kByHand) {
      told.ignore(name, std::string(key->what));
    } else {
      Status done = set(std::string(key->name), value);
      if (!done) return invalid(line.place() + ": " + name + ": " + done.error().what, done.error().hint);
    }
  }
  return {};
}

base::Result<std::string> megabytes(const std::string& value) {
  GW_TRY(mb, base::parse_int(value, 0, INT64_MAX, "memory"));
  return std::to_string(mb) + "M";
}

bool is_none(const std::string& value) {
  return value.empty() || base::iequals(value, "none") || base::iequals(value, "(null)") || base::iequals(value, "n/a");
}

// ---- Nodes

/// "gpu:a100:8", "nvme:no_consume:4K", "gpu:2(S:0-1)"
struct Gres {
  std::string name, type, count = "1";
};

Gres parse_gres(std::string text) {
  text = text.substr(0, text.find('('));
  std::vector<std::string> parts = base::split(text, ':');
  std::erase(parts, "no_consume");
  Gres gres{parts.empty() ? std::string() : std::string(base::trim(parts.front())), {}, "1"};
  if (parts.size() == 1) return gres;
  const bool has_count = !parts.back().empty() && parts.back().front() >= '0' && parts.back().front() <= '9';
  if (has_count) gres.count = parts.back();
  if (parts.size() > 2 || !has_count) gres.type = parts[1];
  return gres;
}

/// GPUs the node finds by itself; how many there should be it is told.
Status set_gres(Work& w, Keys& node, const std::string& names, const std::string& value) {
  int64_t gpus = 0;
  std::vector<std::string> others;
  for (const std::string& part : base::split(value, ',')) {
    if (base::trim(part).empty()) continue;
    const Gres gres = parse_gres(part);
    if (gres.name == "gpu") {
      GW_TRY(count, base::parse_int(gres.count, 0, 1024, "GPUs"));
      gpus += count;
    } else if (gres.name == "shard" || gres.name == "mps") {
      w.nodes_with_shards.push_back(names);
    } else {
      others.push_back(gres.name + (gres.type.empty() ? "" : ":" + gres.type) + ":" + gres.count);
    }
  }
  if (gpus > 0) node.set("gpus", std::to_string(gpus));
  if (!others.empty()) node.set("gres", yaml_list(others));
  return {};
}

/// Addresses, as many as names, or one; names of hosts are left to the resolver.
bool is_address(const std::string& text) {
  return text.find_first_not_of("0123456789.[],-:abcdefABCDEF") == std::string::npos &&
         text.find_first_of("0123456789") != std::string::npos && text.find_first_of(".:") != std::string::npos;
}

Status set_of_node(Work& w, Keys& node, Told& told, const std::string& names, const std::string& key,
                   const std::string& value) {
  if (key == "NodeName") return {};
  if (is_none(value)) return {};
  if (key == "NodeAddr") {
    if (!is_address(value))
      return told.ignore(key, "names of nodes are names of hosts, or stand in `address`"), Status{};
    node.set("address", yaml_text(value));
  } else if (key == "Feature" || key == "Features") {
    std::vector<std::string> features;
    for (const std::string& f : base::split(value, ',')) features.emplace_back(base::trim(f));
    GW_TRY(list, base::expand_hostlist(names));
    for (const std::string& f : features) w.by_feature[f].insert(w.by_feature[f].end(), list.begin(), list.end());
    node.set("features", yaml_list(features));
  } else if (key == "Weight") {
    GW_TRY(weight, base::parse_int(value, 0, 4'294'967'294, key));
    node.set("weight", std::to_string(weight));
  } else if (key == "Gres") {
    GW_TRY_STATUS(set_gres(w, node, names, value));
  } else if (key == "MemSpecLimit" || key == "TmpDisk") {
    GW_TRY(size, megabytes(value));
    node.set(key == "TmpDisk" ? "tmp_disk" : "reserved_memory", size);
  } else if (key == "CoreSpecCount") {
    GW_TRY(cores, base::parse_int(value, 0, 65'535, key));
    node.set("reserved_cores", std::to_string(cores));
  } else {  // State
    if (!base::iequals(value, "UNKNOWN") && !base::iequals(value, "IDLE"))
      told.ignore(key + "=" + value, "a state is given by hand: gcontrol update NodeName=... State=DRAIN");
    return {};
  }
  told.take(key);
  return {};
}

// ---- Partitions

std::vector<std::string> split_outside_brackets(const std::string& text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char c : text) {
    if (c == '[') ++depth;
    if (c == ']') --depth;
    if (c == ',' && depth == 0)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

/// Names of nodes and of node sets, and ALL.
base::Result<std::string> nodes_of(Work& w, const std::string& value) {
  if (base::iequals(value, "ALL")) return std::string("ALL");
  std::vector<std::string> names;
  std::set<std::string> seen;
  for (const std::string& part : split_outside_brackets(value)) {
    const auto set = w.sets.find(part);
    std::vector<std::string> of_part;
    if (set != w.sets.end()) {
      of_part = set->second;
    } else {
      GW_TRY(expanded, base::expand_hostlist(part));
      of_part = std::move(expanded);
    }
    for (std::string& name : of_part)
      if (seen.insert(name).second) names.push_back(std::move(name));
  }
  return base::compress_hostlist(names);
}

bool is_unlimited(const std::string& value) {
  return base::iequals(value, "UNLIMITED") || base::iequals(value, "INFINITE") || value == "-1";
}

/// Accounts and QOS are one here; ALL says nothing.
void ignore_allowed(Told& told, const std::string& key, const std::string& value) {
  if (base::iequals(value, "ALL")) return;
  told.ignore(key + "=" + value, "accounts and QOS are one tree here: once it stands, say partitions[].allow_qos");
}

Status set_state(Keys& partition, const std::string& value) {
  const std::string state = base::to_lower(value);
  if (state != "up" && state != "down" && state != "drain" && state != "inactive")
    return invalid("\"" + base::printable(value, 40) + "\" is no state", "UP, DOWN, DRAIN or INACTIVE");
  if (state != "up") partition.set("state", state);
  return {};
}

/// Keys whose value is a number, of each what it is called here.
constexpr std::pair<std::string_view, std::string_view> kNumbers[] = {{"PriorityTier", "tier"},
                                                                      {"Priority", "tier"},
                                                                      {"MaxNodes", "max_nodes"},
                                                                      {"DefCpuPerGPU", "default_cpus_per_gpu"}};
constexpr std::pair<std::string_view, std::string_view> kMemories[] = {{"DefMemPerCPU", "default_mem_per_cpu"},
                                                                       {"DefMemPerGPU", "default_mem_per_gpu"}};

/// True: it was one of those.
base::Result<bool> set_number(Keys& partition, const std::string& key, const std::string& value) {
  for (const auto& [name, mine] : kNumbers) {
    if (name != key) continue;
    if (is_unlimited(value)) return true;
    GW_TRY(number, base::parse_int(value, 0, 1'000'000, key));
    partition.set(std::string(mine), std::to_string(std::min<int64_t>(number, key.starts_with('P') ? 65'535 : number)));
    return true;
  }
  for (const auto& [name, mine] : kMemories) {
    if (name != key) continue;
    GW_TRY(size, megabytes(value));
    partition.set(std::string(mine), size);
    return true;
  }
  return false;
}

Status set_of_partition(Work& w, Keys& partition, Told& told, const std::string& key, const std::string& value) {
  if (key == "PartitionName" || is_none(value)) return {};
  GW_TRY(is_done, set_number(partition, key, value));
  if (is_done) return told.take(key), Status{};
  if (key == "Nodes") {
    GW_TRY(nodes, nodes_of(w, value));
    partition.set("nodes", yaml_text(nodes));
  } else if (key == "Default") {
    if (Work::is_yes(value)) partition.set("default", "true");
  } else if (key == "MaxTime" || key == "DefaultTime") {
    if (!is_unlimited(value)) {
      GW_TRY_STATUS(base::parse_duration(value).map([](const auto&) {}));
      partition.set(key == "MaxTime" ? "max_time" : "default_time", yaml_text(value));
    }
  } else if (key == "State") {
    GW_TRY_STATUS(set_state(partition, value));
  } else if (key == "AllowGroups") {
    if (!base::iequals(value, "ALL")) partition.set("allow_groups", yaml_list(base::split(value, ',')));
  } else if (key == "AllowAccounts" || key == "AllowQos") {
    return ignore_allowed(told, key, value), Status{};
  } else if (key == "OverSubscribe" || key == "Shared") {
    if (base::iequals(value, "EXCLUSIVE")) partition.set("exclusive", "true");
    if (base::to_lower(value).starts_with("force") || base::to_lower(value).starts_with("yes"))
      return told.ignore(key + "=" + value, "cores are never shared by jobs"), Status{};
  } else if (key == "GraceTime") {
    GW_TRY(seconds, base::parse_int(value, 0, 86'400, key));
    if (seconds > 0) partition.set("grace", std::to_string(seconds) + "s");
  } else if (key == "LLN") {
    if (Work::is_yes(value)) partition.set("fit", "worst");
  }
  told.take(key);
  return {};
}

}  // namespace

Status read_node(Work& w, const Line& line) {
  const std::string names = *line.find("NodeName");
  if (is_default(w, line, names, w.node_defaults)) return {};
  if (auto list = base::expand_hostlist(names); !list)
    return invalid(line.place() + ": NodeName: " + list.error().what);
  Keys node;
  node.set("name", yaml_text(names));
  Told told;
  const Settings settings = with_defaults(w.node_defaults, line.settings);
  GW_TRY_STATUS(each_setting(
      w, line, settings, node_keys(), told,
      [&](const std::string& key, const std::string& value) { return set_of_node(w, node, told, names, key, value); }));
  told.note(w, line, "NodeName=" + names);
  w.draft.nodes.push_back(std::move(node));
  return {};
}

Status read_node_set(Work& w, const Line& line) {
  std::vector<std::string>& set = w.sets[*line.find("NodeSet")];
  if (const std::string* nodes = line.find("Nodes"); nodes != nullptr) {
    auto list = base::expand_hostlist(*nodes);
    if (!list) return invalid(line.place() + ": Nodes: " + list.error().what);
    set = std::move(*list);
  } else if (const std::string* feature = line.find("Feature"); feature != nullptr) {
    set = w.by_feature[*feature];
  }
  w.note(line, Verdict::kTaken, "NodeSet=" + *line.find("NodeSet") + ": " + base::compress_hostlist(set));
  return {};
}

Status read_partition(Work& w, const Line& line) {
  const std::string name = *line.find("PartitionName");
  if (is_default(w, line, name, w.partition_defaults)) return {};
  Keys partition;
  partition.set("name", yaml_text(name));
  Told told;
  const Settings settings = with_defaults(w.partition_defaults, line.settings);
  GW_TRY_STATUS(
      each_setting(w, line, settings, partition_keys(), told, [&](const std::string& key, const std::string& value) {
        return set_of_partition(w, partition, told, key, value);
      }));
  told.note(w, line, "PartitionName=" + name);
  // Slurm's jobs that give no limit have the longest one.
  if (partition.has("max_time") && !partition.has("default_time"))
    partition.set("default_time", partition.get("max_time"));
  if (!partition.has("default_time")) partition.set("unlimited", "true");
  w.draft.partitions.push_back(std::move(partition));
  return {};
}

Status read_switch(Work& w, const Line& line) {
  const std::string* name = line.find("SwitchName") != nullptr ? line.find("SwitchName") : line.find("BlockName");
  Told told;
  Keys entry;
  if (name != nullptr) entry.set("switch", yaml_text(*name));
  GW_TRY_STATUS(
      each_setting(w, line, line.settings, switch_keys(), told, [&](const std::string& key, const std::string& value) {
        if (key == "Nodes") entry.set("nodes", yaml_text(value));
        if (key == "Switches") entry.set("switches", yaml_text(value));
        return Status{};
      }));
  told.note(w, line, name == nullptr ? "of the blocks" : "switch " + *name);
  if (name != nullptr) w.draft.network.push_back(std::move(entry));
  return {};
}

Status read_gres(Work& w, const Line& line) {
  Told told;
  GW_TRY_STATUS(each_setting(w, line, line.settings, gres_keys(), told,
                             [&](const std::string&, const std::string&) { return Status{}; }));
  const std::string* name = line.find("Name");
  std::vector<std::string> keys;
  for (const auto& [key, value] : line.settings) keys.push_back(key + "=" + base::printable(value, 60));
  w.note(line, Verdict::kIgnored,
         base::join(keys, " ") + (name != nullptr && *name != "gpu" ? " (how many there are slurm.conf says)"
                                                                    : " (nodes find their GPUs by themselves)"));
  return {};
}

void finish(Work& w) {
  if (!w.weights.all().empty()) {
    std::vector<std::string> pairs;
    for (const auto& [name, value] : w.weights.all()) pairs.push_back(name + ": " + value);
    w.draft.set("scheduler.order_weights", "{" + base::join(pairs, ", ") + "}");
    if (!w.draft.sections["scheduler"].has("order")) w.draft.set("scheduler.order", "multifactor");
  }
  if (!w.nodes_with_shards.empty())
    for (Keys& partition : w.draft.partitions) partition.set("allow_shared_gpus", "true");
}

}  // namespace gw::cmds::import
