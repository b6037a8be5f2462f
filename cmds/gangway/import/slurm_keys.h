// Every key of slurm.conf and cgroup.conf, and what becomes of it.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace gw::cmds::import {

/// How a value becomes one of Gangway.
enum class Form : uint8_t {
  kIgnored,  ///< Not at all; `what` says why.
  kText,     ///< As it is.
  kPath,     ///< An absolute path; others are ignored.
  kSeconds,  ///< "30" -> "30s"
  kYesNo,    ///< "1", "YES"
  kNumber,
  kMegabytes,  ///< "2048" -> "2048M"
  kByHand,     ///< slurm_import.cc does it.
};

struct SlurmKey {
  std::string_view name;
  Form form = Form::kIgnored;
  std::string_view what;  ///< The key of Gangway, "jobs.kill_wait"; of those that are ignored why they are.
};

/// Of slurm.conf, but for those of its lists (nodes, partitions, ...).
std::span<const SlurmKey> slurm_keys();
std::span<const SlurmKey> cgroup_keys();
/// Of lines of NodeName=, PartitionName= and gres.conf: those that are not ignored are done by hand.
std::span<const SlurmKey> node_keys();
std::span<const SlurmKey> partition_keys();
std::span<const SlurmKey> gres_keys();
std::span<const SlurmKey> switch_keys();
/// In any case; null: there is no such key.
const SlurmKey* find_key(std::span<const SlurmKey> keys, std::string_view name);

}  // namespace gw::cmds::import
