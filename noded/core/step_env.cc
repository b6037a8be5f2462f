// The environment of a step's tasks: the implementation.
// Invariants: see step_env.h.
#include "noded/core/step_env.h"

#include "noded/core/env_map.h"
#include "noded/core/job_env.h"
#include "noded/core/step_spec.h"

namespace gw::noded {

namespace {

// Of the job's variables: those that a step has of its own, asked for or not, and those of a single task.
constexpr const char* kNotTheJobs[] = {"PROCID",        "LOCALID",       "GTIDS",        "NTASKS_PER_NODE",
                                       "CPUS_PER_TASK", "GPUS_PER_TASK", "GPUS_ON_NODE", "GPU_BIND"};

void put_shape(Env& env, const wire::Gang& gang) {
  put(env, "STEP_NODELIST", gang.nodes());
  for (const char* name : {"STEP_NUM_NODES", "NNODES"}) put(env, name, gang.node_count());
  for (const char* name : {"STEP_NUM_TASKS", "NTASKS", "NPROCS"}) put(env, name, gang.all_tasks());
  for (const char* name : {"STEP_TASKS_PER_NODE", "TASKS_PER_NODE"}) put(env, name, gang.tasks());
  put(env, "NODEID", gang.node_id());
}

void put_request(Env& env, const wire::StartStep& start) {
  const wire::StepRequest& r = start.request();
  put(env, "CPUS_ON_NODE", start.share().cpus());
  if (r.tasks_per_node() > 0) put(env, "NTASKS_PER_NODE", r.tasks_per_node());
  if (r.cpus_per_task() > 0) put(env, "CPUS_PER_TASK", r.cpus_per_task());
  if (r.gpus_per_task() > 0) put(env, "GPUS_PER_TASK", r.gpus_per_task());
}

void put_gpus(Env& env, const NodeFacts& node, const wire::StartStep& start) {
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

/// What the step is told when it makes way lies in its own folder; the list of an elastic gang lies beside its script.
void put_files(Env& env, const NodeFacts& node, const wire::StartStep& start) {
  const RunKey step{start.job().job(), start.job().attempt(), start.step()};
  env["GANGWAY_PREEMPT_FILE"] = node.steps_dir + "/" + step.text() + "/" + kPreemptFile;
  if (!runs_script(start.job())) env.erase("GANGWAY_HOSTLIST_FILE");
}

}  // namespace

std::vector<std::string> step_environment(const NodeFacts& node, const wire::StartStep& start, const UserInfo& user,
                                          base::Time now) {
  Env env;
  fill_in_login(env, node, user);
  put_job(env, node, start.job(), user, now);
  for (const char* name : kNotTheJobs) take_out(env, name);
  for (const char* name : {"STEP_ID", "STEPID"}) put(env, name, uint64_t{start.step()} - 1);
  put_shape(env, start.gang());
  put_request(env, start);
  put_gpus(env, node, start);
  put_files(env, node, start);
  return lines_of(env);
}

}  // namespace gw::noded
