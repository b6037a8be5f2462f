// See suspension.h.
#include "noded/core/suspension.h"

#include <string>
#include <utility>
#include <vector>

#include "noded/core/link.h"

namespace gw::noded {

namespace {

/// The job's own run first, then the steps.
std::vector<RunKey> runs_of_job(const Core& core, const Run& job) {
  std::vector<RunKey> all = core.runs.live_steps(job.key);
  all.insert(all.begin(), job.key);
  return all;
}

void report_suspended(Core& core, const Run& job, uint32_t round, const std::string& problem) {
  wire::NodeToController message;
  wire::Suspended& s = *message.mutable_suspended();
  s.set_job(job.key.job);
  s.set_attempt(job.key.attempt);
  s.set_round(round);
  s.set_problem(problem);
  send(core, std::move(message));
}

void resume_job(Core& core, const Run& job, uint32_t round) {
  for (const RunKey& key : runs_of_job(core, job)) {
    Run& run = *core.runs.find(key);
    const bool never_stood = run.suspension.answered_round == round && !run.suspension.problem.empty();
    run.suspension.order.reset();
    run.suspension.resume_round = round;
    if (run.has_shepherd() && !never_stood) repeat_suspension(core, run);
  }
}

/// A step whose tasks have not begun is not waited for.
bool is_awaited(const Run& run, uint32_t round) {
  const bool has_begun = !run.key.is_step() || run.stage == Stage::kStarted || run.is_adopted();
  return has_begun && run.suspension.answered_round != round;
}

}  // namespace

void on_suspend(Core& core, const wire::Suspend& message) {
  Run* job = core.runs.find({message.job(), message.attempt(), 0});
  if (job == nullptr || job->stop.is_asked || job->exit || !job->is_live() || job->is_winding_up()) return;
  const uint32_t round = message.round();
  if (round < job->suspension.resume_round || job->suspension.is_after(round)) return;  // late
  job->suspension.is_told = false;
  for (const RunKey& key : runs_of_job(core, *job)) {
    Run& run = *core.runs.find(key);
    run.suspension.order = message;
    run.suspension.resume_round = 0;
    run.suspension.answered_round = 0;
    if (run.has_shepherd()) repeat_suspension(core, run);
  }
  check_suspended(core, *job);
}

void on_resume(Core& core, const wire::Resume& message) {
  const Run* job = core.runs.find({message.job(), message.attempt(), 0});
  if (job == nullptr || job->suspension.is_after(message.round())) return;
  resume_job(core, *job, message.round());
}

void on_suspended(Core& core, Run& run, const wire::StepSuspended& message) {
  run.suspension.answered_round = message.round();
  run.suspension.problem = message.problem();
  Run* job = core.runs.find(run.key.own());
  if (job == nullptr) return;
  const std::optional<wire::Suspend>& order = job->suspension.order;
  if (order && order->round() == message.round()) return check_suspended(core, *job);
  // Of an earlier daemon: the controller, which says it again, knows whether that still matters.
  if (!run.key.is_step()) report_suspended(core, run, message.round(), message.problem());
}

void check_suspended(Core& core, Run& job) {
  if (!job.suspension.order || job.suspension.is_told || job.stop.is_asked || job.exit) return;
  const uint32_t round = job.suspension.order->round();
  bool all_stand = true;
  std::vector<RunKey> all = core.runs.live_steps(job.key);
  all.push_back(job.key);
  for (const RunKey& key : all) {
    const Run& run = *core.runs.find(key);
    if (!run.has_shepherd() || run.exit || run.stop.is_asked || run.is_winding_up()) continue;
    if (run.suspension.answered_round == round && !run.suspension.problem.empty()) {
      job.suspension.is_told = true;
      report_suspended(core, job, round, run.suspension.problem);
      return resume_job(core, job, round);
    }
    all_stand = all_stand && !is_awaited(run, round);
  }
  if (!all_stand) return;
  job.suspension.is_told = true;
  report_suspended(core, job, round, "");
}

void repeat_suspension(Core& core, const Run& run) {
  if (run.stop.is_asked || !run.is_connected) return;
  wire::ToShepherd message;
  if (!run.suspension.order) {
    message.mutable_resume()->set_round(run.suspension.resume_round);
    return core.out.tell_shepherd(run, std::move(message));
  }
  const wire::Suspend& suspend = *run.suspension.order;
  wire::Stop order;
  order.set_signo(suspend.signo());
  order.set_preempted_for(suspend.preempted_for());
  order.set_preempt_rule(suspend.preempt_rule());
  core.out.add(KeepOrder{run.key, order});
  message.mutable_suspend()->set_grace_us(suspend.grace_us());
  message.mutable_suspend()->set_round(suspend.round());
  core.out.tell_shepherd(run, std::move(message));
}

}  // namespace gw::noded
