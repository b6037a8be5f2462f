// The node agent: jobs that stand still and go on. The job's script and its steps each have a shepherd, which freezes
// what is its own; the controller hears of the job as a whole.
// Invariant: Suspended is said once all of them stand, or with the first problem, and then none stands.
#include "noded/core/agent.h"

namespace gw::noded {

void NodeAgent::on_suspend(base::Time now, const wire::Suspend& message) {
  Run* job = find({message.job(), message.attempt(), 0});
  if (job == nullptr || job->stop_asked || job->exit || !job->is_live() || job->is_winding_up()) return;
  if (message.round() < job->resume_round || (job->suspend && message.round() < job->suspend->round())) return;  // late
  job->told_standing = false;
  std::vector<RunKey> all = live_steps(job->key);
  all.insert(all.begin(), job->key);
  for (const RunKey& key : all) {
    Run& run = *find(key);
    run.suspend = message;
    run.resume_round = 0;
    run.stood_round = 0;
    if (run.has_shepherd()) send_pace(run);
  }
  check_stands(now, *job);
}

void NodeAgent::on_resume(const wire::Resume& message) {
  Run* job = find({message.job(), message.attempt(), 0});
  if (job == nullptr || (job->suspend && message.round() < job->suspend->round())) return;
  go_on(*job, message.round());
}

void NodeAgent::go_on(Run& job, uint32_t round) {
  std::vector<RunKey> all = live_steps(job.key);
  all.insert(all.begin(), job.key);
  for (const RunKey& key : all) {
    Run& run = *find(key);
    const bool never_stood = run.stood_round == round && !run.stood_problem.empty();
    run.suspend.reset();
    run.resume_round = round;
    if (run.has_shepherd() && !never_stood) send_pace(run);
  }
}

void NodeAgent::on_stands(base::Time now, Run& run, const wire::StepSuspended& message) {
  run.stood_round = message.round();
  run.stood_problem = message.problem();
  Run* job = find(run.key.own());
  if (job == nullptr) return;
  if (job->suspend && job->suspend->round() == message.round()) return check_stands(now, *job);
  // Of an earlier daemon: the controller, which says it again, knows whether that still matters.
  if (!run.key.is_step()) report_suspended(now, run, message.round(), message.problem());
}

/// Tells the controller once everything of the job stands. A step whose tasks have not begun is not waited for.
void NodeAgent::check_stands(base::Time now, Run& job) {
  if (!job.suspend || job.told_standing || job.stop_asked || job.exit) return;
  const uint32_t round = job.suspend->round();
  bool all_stand = true;
  std::vector<RunKey> all = live_steps(job.key);
  all.push_back(job.key);
  for (const RunKey& key : all) {
    const Run& run = *find(key);
    if (!run.has_shepherd() || run.exit || run.stop_asked || run.is_winding_up()) continue;
    if (run.stood_round == round && !run.stood_problem.empty()) {
      job.told_standing = true;
      report_suspended(now, job, round, run.stood_problem);
      return go_on(job, round);
    }
    const bool has_begun = !key.is_step() || run.stage == Stage::kStarted || run.is_adopted();
    all_stand = all_stand && (run.stood_round == round || !has_begun);
  }
  if (!all_stand) return;
  job.told_standing = true;
  report_suspended(now, job, round, "");
}

/// Tells the shepherd whether the step is to stand still.
void NodeAgent::send_pace(Run& run) {
  if (run.stop_asked || !run.is_connected) return;
  wire::ToShepherd message;
  if (!run.suspend) {
    message.mutable_resume()->set_round(run.resume_round);
    return to_shepherd(run, std::move(message));
  }
  wire::Stop order;
  order.set_signo(run.suspend->signo());
  order.set_preempted_for(run.suspend->preempted_for());
  order.set_preempt_rule(run.suspend->preempt_rule());
  out_.emplace_back(KeepOrder{run.key, order});
  message.mutable_suspend()->set_grace_us(run.suspend->grace_us());
  message.mutable_suspend()->set_round(run.suspend->round());
  to_shepherd(run, std::move(message));
}

void NodeAgent::report_suspended(base::Time now, const Run& run, uint32_t round, const std::string& problem) {
  wire::NodeToController message;
  wire::Suspended& s = *message.mutable_suspended();
  s.set_job(run.key.job);
  s.set_attempt(run.key.attempt);
  s.set_round(round);
  s.set_problem(problem);
  send(now, std::move(message));
}

}  // namespace gw::noded
