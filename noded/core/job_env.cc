// The environment of a batch script: the implementation.
// Invariants: see job_env.h.
#include "noded/core/job_env.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "base/bitset.h"
#include "model/job.h"
#include "model/job_variables.h"
#include "model/request.h"
#include "noded/core/command_path.h"
#include "noded/core/env_map.h"
#include "noded/core/queue_env.h"

namespace gw::noded {

namespace {

constexpr size_t kMostOfAVariable = 100'000;  // the kernel takes 128 KiB with the name

Env parse_environment(std::string_view bytes) {
  Env env;
  while (!bytes.empty()) {
    const std::string_view entry = bytes.substr(0, bytes.find('\0'));
    bytes.remove_prefix(std::min(bytes.size(), entry.size() + 1));
    const size_t equals = entry.find('=', 1);
    if (equals == std::string_view::npos || entry.front() == '=') continue;
    env[std::string(entry.substr(0, equals))] = std::string(entry.substr(equals + 1));
  }
  return env;
}

void drop_enclosing_job(Env& env) {
  Env kept;
  for (const auto& [name, value] : env) {
    if (!model::is_job_variable(name)) kept.emplace(name, value);
    if (!model::is_input_of_steps(name)) continue;
    const auto own = env.find("GANGWAY_" + name.substr(name.find('_') + 1));
    if (own == env.end() || own->second != value) kept.emplace(name, value);
  }
  env = std::move(kept);
}

void put_identity(Env& env, const NodeFacts& node, const wire::Prepare& p, const UserInfo& user) {
  const wire::JobSpec& spec = p.spec();
  for (const char* name : {"JOB_ID", "JOBID"}) put(env, name, p.job());
  put(env, "JOB_NAME", spec.name());
  put(env, "JOB_PARTITION", p.partition());
  if (!spec.account().empty()) put(env, "JOB_ACCOUNT", spec.account());
  if (!spec.qos().empty()) put(env, "JOB_QOS", spec.qos());
  if (!spec.reservation().empty()) put(env, "JOB_RESERVATION", spec.reservation());
  if (!spec.licenses().empty()) put(env, "JOB_LICENSES", spec.licenses());
  put(env, "JOB_USER", user.name);
  put(env, "JOB_UID", spec.uid());
  put(env, "JOB_GID", spec.gid());
  put(env, "CLUSTER_NAME", p.cluster());
  put(env, "SUBMIT_DIR", spec.launch().work_dir());
  put(env, "SUBMIT_HOST", spec.submit_host());
  if (p.restarts() > 0) put(env, "RESTART_COUNT", p.restarts());
  for (const char* name : {"PROCID", "LOCALID", "NODEID", "GTIDS"}) put(env, name, 0);
  put(env, "TOPOLOGY_ADDR", node.name);
  put(env, "TOPOLOGY_ADDR_PATTERN", "node");
  env["SLURMD_NODENAME"] = node.name;
  env["GANGWAY_NODENAME"] = node.name;
}

void put_array(Env& env, const wire::JobSpec& spec) {
  if (!spec.array().has_task()) return;
  const wire::ArrayPlace& place = spec.array();
  put(env, "ARRAY_JOB_ID", place.job());
  put(env, "ARRAY_TASK_ID", place.task());
  put(env, "ARRAY_TASK_COUNT", place.count());
  put(env, "ARRAY_TASK_MIN", place.least());
  put(env, "ARRAY_TASK_MAX", place.most());
  put(env, "ARRAY_TASK_STEP", place.step());
}

/// What Slurm has no variables for. How often the job was preempted already the controller says in the environment.
void put_preemption(Env& env, const NodeFacts& node, const wire::Prepare& p) {
  const uint32_t what = p.spec().on_preempt();
  const bool is_known = what < model::kOnPreempt.size();
  env["GANGWAY_ON_PREEMPT"] = model::name(is_known ? static_cast<model::OnPreempt>(what) : model::OnPreempt::kRequeue);
  env["GANGWAY_PREEMPT_FILE"] = node.steps_dir + "/" + RunKey{p.job(), p.attempt()}.text() + "/" + kPreemptFile;
}

void put_elastic(Env& env, const NodeFacts& node, const wire::Prepare& p) {
  if (!p.spec().request().elastic()) return;
  env["GANGWAY_HOSTLIST_FILE"] = node.steps_dir + "/" + RunKey{p.job(), p.attempt()}.text() + "/" + kHostsFile;
}

void put_times(Env& env, const wire::Prepare& p, base::Time now) {
  constexpr int64_t kYear = int64_t{365} * 24 * 3600;
  const int64_t start = p.started_us() > 0 ? base::Time{p.started_us()}.seconds() : now.seconds();
  const base::Duration limit{p.time_limit_us()};
  const bool has_limit = limit.us > 0 && limit != base::kUnlimited;
  put(env, "JOB_START_TIME", static_cast<uint64_t>(start));
  put(env, "JOB_END_TIME", static_cast<uint64_t>(start + (has_limit ? limit.seconds() : kYear)));
}

/// What is told of the job and, with a suffix, of each component of a heterogeneous one.
void put_gang(Env& env, const wire::Gang& gang, const std::string& suffix) {
  put(env, "JOB_NODELIST" + suffix, gang.nodes());
  put(env, "JOB_NUM_NODES" + suffix, gang.node_count());
  put(env, "NTASKS" + suffix, gang.all_tasks());
  put(env, "TASKS_PER_NODE" + suffix, gang.tasks());
  put(env, "JOB_CPUS_PER_NODE" + suffix, gang.cpus());
}

void put_gang(Env& env, const wire::Prepare& p) {
  put_gang(env, p.gang(), "");
  put(env, "NODELIST", p.gang().nodes());
  put(env, "NNODES", p.gang().node_count());
  put(env, "NPROCS", p.gang().all_tasks());
}

/// Of a heterogeneous job: each component's part, numbered.
void put_components(Env& env, const wire::Prepare& p) {
  if (p.components().empty()) return;
  put(env, "HET_SIZE", static_cast<uint64_t>(p.components_size()));
  for (int k = 0; k < p.components_size(); ++k) {
    const wire::HetComponent& c = p.components(k);
    const std::string suffix = "_HET_GROUP_" + std::to_string(k);
    put(env, "JOB_ID" + suffix, c.job());
    put(env, "JOB_PARTITION" + suffix, c.partition());
    put_gang(env, c.gang(), suffix);
  }
}

void put_request(Env& env, const wire::Prepare& p) {
  const wire::Request& r = p.spec().request();
  if (!p.spec().dependency().empty()) put(env, "JOB_DEPENDENCY", p.spec().dependency());
  if (r.tasks_per_node() > 0) put(env, "NTASKS_PER_NODE", r.tasks_per_node());
  if (r.tasks_per_socket() > 0) put(env, "NTASKS_PER_SOCKET", r.tasks_per_socket());
  if (r.cpus_per_task() > 1) put(env, "CPUS_PER_TASK", r.cpus_per_task());
  put(env, "CPUS_ON_NODE", p.share().cpus());
  if (r.overcommit()) put(env, "OVERCOMMIT", uint64_t{1});
  if (r.mem_per_cpu_mb() > 0) {
    put(env, "MEM_PER_CPU", r.mem_per_cpu_mb());
  } else if (const uint64_t mb = r.mem_per_node_mb() > 0 ? r.mem_per_node_mb() : p.share().mem_mb(); mb > 0) {
    put(env, "MEM_PER_NODE", mb);
  }
}

void put_gpus(Env& env, const NodeFacts& node, const wire::Prepare& p) {
  const std::vector<uint32_t> gpus = gpus_of(p.share());
  if (gpus.empty()) return;
  put(env, "JOB_GPUS", comma_list(gpus));
  put(env, "GPUS_ON_NODE", gpus.size());
  const wire::Request& r = p.spec().request();
  const auto counting = static_cast<model::GpuCounting>(r.gpu_counting());
  if (counting == model::GpuCounting::kPerJob) put(env, "GPUS", r.gpus());
  if (counting == model::GpuCounting::kPerNode) put(env, "GPUS_PER_NODE", r.gpus());
  if (counting == model::GpuCounting::kPerTask) put(env, "GPUS_PER_TASK", r.gpus());
  if (r.cpus_per_gpu() > 0) put(env, "CPUS_PER_GPU", r.cpus_per_gpu());
  if (r.mem_per_gpu_mb() > 0) put(env, "MEM_PER_GPU", r.mem_per_gpu_mb());
  if (!p.spec().gpu_bind().empty()) put(env, "GPU_BIND", p.spec().gpu_bind());
  env[gpu_variable(node, gpus)] = visible_indices(node, p.share(), gpus);
  env["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID";
}

}  // namespace

std::vector<uint32_t> gpus_of(const wire::NodeShare& share) {
  const auto set = base::IndexSet::parse(share.gpus());
  return set ? set->to_vector() : std::vector<uint32_t>{};
}

std::string comma_list(const std::vector<uint32_t>& numbers) {
  std::string text;
  for (uint32_t n : numbers) text += (text.empty() ? "" : ",") + std::to_string(n);
  return text;
}

std::vector<std::string> lines_of(const Env& env) {
  std::vector<std::string> lines;
  for (const auto& [name, value] : env) lines.push_back(name + "=" + value);
  return lines;
}

std::string gpu_variable(const NodeFacts& node, const std::vector<uint32_t>& gpus) {
  if (gpus.empty()) return {};
  if (gpus.front() >= static_cast<uint32_t>(node.topology.gpus_size())) return "CUDA_VISIBLE_DEVICES";
  const std::string& vendor = node.topology.gpus(static_cast<int>(gpus.front())).vendor();
  if (vendor == "amd") return "ROCR_VISIBLE_DEVICES";
  return vendor == "intel" ? "ZE_AFFINITY_MASK" : "CUDA_VISIBLE_DEVICES";
}

std::string visible_indices(const NodeFacts& node, const wire::NodeShare& job, std::vector<uint32_t> gpus) {
  // Where the device cgroup hides the others, the vendor's run time counts only what it can open.
  if (!node.constrain_devices || node.is_emulated) return comma_list(gpus);
  const std::vector<uint32_t> seen = gpus_of(job);
  for (uint32_t& gpu : gpus)
    gpu = static_cast<uint32_t>(std::lower_bound(seen.begin(), seen.end(), gpu) - seen.begin());
  return comma_list(gpus);
}

void fill_in_login(Env& env, const NodeFacts& node, const UserInfo& user) {
  std::string path = "/usr/local/bin:/usr/bin:/bin";
  if (!node.commands_dir.empty()) path = node.commands_dir + ":" + path;
  env.try_emplace("HOME", user.home.empty() ? "/" : user.home);
  env.try_emplace("USER", user.name);
  env.try_emplace("LOGNAME", user.name);
  env.try_emplace("SHELL", user.shell.empty() ? "/bin/sh" : user.shell);
  env.try_emplace("PATH", path);
}

void put_job(Env& env, const NodeFacts& node, const wire::Prepare& prepare, const UserInfo& user, base::Time now) {
  put_identity(env, node, prepare, user);
  put_array(env, prepare.spec());
  put_preemption(env, node, prepare);
  put_elastic(env, node, prepare);
  put_times(env, prepare, now);
  put_gang(env, prepare);
  put_request(env, prepare);
  put_gpus(env, node, prepare);
  put_components(env, prepare);
  put_queue_variables(env, node, prepare);
}

std::vector<std::string> program_environment(const NodeFacts& node, const wire::Prepare& p, const UserInfo& user,
                                             base::Time now) {
  Env env;
  put_identity(env, node, p, user);
  for (const char* name : {"PROCID", "LOCALID", "GTIDS"}) take_out(env, name);
  put(env, "JOB_WORK_DIR", p.spec().launch().work_dir());
  if (!p.spec().comment().empty()) put(env, "JOB_COMMENT", p.spec().comment());
  put(env, "NODEID", p.gang().node_id());
  put_array(env, p.spec());
  put_times(env, p, now);
  put_gang(env, p);
  put(env, "CPUS_ON_NODE", p.share().cpus());
  put(env, "MEM_PER_NODE", p.share().mem_mb());
  if (const std::vector<uint32_t> gpus = gpus_of(p.share()); !gpus.empty()) {
    put(env, "JOB_GPUS", comma_list(gpus));
    env[gpu_variable(node, gpus)] = comma_list(gpus);  // they see all devices
    env["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID";
  }
  if (!node.config_path.empty()) env["GANGWAY_CONF"] = node.config_path;
  // A value that the kernel does not take would keep the program from starting, and so drain the node.
  std::erase_if(env, [](const auto& entry) { return entry.second.size() > kMostOfAVariable; });
  return lines_of(env);
}

std::vector<std::string> job_environment(const NodeFacts& node, const wire::Prepare& prepare, const UserInfo& user,
                                         base::Time now) {
  Env env = parse_environment(prepare.environment());
  drop_enclosing_job(env);
  const bool takes_path_of_login = env.contains(kLoginVariable) && !env.contains("PATH");
  fill_in_login(env, node, user);
  put_commands(env, node, prepare.spec().launch().slurm_names());
  if (takes_path_of_login) env.erase("PATH");
  if (!node.config_path.empty()) env.try_emplace("GANGWAY_CONF", node.config_path);
  put_job(env, node, prepare, user, now);
  env["ENVIRONMENT"] = "BATCH";
  return lines_of(env);
}

}  // namespace gw::noded
