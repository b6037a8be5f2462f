// See job_steps.h.
#include "noded/core/job_steps.h"

#include <memory>
#include <string>
#include <utility>

#include "base/result.h"
#include "noded/core/node_allocation.h"
#include "noded/core/places.h"
#include "noded/core/reports.h"
#include "noded/core/run_start.h"

namespace gw::noded {

namespace {

constexpr size_t kMostSteps = 2000;  // on a node at once

bool is_ready_for_steps(const Run& job) {
  const bool is_ready = job.stage == Stage::kPrepared || job.stage == Stage::kStarting || job.stage == Stage::kStarted;
  return is_ready || job.is_adopted();
}

base::Status check_start(const Core& core, const wire::StartStep& message) {
  const Run* job = core.runs.find({message.job().job(), message.job().attempt(), 0});
  const std::string name = "job " + std::to_string(message.job().job());
  const std::string& node = core.config.node.name;
  if (job == nullptr) return base::invalid("no run of " + name + " is on " + node);
  if (job->stop.is_asked || job->exit || job->is_winding_up())
    return base::invalid(name + " is being ended on " + node);
  if (!is_ready_for_steps(*job)) return base::invalid(name + " is not ready on " + node + " yet");
  // Each has a process of its own, which is not the job's.
  const size_t live = core.runs.count_live_steps();
  if (live >= kMostSteps) return base::invalid(node + " has " + std::to_string(live) + " steps at once already");
  GW_TRY_STATUS(check_user(core.config, message.job().spec().uid(), message.job().allow_root()));
  GW_TRY_STATUS(check_share(core.config.node, message.share()));
  if (message.share().tasks() == 0 || message.share().tasks() > kMostTasks)
    return base::invalid("the controller gave " + std::to_string(message.share().tasks()) + " tasks, but 1 to " +
                         std::to_string(kMostTasks) + " fit a node");
  return {};
}

void refuse_step(Core& core, RunKey key, const std::string& why) {
  core.out.say(Level::kWarn, "step " + key.text() + " cannot start: " + why);
  const wire::PrepareFailed failure = make_refusal(key, why, false);
  send_failure(core, failure);
  core.graves.bury(key, 0, failure);
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

wire::RunRecord make_step_record(const NodeFacts& node, const wire::StartStep& start, const wire::RunRecord& job) {
  const RunKey key{job.job(), job.attempt(), start.step()};
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
  *record.mutable_claim() = claim_of(start);
  record.set_gpus(start.share().gpus());
  return record;
}

void begin_step(Core& core, const wire::StartStep& message, const Run& job) {
  Run& run = core.runs.add(make_step_record(core.config.node, message, job.record));
  run.stage = Stage::kLookup;
  run.start = std::make_shared<const wire::StartStep>(message);
  run.suspension.order = job.suspension.order;  // where the job is suspended, so is what is new in it
  core.out.add(LookupUser{run.key, message.job().spec().uid()});
  places_changed(core, job.key);
}

}  // namespace

void on_start_step(Core& core, const wire::StartStep& message) {
  const RunKey key{message.job().job(), message.job().attempt(), message.step()};
  if (!key.is_step()) return core.out.say(Level::kError, "the controller starts a step without a number: dropped");
  if (const Run* run = core.runs.find(key)) return repeat_prepare(core, *run);
  if (const Tombstone* grave = core.graves.find(key, core.known_state.root())) return repeat_failure(core, *grave, key);
  if (const base::Status status = check_start(core, message); !status)
    return refuse_step(core, key, status.error().text());
  begin_step(core, message, *core.runs.find(key.own()));
}

}  // namespace gw::noded
