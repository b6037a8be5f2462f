// From the tree to the parts of a Config. Each function tells its mistakes to `problems` and continues.
// Invariant: after all of them without an error, the Config keeps the promises of config.h.
#pragma once

#include "config/keys.h"

namespace gw::config {

/// The keys of all sections and the top-level keys other than nodes, network, partitions and qos; those are left to the
/// functions below. With `is_whole` unknown top-level keys are mistakes.
void read_sections(const Value& root, Config& c, Problems& problems, bool is_whole);
void read_nodes(const Value& root, Config& c, Problems& problems);
/// network:, the switches above these nodes. Gives the lines as written, and the tree made of them.
void read_network(const Value& root, const std::vector<std::string>& node_names,
                  std::vector<model::SwitchConfig>& lines, model::Network& network, Problems& problems);
void read_qos(const Value& root, Config& c, Problems& problems);
/// After nodes and qos: resolves names, and makes the partition `default` where the file has none.
void read_partitions(const Value& root, Config& c, Problems& problems);

/// Sets controller_uid from controller_user.
void resolve_controller_user(const Value& root, Config& c, Problems& problems);
/// Warns of admins that this host does not know.
void check_admins(const Value& root, const Config& c, Problems& problems);

/// The value of a dotted key, or the nearest value above it that exists: where to point at.
const Value& place_of(const Value& root, std::string_view dotted);
/// What a configuration names of plug-ins, and where.
struct NamedPlugin {
  const Value& name_at;
  const std::string& name;
  const Value& weights_at;
  const std::map<std::string, double>& weights;
};
/// Is that an order, with such weights? `has_others`: there are folders of plug-ins, in which more may lie.
void check_order(const NamedPlugin& named, bool has_others, Problems& problems);
/// Likewise a share policy.
void check_share_policy(const NamedPlugin& named, bool has_others, Problems& problems);
void check_filter(const NamedPlugin& named, bool has_others, Problems& problems);
/// What `time_slice` is short for, among the keys of a partition.
constexpr std::string_view kSaidByTimeSlice[] = {"order", "order_weights", "quantum", "share_suspended_gpus"};
/// Carries that out. Mistakes: one of them is said, too.
void take_turns(PartitionEntry& entry, const Value& item, Problems& problems);
/// The items of a list of maps under a top-level key; anything else is told to `problems`.
std::span<const Value> list_items(const Value& root, std::string_view key, Problems& problems);

/// Tells of keys that are no plain text or stand twice. Returns whether `name` is to be read.
class MapKeys {
 public:
  bool is_new(const Value& name, Problems& problems);

 private:
  std::vector<std::pair<std::string_view, uint32_t>> seen_;
};
/// "unknown key" with `hint`, or else with what may be meant of `known`, or with all of them.
void tell_unknown(const Value& name, std::span<const std::string> known, Problems& problems, std::string hint = {});
/// The same for the configuration: the hint may name the section where such a key belongs.
void tell_unknown_key(const Value& name, std::span<const std::string> known, Problems& problems);

/// Reads a map whose keys are those of the table that begin with `prefix`.
template <typename T>
void read_map(std::span<const Key<T>> keys, std::string_view prefix, const Value& map, T& out, Problems& problems) {
  MapKeys seen;
  for (size_t i = 0; i + 1 < map.items.size(); i += 2) {
    const Value& name = map.items[i];
    if (!seen.is_new(name, problems)) continue;
    std::string full = std::string(prefix) + name.text;
    if (std::is_same_v<T, NodeEntry> && full == "names") full = "name";
    const Key<T>* found = nullptr;
    std::vector<std::string> known;
    for (const Key<T>& key : keys) {
      if (!key.info.name.starts_with(prefix)) continue;
      known.emplace_back(key.info.name.substr(prefix.size()));
      if (key.info.name == full) found = &key;
    }
    if (found != nullptr)
      read_value(found->info, found->at(out), map.items[i + 1], problems);
    else
      tell_unknown_key(name, known, problems);
  }
}

}  // namespace gw::config
