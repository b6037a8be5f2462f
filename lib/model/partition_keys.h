// What a partition can say, key by key, and what holds where it does not: the cluster's default, then the built-in one.
// Invariant: the keys are those of the configuration's partitions, by the same names, but for `name`.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>

#include "model/cluster.h"

namespace gw::model {

struct PartitionKey {
  std::string_view name;
  void (*copy)(Partition& to, const Partition& from);
  /// The configuration's key that holds where the partition says nothing; empty: there is none.
  std::string_view cluster_key;
};

std::span<const PartitionKey> partition_keys();
/// Null: there is no such key.
const PartitionKey* partition_key(std::string_view name);

/// Names of keys, as partition_keys() has them.
using KeyNames = std::set<std::string, std::less<>>;

/// The keys in which `p` is not as built in.
KeyNames keys_changed(const Partition& p);
/// `own` in the keys that it says; else `defaults`. A default time limit that came with `defaults` is cut to the
/// longest one.
Partition merged(const Partition& defaults, const Partition& own, const KeyNames& said);

/// Where the value of a key comes from.
enum class OriginKind : uint8_t {
  kBuiltIn,  ///< Nobody said anything.
  kCluster,  ///< The cluster's default, as the configuration has it.
  kFile,     ///< The partition's own entry in the configuration.
  kCommand,  ///< A command.
};
std::string_view name(OriginKind kind);

}  // namespace gw::model
