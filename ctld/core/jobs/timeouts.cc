// See timeouts.h.
#include "ctld/core/jobs/timeouts.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/hostlist.h"
#include "ctld/core/jobs/facts.h"
#include "ctld/core/jobs/launch_faults.h"
#include "ctld/core/jobs/limits.h"
#include "ctld/core/jobs/mails.h"
#include "ctld/core/jobs/orders.h"
#include "ctld/core/jobs/run.h"

namespace gw::ctld {

using model::Job;
using model::JobState;
using model::Outcome;

void job_limit_due(Core& core, Job& job) {
  if (job.state != JobState::kRunning) return;
  if (job.placed()->running_since() + job.spec.time_limit > core.now)
    return arm_limits(core, job);  // it was raised meanwhile
  Outcome outcome;
  outcome.end = JobState::kTimeout;
  outcome.reason = model::EndReason::kTimeLimit;
  outcome.detail = "time limit " + base::format_duration(job.spec.time_limit) + " reached";
  mail_of_time_limit(core, job);
  stop(core, job, std::move(outcome));
}

void job_warn_due(Core& core, Job& job) {
  if (job.state != JobState::kRunning || job.placed()->warned) return;
  const Time due = job.placed()->running_since() + job.spec.time_limit - base::seconds(job.spec.warn.seconds_before);
  if (due > core.now) return arm_limits(core, job);
  job.placed()->warned = true;
  core.rows.job(job);
  const SignalReach reach = job.spec.warn.batch_only ? SignalReach::kScript : SignalReach::kSteps;
  const bool has_reached = signal(core, job, job.spec.warn.signo, reach);
  core.out.job_event(
      job, "warned",
      fmt::format("signal {}{}", job.spec.warn.signo, has_reached ? "" : ": no step runs, so nobody got it"));
}

void start_timeout_due(Core& core, Job& job) {
  if (job.state != JobState::kConfiguring) return;
  const auto is_in_prolog = [](const Job* one) {
    return one->placed() != nullptr && one->placed()->program == model::JobProgram::kProlog;
  };
  const std::vector<Job*> others = siblings(core, job);
  const bool is_prolog_awaited = is_in_prolog(&job) || std::any_of(others.begin(), others.end(), is_in_prolog);
  // A gang of one goes by itself: while its node is out of reach it may well be running.
  if (is_prolog_awaited || (goes_alone(job) && !job.placed()->unreachable.empty())) {
    core.timers.set({core.now + core.settings.prepare_timeout(), TimerKind::kStartTimeout, job.id.value, job.attempt});
    return;
  }
  std::vector<std::string> names;
  std::set<NodeId> missing = job.placed()->waiting_for;
  for (const Job* other : others)
    if (other->state == JobState::kConfiguring)
      missing.insert(other->placed()->waiting_for.begin(), other->placed()->waiting_for.end());
  for (NodeId node : missing) names.push_back(core.nodes.name_of(node));
  Outcome outcome;
  outcome.end = JobState::kNodeFail;
  outcome.reason = model::EndReason::kLaunchFailed;
  outcome.detail = fmt::format("{} did not prepare within {}", base::compress_hostlist(names),
                               base::format_duration(core.settings.prepare_timeout()));
  outcome.requeue = true;
  outcome.ended = core.now;
  blame(core, job, missing, outcome.detail);
  stop(core, job, std::move(outcome));
}

}  // namespace gw::ctld
