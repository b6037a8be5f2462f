// See dependents_due.h.
#include "ctld/core/jobs/dependents_due.h"

#include <utility>

#include "ctld/core/jobs/eligibility.h"
#include "ctld/core/jobs/facts.h"
#include "ctld/core/jobs/run.h"

namespace gw::ctld {

using model::Job;

namespace {

/// A job that can never start ends, where that was asked for.
void end_hopeless(Core& core, Job& job) {
  model::Outcome outcome;
  outcome.end = model::JobState::kCancelled;
  outcome.reason = model::EndReason::kDependencyNeverSatisfied;
  outcome.detail = "its dependency can never be met: " + model::format_dependency(job.unmet);
  for (Job* other : siblings(core, job))
    if (other->waiting() != nullptr) end_pending(core, *other, model::JobState::kCancelled, outcome);
  end_pending(core, job, model::JobState::kCancelled, std::move(outcome));
}

}  // namespace

void job_moved(Core& core, JobId id) {
  Dependents& dependents = core.jobs.dependents();
  dependents.look_again_at_those_of({id});
  const Job* job = core.jobs.find(id);
  if (job == nullptr || !model::is_end(job->state)) return;
  dependents.erase(id);
  name_was_given_up(core, job->spec.uid, job->spec.name);
}

void name_was_given_up(Core& core, uint32_t uid, const std::string& name) {
  // Of those that bear it only the first can be a singleton that is met now.
  if (const JobId first = core.jobs.first_named(uid, name)) core.jobs.dependents().look_again(first);
}

size_t look_at_one_dependent(Core& core) {
  const auto id = core.jobs.dependents().take();
  if (!id) return 0;
  Job* job = core.jobs.find(*id);
  if (job == nullptr || job->waiting() == nullptr || job->unmet.is_met()) return 1;
  const size_t cost = job->unmet.terms.size();
  const model::Dependency before = job->unmet;
  const model::WaitReason reason = job->waiting()->reason;
  update_eligibility(core, *job);
  if (job->unmet != before || job->waiting()->reason != reason) core.rows.job(*job);
  if (job->unmet.is_hopeless() && job->spec.kill_on_invalid_dependency) end_hopeless(core, *job);
  return cost;
}

void look_at_dependents_later(Core& core) {
  if (core.jobs.dependents().has_queued())
    core.timers.set({core.now + base::milliseconds(1), TimerKind::kDependents, 0, 0});
}

}  // namespace gw::ctld
