// The environment of a step's tasks: the implementation.
// Invariants: see step_env.h.
#include "noded/core/step_env.h"

#include "noded/core/command_path.h"
#include "noded/core/env_map.h"
#include "noded/core/job_env.h"
#include "noded/core/node_allocation.h"

namespace gw::noded {

namespace {

// Of the job's variables: those that a step has of its own, asked for or not, and those of a single task. What the job
// was asked with (-c, --ntasks-per-node) holds on until the step says otherwise, as it does where Slurm's srun passes
// its environment on.
constexpr const char* kNotTheJobs[] = {"PROCID", "LOCALID", "GTIDS", "GPUS_PER_TASK", "GPUS_ON_NODE", "GPU_BIND"};

void put_shape(Env& env, const wire::Gang& gang) {
  put(env, "STEP_NODELIST", gang.nodes());
  for (const char* name : {"STEP_NUM_NODES", "NNODES"}) put(env, name, gang.node_count());
  for (const char* name : {"STEP_NUM_TASKS", "NTASKS", "NPROCS"}) put(env, name, gang.all_tasks());
  for (const char* name : {"STEP_TASKS_PER_NODE", "TASKS_PER_NODE"}) put(env, name, gang.tasks());
  put(env, "NODEID", gang.node_id());
}

void put_step_request(Env& env, const wire::StartStep& start, const bind::Binding& binding) {
  const wire::StepRequest& r = start.request();
  put(env, "CPUS_ON_NODE", start.share().cpus() + binding.unclaimed_cpus);
  if (r.overcommit()) put(env, "OVERCOMMIT", uint64_t{1});
  if (r.tasks_per_node() > 0) put(env, "NTASKS_PER_NODE", r.tasks_per_node());
  if (r.cpus_per_task() > 0) put(env, "CPUS_PER_TASK", r.cpus_per_task());
  if (r.gpus_per_task() > 0) put(env, "GPUS_PER_TASK", r.gpus_per_task());
}

void put_step_gpus(Env& env, const NodeFacts& node, const wire::StartStep& start) {
  const wire::NodeShare& job = start.job().share();
  const std::vector<uint32_t> gpus = gpus_of(start.share());
  // None of those that the job has: the vendor's run time is to see that, and not all of them.
  if (gpus.empty()) {
    if (const std::string name = gpu_variable(node, gpus_of(job)); !name.empty()) env[name] = "";
    return;
  }
  put(env, "STEP_GPUS", comma_list(gpus));
  put(env, "GPUS_ON_NODE", gpus.size());
  env[gpu_variable(node, gpus)] = visible_indices(node, job, gpus);
  env["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID";
}

/// "quiet,mask_cpu:0x1,0x2", and the same in parts.
void put_masks(Env& env, const std::string& name, const std::string& type, bool says, const std::string& list) {
  const std::string how = says ? "verbose" : "quiet";
  put(env, name, how + "," + type + list);
  put(env, name + "_VERBOSE", how);
  put(env, name + "_TYPE", type);
  put(env, name + "_LIST", list);
}

std::string masks_of(const bind::Binding& binding, base::IndexSet bind::Place::*part) {
  std::string list;
  for (const bind::Place& place : binding.places) list += (list.empty() ? "" : ",") + bind::mask_text(place.*part);
  return list;
}

/// What is done, as masks of the node's tasks; which is also what would have to be asked for to get it again.
void put_binding(Env& env, const wire::StepRequest& r, const bind::Binding& binding) {
  using bind::Place;
  put_masks(env, "CPU_BIND", binding.binds_cpus ? "mask_cpu:" : "none", binding.cpu.says,
            binding.binds_cpus ? masks_of(binding, &Place::pus) : "");
  if (!r.gpu_bind().empty()) put(env, "GPU_BIND", r.gpu_bind());
  if (r.mem_bind().empty()) return;
  put_masks(env, "MEM_BIND", binding.binds_memory ? "mask_mem:" : "none", binding.mem.says,
            binding.binds_memory ? masks_of(binding, &Place::mems) : "");
  if (binding.mem.prefers) put(env, "MEM_BIND_PREFER", "prefer");
}

/// What the step is told when it is preempted lies in its own folder; the list of an elastic gang lies beside its
/// script.
void put_files(Env& env, const NodeFacts& node, const wire::StartStep& start) {
  const RunKey step{start.job().job(), start.job().attempt(), start.step()};
  env["GANGWAY_PREEMPT_FILE"] = node.steps_dir + "/" + step.text() + "/" + kPreemptFile;
  if (!runs_script(start.job())) env.erase("GANGWAY_HOSTLIST_FILE");
}

}  // namespace

std::vector<std::string> step_environment(const NodeFacts& node, const wire::StartStep& start,
                                          const bind::Binding& binding, const UserInfo& user, base::Time now) {
  Env env;
  fill_in_login(env, node, user);
  put_commands(env, node, start.job().spec().launch().slurm_names());
  put_job(env, node, start.job(), user, now);
  for (const char* name : kNotTheJobs) take_out(env, name);
  for (const char* name : {"STEP_ID", "STEPID"}) put(env, name, uint64_t{start.step()} - 1);
  put_shape(env, start.gang());
  put_step_request(env, start, binding);
  put_step_gpus(env, node, start);
  put_binding(env, start.request(), binding);
  put_files(env, node, start);
  return lines_of(env);
}

}  // namespace gw::noded
