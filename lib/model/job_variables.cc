// The names of those variables.
#include "model/job_variables.h"

#include <algorithm>
#include <array>

namespace gw::model {
namespace {

constexpr JobVariable kJobVariables[] = {
    {"JOB_ID", "the job's number"},
    {"JOBID", "the same (older name)"},
    {"JOB_NAME", "its name"},
    {"JOB_NODELIST", "its nodes, as a host list"},
    {"NODELIST", "the same (older name)"},
    {"JOB_NUM_NODES", "how many nodes it has"},
    {"NNODES", "the same; in a step: how many the step has"},
    {"NTASKS", "how many tasks it has; in a step: the step"},
    {"NPROCS", "the same (older name)"},
    {"NTASKS_PER_NODE", "what was asked for with `--ntasks-per-node`"},
    {"NTASKS_PER_SOCKET", "what was asked for with `--ntasks-per-socket`"},
    {"TASKS_PER_NODE", "tasks of each node, in the order of the nodes: `2(x3),1`; in a step: of the step"},
    {"JOB_CPUS_PER_NODE", "CPUs of each node, in the same form"},
    {"CPUS_ON_NODE", "CPUs on this node"},
    {"CPUS_PER_TASK", "what was asked for with `-c`"},
    {"MEM_PER_NODE", "memory on each node, in MB, where none was asked for by CPU"},
    {"MEM_PER_CPU", "memory for each CPU, in MB, where that was asked for"},
    {"JOB_DEPENDENCY", "what it was to wait for"},
    {"JOB_PARTITION", "the partition that it runs in"},
    {"JOB_ACCOUNT", "its account, if it has one"},
    {"JOB_QOS", "its QOS"},
    {"JOB_USER", "the name of its user"},
    {"JOB_UID", "the number of its user"},
    {"JOB_GID", "the number of its group"},
    {"JOB_GPUS", "its GPUs on this node, by number: `0,1`"},
    {"GPUS", "GPUs that were asked for in all (`-G`)"},
    {"GPUS_ON_NODE", "how many GPUs it has on this node; in a step: the step"},
    {"GPUS_PER_NODE", "GPUs that were asked for on each node"},
    {"GPUS_PER_TASK", "GPUs that were asked for each task"},
    {"CLUSTER_NAME", "the name of the cluster"},
    {"SUBMIT_DIR", "the folder that it was submitted from"},
    {"SUBMIT_HOST", "the host that it was submitted from"},
    {"PROCID", "the task's rank in the step, from 0; in a batch script 0"},
    {"LOCALID", "the task's number on its node, from 0; in a batch script 0"},
    {"NODEID", "the node's number in the job or step, from 0"},
    {"GTIDS", "ranks of the tasks on this node: `4,5,6,7`"},
    {"TASK_PID", "process number of the task, for the programs of task prolog and epilog"},
    {"RESTART_COUNT", "how often it was requeued; not set before"},
    {"JOB_START_TIME", "when it started, in seconds since 1970"},
    {"JOB_END_TIME", "when its time limit ends, in seconds since 1970; without a limit a year after its start"},
    {"TOPOLOGY_ADDR", "the name of the node"},
    {"TOPOLOGY_ADDR_PATTERN", "`node`"},
    {"JOB_RESERVATION", "the reservation that it runs in"},
    {"JOB_LICENSES", "the licences that it holds"},
    {"CPUS_PER_GPU", "what was asked for with `--cpus-per-gpu`"},
    {"MEM_PER_GPU", "what was asked for with `--mem-per-gpu`, in MB"},
    {"GPU_BIND", "what was asked for with `--gpu-bind`"},
    {"HET_SIZE",
     "of a heterogeneous job: how many components it has; `JOB_ID_HET_GROUP_0` and others are those above of each "
     "component"},
    {"STEP_ID", "the step's number in the job"},
    {"STEPID", "the same (older name)"},
    {"STEP_NODELIST", "nodes of the step, as a host list"},
    {"STEP_NUM_NODES", "how many nodes the step has"},
    {"STEP_NUM_TASKS", "how many tasks the step has"},
    {"STEP_TASKS_PER_NODE", "tasks of each node of the step"},
    {"STEP_GPUS", "GPUs of the step on this node, by number"},
    {"LAUNCH_NODE_IPADDR", "address of the host where `grun` runs"},
    {"SRUN_COMM_HOST", "the same"},
    {"SRUN_COMM_PORT", "never set; taken out of what an enclosing Slurm has set"},
    {"ARRAY_JOB_ID", "of a task of an array: number of the array"},
    {"ARRAY_TASK_ID", "its index"},
    {"ARRAY_TASK_COUNT", "how many tasks the array has"},
    {"ARRAY_TASK_MIN", "the smallest index"},
    {"ARRAY_TASK_MAX", "the largest index"},
    {"ARRAY_TASK_STEP", "the step between indices"},
    {"CPU_BIND", "how tasks are bound to CPUs: `quiet,mask_cpu:0x3,0xc`"},
    {"CPU_BIND_TYPE", "the kind of it: `mask_cpu:` or `none`"},
    {"CPU_BIND_LIST", "the masks of it, of each task of this node"},
    {"CPU_BIND_VERBOSE", "`verbose` where each task says its binding, else `quiet`"},
    {"MEM_BIND", "how tasks are bound to memory: `quiet,mask_mem:0x1,0x2`"},
    {"MEM_BIND_TYPE", "the kind of it"},
    {"MEM_BIND_LIST", "the masks of it"},
    {"MEM_BIND_VERBOSE", "`verbose` or `quiet`"},
    {"MEM_BIND_PREFER", "`prefer` where other memory is taken when the own is full"},
    {"DISTRIBUTION", "how ranks are dealt out to the nodes: `block`, `cyclic`, `plane`"},
    {"DIST_PLANESIZE", "size of the planes of `plane`"},
    {"NIC", "network adapters nearest to the task's GPUs, or to its cores", true},
    {"HOSTLIST_FILE", "of an elastic job: the file with its nodes at present, one a line", true},
    {"PREEMPT_FILE", "the file that appears when the job is preempted", true},
    {"ON_PREEMPT", "what then becomes of it: `requeue`, `cancel`, `checkpoint`, `suspend`", true},
    {"COMMAND_PATH", "folders of the commands, for login shells", true},
};
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
  const auto is_it = [rest](const JobVariable& v) { return v.name == rest; };
  return !rest.empty() &&
         (std::any_of(std::begin(kJobVariables), std::end(kJobVariables), is_it) || is_of_het_group(name));
}

std::span<const JobVariable> job_variables() { return kJobVariables; }

bool is_input_of_steps(std::string_view name) {
  return name == "SLURM_CPU_BIND" || name == "SLURM_MEM_BIND" || name == "SLURM_GPU_BIND" ||
         name == "SLURM_DISTRIBUTION";
}

bool is_kept_in_steps(std::string_view name) {
  const std::string_view rest = bare(name);
  return rest.starts_with("ARRAY_") || rest == "HET_SIZE" || is_of_het_group(rest);
}

}  // namespace gw::model
