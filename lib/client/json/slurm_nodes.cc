// See slurm_nodes.h. What Gangway does not collect (energy, temperature) has Slurm's empty value.
#include "client/json/slurm_nodes.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "base/hostlist.h"
#include "base/text.h"
#include "client/conn/program.h"
#include "client/json/slurm_parts.h"
#include "client/show/job_view.h"
#include "client/show/node_view.h"
#include "model/cluster.h"

namespace gw::client::slurm {
namespace {

/// "MIXED+DRAIN" is a list of both.
Json states(const wire::Node& n) {
  Json list = Json::array();
  for (const std::string& word : base::split(node_state_flags(n), '+')) list.push_back(word);
  return list;
}

std::string tres(uint64_t cpus, uint64_t mem_mb, uint64_t gpus) {
  std::string out = "cpu=" + std::to_string(cpus) + ",mem=" + tres_memory(mem_mb) + ",billing=" + std::to_string(cpus);
  return gpus == 0 ? out : out + ",gres/gpu=" + std::to_string(gpus);
}

Json energy() {
  return {{"average_watts", 0},       {"base_consumed_energy", 0},     {"consumed_energy", 0},
          {"current_watts", unset()}, {"previous_consumed_energy", 0}, {"last_collected", 0}};
}

void add_machine(Json& j, const wire::Node& n) {
  const uint32_t per_socket = n.sockets() == 0 ? n.cores() : n.cores() / n.sockets();
  j["architecture"] = n.host().arch();
  j["burstbuffer_network_address"] = "";
  j["boards"] = 1;
  j["boot_time"] = moment({n.host().booted_us()});
  j["cores"] = per_socket;
  j["specialized_cores"] = 0;
  j["cpu_binding"] = 0;
  j["cpu_load"] = n.load_centi();
  j["specialized_cpus"] = "";
  j["energy"] = energy();
  j["external_sensors"] = Json::object();
  j["power"] = {{"maximum_watts", unset()}, {"current_watts", 0}, {"total_energy", 0}};
  j["features"] = strings(n.features());
  j["active_features"] = strings(n.features());
  j["operating_system"] = n.host().os();
  j["sockets"] = n.sockets();
  j["threads"] = n.threads_per_core();
  j["temporary_disk"] = n.tmp_mb();
  j["weight"] = n.weight();
  j["version"] = n.version().empty() ? std::string_view() : kSlurmVersion;
}

void add_use(Json& j, const wire::Node& n) {
  const CpuCounts cpus = cpu_counts(n);
  const uint64_t memory = n.schedulable_mem_mb() != 0 ? n.schedulable_mem_mb() : n.total_mem_mb();
  j["cpus"] = std::max(n.total_cpus(), cpus.total);
  j["effective_cpus"] = cpus.total;
  j["free_mem"] = n.has_free_mem_mb() ? number(static_cast<int64_t>(n.free_mem_mb())) : unset();
  j["gres"] = n.gres();
  j["gres_drained"] = "N/A";
  j["gres_used"] = gres_used(n);
  j["specialized_memory"] = 0;
  j["real_memory"] = memory;
  j["alloc_memory"] = n.alloc_mem_mb();
  j["alloc_cpus"] = cpus.allocated;
  j["alloc_idle_cpus"] = cpus.idle;
  j["tres"] = tres(cpus.total, memory, n.total_gpus());
  j["tres_used"] = n.alloc_cpus() == 0 ? "" : tres(n.alloc_cpus(), n.alloc_mem_mb(), gpu_counts(n).used);
  j["tres_weighted"] = static_cast<double>(n.alloc_cpus());
}

void add_condition(Json& j, const wire::Node& n, const std::string& cluster) {
  j["cluster_name"] = cluster;
  j["comment"] = "";
  j["extra"] = "";
  j["last_busy"] = moment({n.last_busy_us()});
  j["mcs_label"] = "";
  j["name"] = n.name();
  j["next_state_after_reboot"] = Json::array();
  j["address"] = n.peer_address().empty() ? n.name() : n.peer_address();
  j["hostname"] = n.name();
  j["state"] = states(n);
  j["owner"] = "";
  j["partitions"] = strings(n.partitions());
  j["port"] = 0;
  j["reason"] = n.reason();
  j["reason_changed_at"] = moment({n.reason_time_us()});
  j["reason_set_by_user"] = n.reason_user();
  j["resume_after"] = moment({});
  j["reservation"] = "";
  j["slurmd_start_time"] = moment({n.host().started_us()});
}

Json limit(int64_t us) { return us <= 0 ? infinite() : minutes(base::Duration{us}); }

Json maximums(const wire::Partition& p) {
  return {{"cpus_per_node", infinite()},
          {"cpus_per_socket", infinite()},
          {"memory_per_cpu", 0},
          {"partition_memory_per_cpu", unset()},
          {"partition_memory_per_node", unset()},
          {"nodes", p.max_nodes() == 0 ? infinite() : number(p.max_nodes())},
          {"shares", 1},
          {"oversubscribe", {{"jobs", 1}, {"flags", Json::array()}}},
          {"time", limit(p.max_time_us())},
          {"over_time_limit", unset()}};
}

std::string partition_state(const wire::Partition& p) {
  if (p.state() > static_cast<uint32_t>(model::PartitionState::kInactive)) return "UNKNOWN";
  return std::string(model::name(static_cast<model::PartitionState>(p.state())));
}

Json partition(const wire::Partition& p, const std::string& cluster) {
  std::vector<std::string> names(p.nodes().begin(), p.nodes().end());
  Json j;
  j["nodes"] = {{"allowed_allocation", ""}, {"configured", base::compress_hostlist(names)}, {"total", p.total_nodes()}};
  j["accounts"] = {{"allowed", joined(p.allow_qos())}, {"deny", ""}};
  j["groups"] = {{"allowed", joined(p.allow_groups())}};
  j["qos"] = {{"allowed", joined(p.allow_qos())}, {"deny", ""}, {"assigned", p.default_qos()}};
  j["alternate"] = "";
  std::string configured = "cpu=" + std::to_string(p.total_cpus()) + ",node=" + std::to_string(p.total_nodes());
  if (p.total_gpus() > 0) configured += ",gres/gpu=" + std::to_string(p.total_gpus());
  j["tres"] = {{"billing_weights", ""}, {"configured", configured}};
  j["cluster"] = cluster;
  j["select_type"] = Json::array();
  j["cpus"] = {{"task_binding", 0}, {"total", p.total_cpus()}};
  j["defaults"] = {{"memory_per_cpu", p.default_mem_per_cpu_mb()},
                   {"partition_memory_per_cpu", number_or_unset(static_cast<int64_t>(p.default_mem_per_cpu_mb()))},
                   {"partition_memory_per_node", unset()},
                   {"time", limit(p.default_time_us())},
                   {"job", ""}};
  j["grace_time"] = p.grace_us() / 1'000'000;
  j["maximums"] = maximums(p);
  j["minimums"] = {{"nodes", 1}};
  j["name"] = p.name();
  j["node_sets"] = "";
  j["priority"] = {{"job_factor", 1}, {"tier", p.tier()}};
  j["timeouts"] = {{"resume", unset()}, {"suspend", unset()}};
  j["partition"] = {{"state", Json::array({partition_state(p)})}};
  j["suspend_time"] = infinite();
  return j;
}

// ---- What sinfo adds up

/// The smallest and the largest of the nodes' values.
template <typename Value>
Json range(const InfoRow& row, Value value) {
  uint64_t least = UINT64_MAX, most = 0;
  for (const wire::Node* n : row.nodes) {
    least = std::min<uint64_t>(least, value(*n));
    most = std::max<uint64_t>(most, value(*n));
  }
  return {{"minimum", row.nodes.empty() ? 0 : least}, {"maximum", most}};
}

uint64_t memory_of(const wire::Node& n) {
  return n.schedulable_mem_mb() != 0 ? n.schedulable_mem_mb() : n.total_mem_mb();
}

void add_counts(Json& j, const InfoRow& row) {
  uint32_t by_use[3] = {};
  CpuCounts cpus;
  uint64_t allocated = 0;
  std::vector<std::string> names, addresses;
  for (const wire::Node* n : row.nodes) {
    ++by_use[static_cast<size_t>(node_use(*n))];
    cpus += cpu_counts(*n);
    allocated += n->alloc_mem_mb();
    names.push_back(n->name());
    addresses.push_back(n->peer_address().empty() ? n->name() : n->peer_address());
  }
  j["nodes"] = {{"allocated", by_use[0]}, {"idle", by_use[1]},      {"other", by_use[2]}, {"total", names.size()},
                {"hostnames", names},     {"addresses", addresses}, {"nodes", names}};
  j["cpus"] = range(row, [](const wire::Node& n) { return cpu_counts(n).total; });
  InfoRow told;  // those that said it
  std::ranges::copy_if(row.nodes, std::back_inserter(told.nodes),
                       [](const wire::Node* n) { return n->has_free_mem_mb(); });
  j["cpus"]["load"] = range(told, [](const wire::Node& n) { return n.load_centi(); });
  j["cpus"]["per_node"] = {{"max", infinite()}};
  j["cpus"]["allocated"] = cpus.allocated;
  j["cpus"]["idle"] = cpus.idle;
  j["cpus"]["other"] = cpus.other;
  j["cpus"]["total"] = cpus.total;
  j["memory"] = range(row, memory_of);
  const Json least_and_most = range(told, [](const wire::Node& n) { return n.free_mem_mb(); });
  const auto free = [&](const char* which) {
    return !told.nodes.empty() ? number(least_and_most[which].get<int64_t>()) : unset();
  };
  j["memory"]["free"] = {{"minimum", free("minimum")}, {"maximum", free("maximum")}};
  j["memory"]["allocated"] = allocated;
}

Json summary_of(const InfoRow& row, const Json& of_partition, const std::string& cluster) {
  const wire::Node none, &first = row.nodes.empty() ? none : *row.nodes.front();
  Json j;
  j["port"] = 0;
  j["node"] = {{"state", row.nodes.empty() ? Json::array() : states(first)}};
  add_counts(j, row);
  j["sockets"] = range(row, [](const wire::Node& n) { return n.sockets(); });
  j["cores"] = range(row, [](const wire::Node& n) { return n.sockets() == 0 ? n.cores() : n.cores() / n.sockets(); });
  j["threads"] = range(row, [](const wire::Node& n) { return n.threads_per_core(); });
  j["disk"] = range(row, [](const wire::Node& n) { return n.tmp_mb(); });
  j["weight"] = range(row, [](const wire::Node& n) { return n.weight(); });
  j["features"] = {{"total", joined(first.features())}, {"active", joined(first.features())}};
  j["gres"] = {{"total", first.gres()}, {"used", row.nodes.empty() ? "" : gres_used(first)}};
  j["cluster"] = cluster;
  j["comment"] = "";
  j["extra"] = "";
  j["reason"] = {{"description", first.reason()},
                 {"time", base::Time{first.reason_time_us()}.seconds()},
                 {"user", first.reason_user()}};
  j["reservation"] = "";
  j["partition"] = of_partition;
  return j;
}

}  // namespace

std::string nodes(const wire::ListNodesReply& list, const Asked& asked) {
  Json all = Json::array();
  for (const wire::Node& n : list.nodes()) {
    Json j;
    add_machine(j, n);
    add_use(j, n);
    add_condition(j, n, asked.cluster);
    all.push_back(std::move(j));
  }
  Json body;
  body["nodes"] = std::move(all);
  body["last_update"] = moment({list.now_us()});
  return answer(std::move(body), asked);
}

std::string partitions(const wire::ListPartitionsReply& list, const Asked& asked) {
  Json all = Json::array();
  for (const wire::Partition& p : list.partitions()) all.push_back(partition(p, asked.cluster));
  Json body;
  body["partitions"] = std::move(all);
  body["last_update"] = moment({list.now_us()});
  return answer(std::move(body), asked);
}

std::string summary(const std::vector<InfoRow>& rows, const Asked& asked) {
  Json all = Json::array();
  std::map<const wire::Partition*, Json> partitions;  // each once, however many of its nodes have a row
  partitions[nullptr] = Json::object();
  for (const InfoRow& row : rows) {
    auto known = partitions.find(row.partition);
    if (known == partitions.end())
      known = partitions.emplace(row.partition, partition(*row.partition, asked.cluster)).first;
    all.push_back(summary_of(row, known->second, asked.cluster));
  }
  Json body;
  body["sinfo"] = std::move(all);
  return answer(std::move(body), asked);
}

}  // namespace gw::client::slurm
