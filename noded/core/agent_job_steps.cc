// The node agent: the steps of a job beside its own run.
// Invariants: a step begins only within a run of its job that is ready and not ending; it ends with it at the latest,
// and the job's run is over here only after its last step.
#include <algorithm>

#include "model/job_state.h"
#include "noded/core/agent.h"
#include "noded/core/step_spec.h"

namespace gw::noded {

namespace {

constexpr std::ptrdiff_t kMostSteps = 2000;  // on a node at once

bool is_ready_for_steps(const Run& job) {
  const bool is_ready = job.stage == Stage::kPrepared || job.stage == Stage::kStarting || job.stage == Stage::kStarted;
  return is_ready || job.is_adopted();
}

wire::StepClaim claim_of(const wire::StartStep& start) {
  wire::StepClaim claim;
  *claim.mutable_share() = start.share();
  *claim.mutable_request() = start.request();
  claim.mutable_request()->clear_nodelist();
  claim.mutable_request()->clear_exclude();
  claim.set_job_cores(start.job().share().cores());
  return claim;
}

wire::RunRecord make_step_record(const NodeFacts& node, const RunKey& key, const wire::RunRecord& job) {
  wire::RunRecord record;
  record.set_version(1);
  record.set_job(key.job);
  record.set_attempt(key.attempt);
  record.set_step(key.step);
  record.set_has_script(true);  // that is: it has a shepherd
  record.set_boot_id(job.boot_id());
  record.set_lease_us(job.lease_us());
  record.set_grace_us(job.grace_us());
  record.set_generation(job.generation());
  if (job.has_placed_in()) *record.mutable_placed_in() = job.placed_in();
  *record.mutable_containment() = step_containment(node, key, job.containment().kind());
  return record;
}

}  // namespace

void NodeAgent::on_start_step(base::Time now, const wire::StartStep& message) {
  const RunKey key{message.job().job(), message.job().attempt(), message.step()};
  if (!key.is_step()) return say(Level::kError, "the controller starts a step without a number: dropped");
  if (Run* run = find(key)) return repeat_prepare(now, *run);
  if (const Tombstone* grave = tombstone(key)) {
    if (grave->failure) send_failure(now, *grave->failure);
    return;
  }
  if (const base::Status status = check_start(message); !status) return refuse_step(now, key, status.error().text());
  begin_step(now, message, *find(key.own()));
}

base::Status NodeAgent::check_start(const wire::StartStep& message) const {
  const auto job = runs_.find({message.job().job(), message.job().attempt(), 0});
  const std::string name = "job " + std::to_string(message.job().job());
  const std::string& node = config_.node.name;
  if (job == runs_.end()) return base::invalid("no run of " + name + " is on " + node);
  const Run& run = job->second;
  if (run.stop_asked || run.exit || run.is_winding_up()) return base::invalid(name + " is being ended on " + node);
  if (!is_ready_for_steps(run)) return base::invalid(name + " is not ready on " + node + " yet");
  // Each has a process of its own, which is not the job's.
  const auto live =
      std::count_if(runs_.begin(), runs_.end(), [](const auto& r) { return r.first.is_step() && r.second.is_live(); });
  if (live >= kMostSteps) return base::invalid(node + " has " + std::to_string(live) + " steps at once already");
  GW_TRY_STATUS(check_user(message.job().spec().uid(), message.job().allow_root()));
  GW_TRY_STATUS(check_share(config_.node, message.share()));
  if (message.share().tasks() == 0 || message.share().tasks() > kMostTasks)
    return base::invalid("the controller gave " + std::to_string(message.share().tasks()) + " tasks, but 1 to " +
                         std::to_string(kMostTasks) + " fit a node");
  return {};
}

void NodeAgent::refuse_step(base::Time now, RunKey key, const std::string& why) {
  say(Level::kWarn, "step " + key.text() + " cannot start: " + why);
  wire::PrepareFailed failure;
  failure.set_job(key.job);
  failure.set_attempt(key.attempt);
  failure.set_step(key.step);
  failure.set_reason(static_cast<uint32_t>(model::EndReason::kLaunchFailed));
  failure.set_detail(why);
  send_failure(now, failure);
  bury(key, 0, std::move(failure));  // refused once, refused for good
}

void NodeAgent::begin_step(base::Time now, const wire::StartStep& message, const Run& job) {
  const RunKey key{job.key.job, job.key.attempt, message.step()};
  Run& run = runs_[key];
  run.key = key;
  run.stage = Stage::kLookup;
  run.start = std::make_shared<const wire::StartStep>(message);
  run.record = make_step_record(config_.node, key, job.record);
  *run.record.mutable_claim() = claim_of(message);
  run.grace_us = run.record.grace_us();
  run.suspend = job.suspend;  // where the job stands still, so does what is new in it
  run.done.set_job(key.job);
  run.done.set_attempt(key.attempt);
  run.done.set_step(key.step);
  run.done.set_generation(run.record.generation());
  out_.emplace_back(LookupUser{key, message.job().spec().uid()});
  places_.changed(now, job.key);
  tell_places(now);
}

/// Steps whose tasks may run elsewhere since others came or went.
void NodeAgent::tell_places(base::Time now) {
  for (auto& [step, places] : places_.take_due(now, config_.node, runs_)) {
    wire::ToShepherd message;
    *message.mutable_places() = std::move(places);
    to_shepherd(*find(step), std::move(message));
  }
}

std::vector<RunKey> NodeAgent::live_steps(RunKey job) const {
  std::vector<RunKey> steps;
  for (auto it = runs_.upper_bound(job); it != runs_.end() && it->first.is_step_of(job); ++it)
    if (it->second.is_live()) steps.push_back(it->first);
  return steps;
}

void NodeAgent::stop_steps(base::Time now, RunKey job, int64_t grace_us, bool kill_now) {
  for (const RunKey& key : live_steps(job))
    if (Run* step = find(key)) stop(now, *step, grace_us, kill_now);
}

/// True: steps of it are still there; it goes on in step_is_over(), maybe before this returns. Steps that nobody has
/// told to end are killed.
bool NodeAgent::must_await_steps(base::Time now, Run& run, bool must_release) {
  const std::vector<RunKey> steps = live_steps(run.key);
  if (steps.empty()) return false;
  run.stage = Stage::kAwaiting;
  run.deadline = base::Time::never();
  run.must_release = must_release;
  for (const RunKey& key : steps)
    if (Run* step = find(key); step != nullptr && !step->stop_asked) stop(now, *step, 0, true);
  return true;
}

void NodeAgent::step_is_over(base::Time now, RunKey step) {
  Run* job = find(step.own());
  if (job == nullptr) return;
  places_.changed(now, job->key);
  tell_places(now);
  if (job->stage != Stage::kAwaiting) return check_stands(now, *job);
  if (!live_steps(job->key).empty()) return;
  if (job->must_release) return release_share(*job);
  finish(now, *job);
}

}  // namespace gw::noded
