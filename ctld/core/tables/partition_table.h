// The partitions: those in force, those that commands made or removed, and who gave a key its value by a command.
// Invariant: a partition that a command removed stays out even if the configuration has it.
#pragma once

#include <map>
#include <set>
#include <string>

#include "base/time.h"
#include "model/cluster.h"
#include "model/partition_keys.h"

namespace gw::ctld {

struct PartitionTable {
  /// By whom and when a command gave a partition the value of a key.
  struct Origin {
    std::string user;
    uint32_t uid = 0;
    base::Time at;
  };
  using KeyOrigins = std::map<std::string, Origin, std::less<>>;

  std::map<std::string, model::Partition> all;   ///< In force.
  std::map<std::string, model::Partition> made;  ///< By commands.
  std::set<std::string> gone;                    ///< By commands; the configuration may have them.
  std::map<std::string, KeyOrigins> origins;     ///< By partition.
};

}  // namespace gw::ctld
