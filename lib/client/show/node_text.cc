// scontrol show node and show partition.
#include <algorithm>

#include "base/hostlist.h"
#include "base/text.h"
#include "client/conn/program.h"
#include "client/show/job_text.h"
#include "client/show/node_view.h"
#include "client/show/record.h"
#include "model/cluster.h"

namespace gw::client {
namespace {

std::string joined(const google::protobuf::RepeatedPtrField<std::string>& names, std::string_view empty) {
  std::vector<std::string> list(names.begin(), names.end());
  return or_else(base::join(list, ","), empty);
}

std::string limit(int64_t us) {
  return us <= 0 || us == base::kUnlimited.us ? "UNLIMITED" : base::format_duration({us});
}

void add_processors(Record& r, const wire::Node& n) {
  const CpuCounts cpus = cpu_counts(n);
  const uint32_t per_socket = n.sockets() == 0 ? n.cores() : n.cores() / n.sockets();
  r.line().put("NodeName", n.name());
  if (!n.host().arch().empty()) r.put("Arch", base::printable(n.host().arch(), 100));
  r.put("CoresPerSocket", per_socket);
  r.line()
      .put("CPUAlloc", cpus.allocated)
      .put("CPUEfctv", cpus.total)
      .put("CPUTot", std::max(n.total_cpus(), cpus.total))
      .put("CPULoad", n.has_load_centi() ? load_text(n.load_centi()) : "N/A");
  r.line().put("AvailableFeatures", joined(n.features(), "(null)"));
  r.line().put("ActiveFeatures", joined(n.features(), "(null)"));
  r.line().put("Gres", or_else(n.gres(), "(null)"));
}

void add_gpus(Record& r, const wire::Node& n) {
  if (!n.gres().empty()) r.line().put("GresUsed", gres_used(n));
  if (n.total_gpus() == 0) return;
  const GpuCounts g = gpu_counts(n);
  r.line().put("GPUsFree", g.free).put("GPUsInUse", g.used).put("GPUsOffline", g.offline);
  for (const auto& [index, reason] : n.offline_gpus())
    r.line().put("OfflineGpu", index).put("OfflineReason", base::printable(reason, 1000));
}

std::string tres(uint32_t cpus, uint64_t mem_mb, uint32_t gpus) {
  std::string out;
  if (cpus != 0) out = "cpu=" + std::to_string(cpus);
  if (mem_mb != 0) out += (out.empty() ? "mem=" : ",mem=") + tres_memory(mem_mb);
  if (cpus != 0) out += ",billing=" + std::to_string(cpus);
  if (gpus != 0) out += (out.empty() ? "gres/gpu=" : ",gres/gpu=") + std::to_string(gpus);
  return out;
}

void add_condition(Record& r, const wire::Node& n) {
  r.line()
      .put("State", node_state_flags(n))
      .put("ThreadsPerCore", n.threads_per_core())
      .put("TmpDisk", n.tmp_mb())
      .put("Weight", n.weight())
      .put("Owner", "N/A")
      .put("MCS_label", "N/A");
  r.line().put("Partitions", joined(n.partitions(), ""));
  r.line()
      .put("BootTime", show_time({n.host().booted_us()}, "None"))
      .put("SlurmdStartTime", show_time({n.host().started_us()}, "None"));
  r.line().put("LastBusyTime", show_time({n.last_busy_us()}, "Unknown")).put("ResumeAfterTime", "None");
  r.line().put("LastSeen", show_time({n.last_seen_us()}, "Never")).put("Containment", or_else(n.containment(), "N/A"));
  r.line().put("CfgTRES", tres(cpu_counts(n).total, n.schedulable_mem_mb(), n.total_gpus()));
  r.line().put("AllocTRES", tres(n.alloc_cpus(), n.alloc_mem_mb(), gpu_counts(n).used));
  if (!n.warning().empty()) r.line().put("Warning", base::printable(n.warning(), 1000));
  if (n.foreign_runs_size() > 0) r.line().put("ForeignRuns", joined(n.foreign_runs(), ""));
  if (!n.reason().empty())
    r.line().put("Reason", base::printable(n.reason(), 1000) + " [" + or_else(n.reason_user(), "unknown") + "@" +
                               show_time({n.reason_time_us()}, "Unknown") + "]");
}

}  // namespace

std::string show_node_text(const wire::Node& n, base::Time, ShowStyle style) {
  std::string out;
  Record r(out, style.one_line);
  add_processors(r, n);
  add_gpus(r, n);
  r.line()
      .put("NodeAddr", or_else(n.peer_address(), n.name()))
      .put("NodeHostName", n.name())
      .put("Version",
           style.is_slurm && !n.version().empty() ? std::string(kSlurmVersion) : or_else(n.version(), "N/A"));
  if (!n.host().os().empty()) r.line().put("OS", base::printable(n.host().os(), 300));
  const uint64_t memory = n.schedulable_mem_mb() != 0 ? n.schedulable_mem_mb() : n.total_mem_mb();
  r.line()
      .put("RealMemory", memory)
      .put("AllocMem", n.alloc_mem_mb())
      .put("FreeMem", n.has_free_mem_mb() ? std::to_string(n.free_mem_mb()) : "N/A")
      .put("Sockets", n.sockets())
      .put("Boards", 1);
  add_condition(r, n);
  r.end();
  return out;
}

std::string show_partition_text(const wire::Partition& p, ShowStyle style) {
  std::string out;
  Record r(out, style.one_line);
  r.line().put("PartitionName", p.name());
  r.line()
      .put("AllowGroups", joined(p.allow_groups(), "ALL"))
      .put("AllowAccounts", joined(p.allow_qos(), "ALL"))
      .put("AllowQos", joined(p.allow_qos(), "ALL"));
  r.line().put("AllowUsers", joined(p.allow_users(), "ALL")).put("DenyUsers", joined(p.deny_users(), "(none)"));
  r.line()
      .put("AllocNodes", "ALL")
      .put("Default", p.is_default() ? "YES" : "NO")
      .put("QoS", or_else(p.default_qos(), "N/A"));
  r.line()
      .put("DefaultForCompute", p.default_for_compute() ? "YES" : "NO")
      .put("DefaultForAux", p.default_for_aux() ? "YES" : "NO");
  r.line()
      .put("DefaultTime", limit(p.default_time_us()))
      .put("DisableRootJobs", "NO")
      .put("ExclusiveUser", "NO")
      .put("GraceTime", p.grace_us() / 1'000'000)
      .put("Hidden", "NO");
  r.line()
      .put("MaxNodes", p.max_nodes() == 0 ? "UNLIMITED" : std::to_string(p.max_nodes()))
      .put("MaxTime", limit(p.max_time_us()))
      .put("MinNodes", 1)
      .put("LLN", "NO")
      .put("MaxCPUsPerNode", "UNLIMITED");
  std::vector<std::string> names(p.nodes().begin(), p.nodes().end());
  r.line().put("Nodes", or_else(base::compress_hostlist(names), "(null)"));
  r.line()
      .put("PriorityJobFactor", 1)
      .put("PriorityTier", p.tier())
      .put("RootOnly", "NO")
      .put("ReqResv", "NO")
      .put("OverSubscribe", p.exclusive() ? "EXCLUSIVE" : "NO");
  const bool known = p.state() <= static_cast<uint32_t>(model::PartitionState::kInactive);
  r.line()
      .put("State", known ? model::name(static_cast<model::PartitionState>(p.state())) : "UNKNOWN")
      .put("TotalCPUs", p.total_cpus())
      .put("TotalNodes", p.total_nodes())
      .put("TotalGPUs", p.total_gpus())
      .put("SelectTypeParameters", "NONE");
  r.line()
      .put("DefMemPerCPU", p.default_mem_per_cpu_mb() == 0 ? "UNLIMITED" : std::to_string(p.default_mem_per_cpu_mb()))
      .put("MaxMemPerNode", "UNLIMITED");
  if (p.default_mem_per_gpu_mb() != 0) r.line().put("DefMemPerGPU", p.default_mem_per_gpu_mb());
  const uint32_t fit = std::min(p.fit(), static_cast<uint32_t>(model::Fit::kSpread));
  r.line()
      .put("Fit", model::name(static_cast<model::Fit>(fit)))
      .put("CoresPerGpuKept", p.has_cores_per_gpu_kept() ? p.cores_per_gpu_kept() : 1)
      .put("SharedGpus", p.allow_shared_gpus() ? "YES" : "NO")
      .put("Consolidate", model::name(static_cast<model::Consolidate>(
                              std::min(p.consolidate(), static_cast<uint32_t>(model::Consolidate::kDryRun)))));
  if (!p.order().empty() || p.has_quantum_us())
    r.line()
        .put("Order", or_else(p.order(), "default"))
        .put("Quantum", p.has_quantum_us() ? base::format_duration({p.quantum_us()}) : "default");
  if (!p.filter().empty()) r.line().put("Filter", p.filter());
  if (p.lease_us() != 0) r.line().put("Lease", base::format_duration({p.lease_us()}));
  r.end();
  return out;
}

}  // namespace gw::client
