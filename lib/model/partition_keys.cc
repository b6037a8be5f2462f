// The table of what a partition can say. See the header.
#include "model/partition_keys.h"

#include <algorithm>

#include "base/check.h"

namespace gw::model {
namespace {

template <auto... kMembers>
void copy(Partition& to, const Partition& from) {
  ((to.*kMembers = from.*kMembers), ...);
}

using P = Partition;

// What places a partition among the others (nodes, default, default_for, state, tier) has no default of the cluster.
constexpr PartitionKey kKeys[] = {
    {"nodes", copy<&P::nodes>, ""},
    {"default", copy<&P::is_default>, ""},
    {"default_for", copy<&P::default_for_compute, &P::default_for_aux>, ""},
    {"state", copy<&P::state>, ""},
    {"tier", copy<&P::tier>, ""},
    {"default_time", copy<&P::default_time>, "partition_defaults.default_time"},
    {"max_time", copy<&P::max_time>, "partition_defaults.max_time"},
    {"unlimited", copy<&P::unlimited>, "partition_defaults.unlimited"},
    {"max_nodes", copy<&P::max_nodes>, "partition_defaults.max_nodes"},
    {"default_mem_per_cpu", copy<&P::default_mem_per_cpu_mb>, "partition_defaults.default_mem_per_cpu"},
    {"default_mem_per_gpu", copy<&P::default_mem_per_gpu_mb>, "partition_defaults.default_mem_per_gpu"},
    {"default_cpus_per_gpu", copy<&P::default_cpus_per_gpu>, "partition_defaults.default_cpus_per_gpu"},
    {"fit", copy<&P::fit>, "scheduler.fit"},
    {"cores_per_gpu_kept", copy<&P::cores_per_gpu_kept>, "partition_defaults.cores_per_gpu_kept"},
    {"allow_shared_gpus", copy<&P::allow_shared_gpus>, "partition_defaults.allow_shared_gpus"},
    {"min_shared_rate", copy<&P::min_shared_rate>, "partition_defaults.min_shared_rate"},
    {"share_suspended_gpus", copy<&P::share_suspended_gpus>, "partition_defaults.share_suspended_gpus"},
    {"allow_users", copy<&P::allow_users>, "partition_defaults.allow_users"},
    {"allow_groups", copy<&P::allow_groups>, "partition_defaults.allow_groups"},
    {"consolidate", copy<&P::consolidate>, "scheduler.consolidate"},
    {"default_qos", copy<&P::default_qos>, "jobs.default_qos"},
    {"allow_qos", copy<&P::allow_qos>, "partition_defaults.allow_qos"},
    {"deny_users", copy<&P::deny_users>, "partition_defaults.deny_users"},
    {"exclusive", copy<&P::exclusive>, "partition_defaults.exclusive"},
    {"lease", copy<&P::lease>, "partition_defaults.lease"},
    {"grace", copy<&P::grace>, "jobs.kill_wait"},
    {"order", copy<&P::order>, "scheduler.order"},
    {"order_weights", copy<&P::order_weights>, "scheduler.order_weights"},
    {"filter", copy<&P::filter>, ""},
    {"filter_weights", copy<&P::filter_weights>, ""},
    {"quantum", copy<&P::quantum>, "scheduler.quantum"},
};

}  // namespace

std::span<const PartitionKey> partition_keys() { return kKeys; }

const PartitionKey* partition_key(std::string_view name) {
  const auto* found = std::find_if(std::begin(kKeys), std::end(kKeys), [&](const auto& k) { return k.name == name; });
  return found == std::end(kKeys) ? nullptr : found;
}

KeyNames keys_changed(const Partition& p) {
  KeyNames out;
  for (const PartitionKey& key : kKeys) {
    Partition one;
    key.copy(one, p);
    if (one != Partition{}) out.emplace(key.name);
  }
  return out;
}

Partition merged(const Partition& defaults, const Partition& own, const KeyNames& said) {
  Partition out;
  out.name = own.name;
  for (const PartitionKey& key : kKeys) key.copy(out, said.contains(key.name) ? own : defaults);
  const bool is_limited = out.default_time != base::kUnlimited && !said.contains("default_time");
  if (is_limited) out.default_time = std::min(out.default_time, out.max_time);
  return out;
}

std::string_view name(OriginKind kind) {
  switch (kind) {
    case OriginKind::kBuiltIn:
      return "built_in";
    case OriginKind::kCluster:
      return "cluster";
    case OriginKind::kFile:
      return "partition";
    case OriginKind::kCommand:
      return "command";
  }
  GW_CHECK(!"an origin outside its enum");
}

}  // namespace gw::model
