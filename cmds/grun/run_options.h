// The options of grun and the step that they describe.
// Invariant: options given later win; nothing here touches the network or the file system.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "client/options/option_table.h"
#include "cmds/request/job_options.h"
#include "cmds/request/slurm_forms.h"
#include "model/step.h"

namespace gw::cmds {

/// Where a standard stream of the tasks leads.
struct Redirect {
  enum class To {
    kUnset,
    kAll,   ///< This program's own, for all tasks.
    kNone,  ///< Nowhere.
    kTask,  ///< This program's own, for one task alone.
    kFile,
  };
  To to = To::kUnset;
  uint32_t task = 0;
  std::string path;  ///< With patterns.
};
/// "all", "none", a task number, or a file name.
Redirect parse_redirect(std::string_view text);

struct RunOptions {
  BatchOptions job;  ///< What is asked for where there is no allocation yet; sizes also of a step.
  Redirect input, output, error;
  bool label = false, unbuffered = false, pty = false, multi_prog = false, append = false;
  bool overlap = false, whole = false, exact = false, overcommit = false;
  bool keep = false, detach = false, preemptible = false, test_only = false, mpi_list = false;
  std::optional<bool> pmix;  ///< Not set: where it is there.
  bool disable_status = false, quit_on_interrupt = false, quiet = false;
  bool kill_on_bad_exit = false;
  std::string task_prolog, task_epilog;  ///< Run by the nodes around each task; empty: none.
  std::string prolog, epilog;            ///< Run here before and after the step; empty: none.
  std::optional<std::string> bcast;      ///< The program is copied to the nodes: where to, may be empty.
  bool preserves_env = false;            ///< Tasks see the numbers of nodes and tasks that grun sees.
  std::optional<uint32_t> wait_seconds;
  std::optional<uint32_t> immediate_seconds;
  std::string cpu_bind, mem_bind;  ///< Words of bind/words.h; those of GPUs are in `job`.
  DistributionWords distribution;
  bool is_distribution_of_environment = false;
  std::string listed_nodes;                    ///< -w as it was given: in that order.
  std::vector<std::string> hosts;              ///< Of each task, where they are distributed arbitrarily.
  uint32_t job_id = 0;                         ///< --jobid; 0: not given, or
  std::map<uint32_t, std::string> array_task;  ///< a task of an array, as in JobIds.
  std::vector<uint32_t> het_groups;            ///< --het-group: components of the job; empty: not given.
  uint32_t relative = 0;
};

/// What an allocation has, as far as a step's size follows from it. Zero: not known.
struct JobFacts {
  uint32_t id = 0;
  std::vector<std::string> nodes;
  uint32_t tasks = 0, tasks_per_node = 0, cpus_per_task = 0, gpus_per_task = 0;
};

/// The table; its handlers write into `options`, which must outlive it.
std::vector<client::Option> run_table(RunOptions& options, client::CommonFlags& flags, base::Time now);
/// The pages of grun.
client::CommandDoc run_doc();

/// Reads SLURM_*, SRUN_* and GRUN_* variables. Inside an allocation SLURM_* that tell of it say nothing of the step,
/// and inside a step the binding that it has says nothing of another one.
base::Status read_run_environment(const std::vector<client::Option>& table, const client::GetEnv& get, bool is_inside);
/// The allocation that the environment tells of; id 0: none.
JobFacts facts_of_environment(const client::GetEnv& get);
/// How many components the job has; 0: it is not heterogeneous.
uint32_t components_of_environment(const client::GetEnv& get);
/// The id of a component. Errors: it is not told of.
base::Result<uint32_t> component_of_environment(const client::GetEnv& get, uint32_t component);
/// Errors: a job id that is none, which facts_of_environment() passes over.
base::Status check_job_of_environment(const client::GetEnv& get);

/// What the step asks of an allocation that is there. Errors: sizes that contradict each other.
base::Result<model::StepRequest> step_inside(const RunOptions& options, const JobFacts& job);
/// Completes what an allocation is asked for (options.job.spec), and gives the step that then takes the whole of it;
/// its numbers of nodes and tasks are those of the allocation. Errors: as complete().
base::Result<model::StepRequest> step_outside(RunOptions& options, std::vector<std::string>& notes);

}  // namespace gw::cmds
