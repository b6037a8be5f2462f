// The variables by which the batch system tells programs of their job, step and task.
#pragma once

#include <span>
#include <string_view>

namespace gw::model {

/// Without the prefix SLURM_ or GANGWAY_, and what it tells.
struct JobVariable {
  std::string_view name, means;
  bool is_own = false;  ///< Slurm has none: it has the prefix GANGWAY_ alone.
};
/// The page of variables (docs/reference.md) lists them.
std::span<const JobVariable> job_variables();

/// Whether a variable tells of a job, step or task, or which GPUs one sees: those of an enclosing job or step must not
/// shine through.
bool is_job_variable(std::string_view name);
/// Of those: what all steps of the job are told alike, and nobody but the job's own script tells them: its place in an
/// array, the components of a heterogeneous job.
bool is_kept_in_steps(std::string_view name);
/// Of those: what a user may set for the commands that make steps (SLURM_CPU_BIND, ...). Where the GANGWAY_ one beside
/// it says the same, the enclosing step has set both, and it says nothing of another step.
bool is_input_of_steps(std::string_view name);

}  // namespace gw::model
