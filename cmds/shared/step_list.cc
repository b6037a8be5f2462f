// Joins steps and jobs.
#include "cmds/shared/step_list.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

namespace gw::cmds {
namespace {

using client::StepRow;

/// A choice that is quick to ask.
class Chosen {
 public:
  explicit Chosen(const StepChoice& choice)
      : all_(choice.empty()),
        jobs_(choice.jobs.begin(), choice.jobs.end()),
        steps_(choice.steps.begin(), choice.steps.end()) {}

  bool has(const StepRow& row) const {
    const uint32_t id = client::job_id(row), leader = row.job == nullptr ? 0 : row.job->spec().het_job();
    return all_ || jobs_.contains(id) || jobs_.contains(leader) ||
           steps_.contains({id, client::step_number(row), client::is_extern(row)});
  }

 private:
  bool all_;
  std::set<uint32_t> jobs_;
  std::set<StepId> steps_;
};

}  // namespace

base::Time StepReplies::now() const { return {std::max(jobs.now_us(), steps.now_us())}; }

void add_job_ids(const StepChoice& choice, wire::JobFilter& filter) {
  if (!filter.ids().empty() || !filter.tasks().empty()) return;
  std::set<uint32_t> ids(choice.jobs.begin(), choice.jobs.end());
  for (const StepId& step : choice.steps) ids.insert(step.job);
  filter.mutable_ids()->Assign(ids.begin(), ids.end());
}

void add_states_with_steps(wire::JobFilter& filter) {
  using model::JobState;
  if (filter.all_states() || !filter.states().empty()) return;
  for (JobState state : {JobState::kConfiguring, JobState::kRunning, JobState::kSuspended, JobState::kCompleting})
    filter.add_states(static_cast<uint32_t>(state));
}

base::Result<StepReplies> ask_steps(client::Connection& connection, const wire::JobFilter& filter) {
  StepReplies replies;
  wire::ApiRequest jobs, steps;
  *jobs.mutable_list_jobs()->mutable_filter() = filter;
  GW_TRY(listed, connection.call(std::move(jobs)));
  replies.jobs = std::move(*listed.mutable_list_jobs());
  auto& ids = *steps.mutable_list_steps()->mutable_job_ids();
  const bool is_by_id = !filter.ids().empty() || !filter.tasks().empty();
  if (is_by_id)
    for (const wire::Job& job : replies.jobs.jobs()) ids.Add(job.id());
  if (is_by_id && ids.empty()) return replies;  // no ids would mean all
  GW_TRY(found, connection.call(std::move(steps)));
  replies.steps = std::move(*found.mutable_list_steps());
  return replies;
}

std::vector<StepRow> step_rows(const StepReplies& replies, const StepChoice& choice, bool passing_jobs_only) {
  const Chosen chosen(choice);
  std::unordered_map<uint32_t, const wire::Job*> jobs;
  std::vector<StepRow> rows;
  const auto add = [&](const StepRow& row) {
    if (chosen.has(row)) rows.push_back(row);
  };
  for (const wire::Job& job : replies.jobs.jobs()) {
    jobs[job.id()] = &job;
    if (client::has_own_row(job)) add({nullptr, &job, replies.now()});
  }
  for (const wire::Step& step : replies.steps.steps()) {
    const auto job = jobs.find(step.job());
    if (job != jobs.end() || !passing_jobs_only) add({&step, job == jobs.end() ? nullptr : job->second, replies.now()});
  }
  std::stable_sort(rows.begin(), rows.end(), client::is_listed_before);
  return rows;
}

}  // namespace gw::cmds
