// The one table of configuration keys: it drives reading, "did you mean", dump(), entries(), diff() and docs/config.md.
// Invariant: a key that is not in the table does not exist; every key has a type, a documentation line and a default
// (the value of a fresh T).
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "config/config.h"
#include "config/problems.h"
#include "config/yaml_tree.h"

namespace gw::config {

enum class Kind {
  kText,       ///< Any text of one line.
  kName,       ///< Letters, digits, `-`, `_` and `.`; begins with a letter or digit.
  kPath,       ///< Absolute path; may be empty where the default is.
  kTopology,   ///< Name of a generated topology or an absolute path.
  kChoice,     ///< One of KeyInfo::choices.
  kBool,       ///< true or false.
  kNumber,     ///< Whole number between min and max.
  kDecimal,    ///< Number between min and max, with or without decimals.
  kBytes,      ///< Bytes between min and max: a number with or without K, M, G.
  kMemory,     ///< MiB between min and max: a number with K, M (also without), G, T.
  kDuration,   ///< Between min and max seconds; its unit is written.
  kLimit,      ///< The same, where Slurm's bare minutes and UNLIMITED are customary.
  kTexts,      ///< List, or text with commas.
  kNames,      ///< The same of names.
  kHosts,      ///< Host list, or list of them; expanded.
  kAddresses,  ///< Address, host list of addresses (127.0.1.[1-4]), or list of addresses; expanded.
  kWeights,    ///< Map of names to numbers between min and max.
  kAmounts,    ///< Map of resources to amounts: {gpu: 16, mem: 512G}.
  kBudget,     ///< GPU-hours in a period: 5000gpuh/month; may be empty.
};

/// What a change of a key takes to come into force.
enum class Reload {
  kLive,        ///< gcontrol reconfigure.
  kSeed,        ///< Read at the first start of gctld only; since then commands change it.
  kController,  ///< Restart of gctld.
  kNode,        ///< Restart of gnoded.
  kWeb,         ///< Restart of gwebd.
};

/// Where a key's value is kept.
using Ref = std::variant<std::string*, bool*, uint16_t*, uint32_t*, uint64_t*, int32_t*, int64_t*, double*,
                         base::Duration*, std::optional<base::Duration>*, model::Fit*, model::Reclaim*,
                         model::Consolidate*, std::vector<std::string>*, std::map<std::string, double>*,
                         model::Amounts*, std::optional<model::GpuBudget>*>;

/// The key that names an entry of a list.
inline bool is_name_key(std::string_view key) { return key == "name" || key == "switch"; }

/// What is known of a key apart from where its value is kept.
struct KeyInfo {
  std::string_view name;  ///< Keys of sections are written with a dot: "controller.port".
  Kind kind;
  Reload reload;
  std::string_view doc;
  int64_t min = 0, max = 0;
  std::string_view choices = {};  ///< "auto|none"
};

template <typename T>
struct Key {
  KeyInfo info;
  Ref (*at)(T&);
};

/// An entry of `nodes:`, which may stand for many nodes.
struct NodeEntry {
  std::vector<std::string> names;
  std::vector<std::string> addresses;
  model::NodeConfig common;
  std::vector<std::string> gres;
};

/// An entry of `partitions:` with its texts still texts.
struct PartitionEntry {
  model::Partition p;
  std::string state = "up";
  std::vector<std::string> default_for;
  std::optional<base::Duration> time_slice;  ///< Short for an order, its quantum, and GPUs that are shared by turns.
};
PartitionEntry entry_of(const model::Partition& p);
/// An entry of `qos:`: what is kept with the QOS, and what holds as long as the file says so.
struct QosEntry {
  model::Qos q;
  std::string order;
  std::map<std::string, double> order_weights;
};
/// Keys of partition_keys() that stand in the map `partition_defaults`, too.
bool is_partition_default(std::string_view name);

std::span<const Key<Config>> config_keys();
std::span<const Key<NodeEntry>> node_keys();
std::span<const Key<model::SwitchConfig>> switch_keys();
std::span<const Key<PartitionEntry>> partition_keys();
/// Of what is kept with it; and all, as the file has them.
std::span<const Key<model::Qos>> qos_keys();
std::span<const Key<QosEntry>> qos_entry_keys();

/// Reads a value into its place; mistakes are told to `problems`, and the place is left as it was.
void read_value(const KeyInfo& key, Ref to, const Value& value, Problems& problems);
/// The value as text, lists with commas: for entries() and diff().
std::string show_value(const KeyInfo& key, Ref from);
/// The value as YAML that read_value() takes.
std::string yaml_value(const KeyInfo& key, Ref from);
/// "number, 1 to 65535": for the reference.
std::string kind_text(const KeyInfo& key);

// Nothing is written through the place: one table serves reading and showing.
template <typename T>
std::string show(const Key<T>& key, const T& object) {
  return show_value(key.info, key.at(const_cast<T&>(object)));
}
template <typename T>
std::string yaml(const Key<T>& key, const T& object) {
  return yaml_value(key.info, key.at(const_cast<T&>(object)));
}

}  // namespace gw::config
