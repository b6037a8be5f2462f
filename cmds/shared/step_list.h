// Steps and batch scripts that run, with the jobs that they belong to, from two answers of the controller.
// Invariant: rows point into the answers that they were made of.
#pragma once

#include <vector>

#include "client/conn/connection.h"
#include "client/show/step_view.h"
#include "cmds/shared/step_ids.h"

namespace gw::cmds {

struct StepReplies {
  wire::ListJobsReply jobs;
  wire::ListStepsReply steps;

  base::Time now() const;
};

/// A filter without ids gets those of the choice.
void add_job_ids(const StepChoice& choice, wire::JobFilter& filter);
/// A filter without states gets those of jobs that can have steps.
void add_states_with_steps(wire::JobFilter& filter);

/// Asks for the jobs that pass, then for steps: for those of these jobs where the filter has ids, else for all.
base::Result<StepReplies> ask_steps(client::Connection& connection, const wire::JobFilter& filter);

/// What of the answers is chosen (empty choice: all), by job, then step. A job of several components stands for all of
/// them. With `passing_jobs_only` steps whose job is not among the answers are left out.
std::vector<client::StepRow> step_rows(const StepReplies& replies, const StepChoice& choice, bool passing_jobs_only);

}  // namespace gw::cmds
