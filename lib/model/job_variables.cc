// The names of those variables.
#include "model/job_variables.h"

#include <algorithm>
#include <array>

namespace gw::model {
namespace {

constexpr auto kJobVariables = std::to_array<std::string_view>({
    "JOB_ID",
    "JOBID",
    "JOB_NAME",
    "JOB_NODELIST",
    "NODELIST",
    "JOB_NUM_NODES",
    "NNODES",
    "NTASKS",
    "NPROCS",
    "NTASKS_PER_NODE",
    "NTASKS_PER_SOCKET",
    "TASKS_PER_NODE",
    "JOB_CPUS_PER_NODE",
    "CPUS_ON_NODE",
    "CPUS_PER_TASK",
    "MEM_PER_NODE",
    "MEM_PER_CPU",
    "JOB_DEPENDENCY",
    "JOB_PARTITION",
    "JOB_ACCOUNT",
    "JOB_QOS",
    "JOB_USER",
    "JOB_UID",
    "JOB_GID",
    "JOB_GPUS",
    "GPUS",
    "GPUS_ON_NODE",
    "GPUS_PER_NODE",
    "GPUS_PER_TASK",
    "CLUSTER_NAME",
    "SUBMIT_DIR",
    "SUBMIT_HOST",
    "PROCID",
    "LOCALID",
    "NODEID",
    "GTIDS",
    "TASK_PID",
    "RESTART_COUNT",
    "JOB_START_TIME",
    "JOB_END_TIME",
    "TOPOLOGY_ADDR",
    "TOPOLOGY_ADDR_PATTERN",
    "JOB_RESERVATION",
    "JOB_LICENSES",
    "CPUS_PER_GPU",
    "MEM_PER_GPU",
    "GPU_BIND",
    "HET_SIZE",
    "STEP_ID",
    "STEPID",
    "STEP_NODELIST",
    "STEP_NUM_NODES",
    "STEP_NUM_TASKS",
    "STEP_TASKS_PER_NODE",
    "STEP_GPUS",
    "LAUNCH_NODE_IPADDR",
    "SRUN_COMM_HOST",
    "SRUN_COMM_PORT",
    "ARRAY_JOB_ID",
    "ARRAY_TASK_ID",
    "ARRAY_TASK_COUNT",
    "ARRAY_TASK_MIN",
    "ARRAY_TASK_MAX",
    "ARRAY_TASK_STEP",
    "CPU_BIND",
    "CPU_BIND_TYPE",
    "CPU_BIND_LIST",
    "CPU_BIND_VERBOSE",
    "MEM_BIND",
    "MEM_BIND_TYPE",
    "MEM_BIND_LIST",
    "MEM_BIND_VERBOSE",
    "MEM_BIND_PREFER",
    "DISTRIBUTION",
    "DIST_PLANESIZE",
    "NIC",
    "HOSTLIST_FILE",
    "PREEMPT_FILE",
    "ON_PREEMPT",
    "COMMAND_PATH",
});
constexpr auto kDeviceVariables =
    std::to_array<std::string_view>({"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK"});

bool is_of_het_group(std::string_view name) { return name.find("_HET_GROUP_") != std::string_view::npos; }

/// What follows the prefix; empty: it has none.
std::string_view bare(std::string_view name) {
  for (const std::string_view prefix : {"SLURM_", "GANGWAY_"})
    if (name.starts_with(prefix)) return name.substr(prefix.size());
  return {};
}

template <typename List>
bool holds(const List& list, std::string_view name) {
  return std::find(std::begin(list), std::end(list), name) != std::end(list);
}

}  // namespace

bool is_job_variable(std::string_view name) {
  if (name == "SLURMD_NODENAME" || name == "GANGWAY_NODENAME" || holds(kDeviceVariables, name)) return true;
  const std::string_view rest = bare(name);
  return !rest.empty() && (holds(kJobVariables, rest) || is_of_het_group(name));
}

bool is_input_of_steps(std::string_view name) {
  return name == "SLURM_CPU_BIND" || name == "SLURM_MEM_BIND" || name == "SLURM_GPU_BIND" ||
         name == "SLURM_DISTRIBUTION";
}

bool is_kept_in_steps(std::string_view name) {
  const std::string_view rest = bare(name);
  return rest.starts_with("ARRAY_") || rest == "HET_SIZE" || is_of_het_group(rest);
}

}  // namespace gw::model
