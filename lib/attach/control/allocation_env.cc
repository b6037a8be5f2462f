// The variables of an allocation.
#include "attach/control/allocation_env.h"

#include "base/hostlist.h"
#include "base/text.h"
#include "client/show/job_view.h"
#include "model/request.h"

namespace gw::attach {
namespace {

class Writer {
 public:
  void put(const std::string& name, const std::string& value) {
    out.emplace_back("SLURM_" + name, value);
    out.emplace_back("GANGWAY_" + name, value);
  }
  void put(const std::string& name, uint64_t value) { put(name, std::to_string(value)); }
  void put_some(const std::string& name, const std::string& value) {
    if (!value.empty()) put(name, value);
  }
  void put_some(const std::string& name, uint64_t value) {
    if (value > 0) put(name, value);
  }
  Variables out;
};

/// `suffix`: of a component.
void put_shares(Writer& w, const wire::Job& job, const std::string& suffix = {}) {
  std::vector<std::string> names;
  std::vector<uint32_t> tasks, cpus;
  uint64_t all = 0;
  for (const wire::NodeShare& share : client::shares_of(job)) {
    names.push_back(share.node());
    tasks.push_back(share.tasks());
    cpus.push_back(share.cpus());
    all += share.tasks();
  }
  w.put("JOB_NODELIST" + suffix, base::compress_hostlist(names));
  w.put("JOB_NUM_NODES" + suffix, names.size());
  w.put("NTASKS" + suffix, all);
  w.put("TASKS_PER_NODE" + suffix, base::compress_counts(tasks));
  w.put("JOB_CPUS_PER_NODE" + suffix, base::compress_counts(cpus));
  if (!suffix.empty()) return;
  w.put("NODELIST", base::compress_hostlist(names));
  w.put("NNODES", names.size());
  w.put("NPROCS", all);
}

void put_request(Writer& w, const wire::Request& r) {
  w.put_some("NTASKS_PER_NODE", r.tasks_per_node());
  w.put_some("NTASKS_PER_SOCKET", r.tasks_per_socket());
  if (r.cpus_per_task() > 1) w.put("CPUS_PER_TASK", r.cpus_per_task());
  w.put_some("MEM_PER_CPU", r.mem_per_cpu_mb());
  w.put_some("MEM_PER_NODE", r.mem_per_node_mb());
  w.put_some("CPUS_PER_GPU", r.cpus_per_gpu());
  w.put_some("MEM_PER_GPU", r.mem_per_gpu_mb());
  const auto counting = static_cast<model::GpuCounting>(r.gpu_counting());
  if (counting == model::GpuCounting::kPerJob) w.put_some("GPUS", r.gpus());
  if (counting == model::GpuCounting::kPerNode) w.put_some("GPUS_PER_NODE", r.gpus());
  if (counting == model::GpuCounting::kPerTask) w.put_some("GPUS_PER_TASK", r.gpus());
}

}  // namespace

Variables allocation_variables(const wire::Job& job, const std::string& cluster, const std::string& submit_dir) {
  Writer w;
  const wire::JobSpec& spec = job.spec();
  for (const char* name : {"JOB_ID", "JOBID"}) w.put(name, job.id());
  w.put("JOB_NAME", spec.name());
  w.put("JOB_PARTITION", client::partition_of(job));
  w.put("JOB_USER", spec.user());
  w.put("JOB_UID", spec.uid());
  w.put("JOB_GID", spec.gid());
  w.put_some("JOB_ACCOUNT", spec.account());
  w.put_some("JOB_QOS", spec.qos());
  w.put_some("CLUSTER_NAME", cluster);
  w.put("SUBMIT_DIR", submit_dir);
  w.put("SUBMIT_HOST", spec.submit_host());
  w.put("JOB_START_TIME", static_cast<uint64_t>(client::start_of(job).seconds()));
  if (const base::Time end = client::end_of(job)) w.put("JOB_END_TIME", static_cast<uint64_t>(end.seconds()));
  put_shares(w, job);
  put_request(w, spec.request());
  w.put_some("GPU_BIND", spec.gpu_bind());
  return std::move(w.out);
}

Variables component_variables(const std::vector<wire::Job>& components) {
  Writer w;
  w.put("HET_SIZE", components.size());
  for (size_t k = 0; k < components.size(); ++k) {
    const std::string suffix = "_HET_GROUP_" + std::to_string(k);
    w.put("JOB_ID" + suffix, components[k].id());
    w.put("JOB_PARTITION" + suffix, client::partition_of(components[k]));
    put_shares(w, components[k], suffix);
  }
  return std::move(w.out);
}

}  // namespace gw::attach
