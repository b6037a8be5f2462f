// See reports.h.
#include "ctld/core/steps/reports.h"

#include <fmt/format.h>

#include <tuple>

#include "base/reach.h"
#include "base/text.h"
#include "ctld/core/jobs/allocation_end.h"
#include "ctld/core/steps/begin.h"
#include "ctld/core/steps/orders.h"
#include "wire/convert.h"

namespace gw::ctld {

using model::Job;
using model::JobState;
using model::Step;
using model::StepNode;

namespace {

int severity(const model::ExitStatus& exit) { return exit.signo != 0 ? 128 + exit.signo : exit.code; }

/// It cannot run: whoever waits for it is told, and what has begun of it is ended.
void fail_step(Core& core, Step& step, const std::string& why) {
  const bool is_news = step.detail.empty() || severity(step.exit) == 0 || !step.is_killed;
  if (step.detail.empty()) step.detail = why;
  tell_step_waiters(core, step, {base::ErrorCode::kUnavailable, "the step could not start: " + why, ""});
  if (severity(step.exit) == 0) step.exit.code = 1;
  if (!step.is_killed) stop_step(core, step, {});  // each node of a large one may say that it failed
  if (is_news) core.rows.step(step);
}

void shepherd_ready(Core& core, Step& step, StepNode& node, const std::string& address, const std::string& key) {
  if (step.is_ending)
    return stop_step_on(core, step, node.share.node, step.is_killed ? base::Duration{} : kill_wait_of(core, step));
  if (key.size() != kKeyBytes) {
    core.out.note(fmt::format("step {}: node {} gave no key: ended", step.text(), core.nodes.name_of(node.share.node)),
                  true);
    return fail_step(core, step, fmt::format("node {} gave no key", core.nodes.name_of(node.share.node)));
  }
  if (node.address.empty()) ++step.ready_nodes;
  node.address = base::reachable_address(address, core.nodes.at(node.share.node).peer_address);
  node.key = key;
  if (step.ready_nodes < step.nodes.size()) return;
  if (!step.is_ready()) step.started = core.now;
  const auto range = core.clients.step_waiters.equal_range({step.job, step.number});
  for (auto it = range.first; it != range.second; ++it)
    send_ticket(core, step, it->second.conn, it->second.request_id, step.client_key, false);
  core.clients.step_waiters.erase(range.first, range.second);
}

void lose_part(Core& core, Step& step) {
  const bool is_news = severity(step.exit) == 0 || !step.is_ending;
  if (severity(step.exit) == 0) step.exit.code = 1;
  if (!step.is_ending) stop_step(core, step, kill_wait_of(core, step));
  if (is_news) core.rows.step_coalesced(step);
}

/// How it came out, in the words of jobs.
JobState end_of(const Job* job, const Step& step) {
  if (step.is_lease_over) return JobState::kNodeFail;
  if (step.is_out_of_memory) return JobState::kOutOfMemory;
  if (severity(step.exit) == 0) return JobState::kCompleted;
  const model::Placed* placed = job == nullptr ? nullptr : job->placed();
  const bool is_told_to_end = step.is_killed || (placed != nullptr && placed->kill_sent);
  return is_told_to_end && step.exit.signo != 0 ? JobState::kCancelled : JobState::kFailed;
}

void step_over(Core& core, const Step& ended) {
  const Step step = ended;
  Job* job = core.jobs.find(step.job);
  core.rows.past_step(step, core.now, end_of(job, step));
  tell_step_waiters(core, step, {base::ErrorCode::kUnavailable, "the step has ended: " + step.detail, ""});
  drop_step(core, {step.job, step.number});
  if (job == nullptr || job->attempt != step.attempt) return;
  core.out.job_event(*job, model::kStepEnded, model::end_line(step));
  if (severity(step.exit) > severity(job->derived_exit)) {
    job->derived_exit = step.exit;
    core.rows.job(*job);
  }
  // A look into the job by another step leaves it alone.
  const bool is_all = job->spec.kind == model::JobKind::kStep && step.number == 0;
  if (is_all && job->placed() != nullptr && job->state != JobState::kCompleting) return end_with_step(core, *job, step);
  begin_waiting_steps(core, *job);
}

/// Nothing of the step is left on a node; with the last one it is over.
void step_left_node(Core& core, Step& step, StepNode& node) {
  core.steps.left(step, node);
  core.rows.step_node(step, node.share.node);
  if (!step.is_ready() && !step.is_ending)
    fail_step(core, step, fmt::format("it ended early on {}", core.nodes.name_of(node.share.node)));
  if (step.gone_nodes == step.nodes.size()) step_over(core, step);
}

}  // namespace

void step_prepared(Core& core, NodeId node, const wire::Prepared& m) {
  const StepAt at = core.steps.at(node, m.job(), m.attempt(), m.step());
  if (at.node == nullptr || at.node->is_gone) return;
  shepherd_ready(core, *at.step, *at.node, m.address(), m.key());
}

void step_failed(Core& core, NodeId node, const wire::PrepareFailed& m) {
  const StepAt at = core.steps.at(node, m.job(), m.attempt(), m.step());
  if (at.node == nullptr || at.node->is_gone) return;
  fail_step(core, *at.step, fmt::format("on {}: {}", core.nodes.name_of(node), base::printable(m.detail(), 1000)));
  step_left_node(core, *at.step, *at.node);
}

void step_exited(Core& core, NodeId node, const wire::BatchExited& m) {
  const StepAt at = core.steps.at(node, m.job(), m.attempt(), m.step());
  if (at.node != nullptr) {
    const auto known = [&] {
      return std::tuple(at.step->exit, at.step->detail, at.step->is_out_of_memory, at.step->is_lease_over);
    };
    const auto before = known();
    const model::ExitStatus exit{m.exit_code() & 0xff, m.exit_signo()};
    if (severity(exit) > severity(at.step->exit)) at.step->exit = exit;
    if (at.step->detail.empty() && !m.detail().empty())
      at.step->detail = fmt::format("on {}: {}", core.nodes.name_of(node), base::printable(m.detail(), 1000));
    if (m.oom())
      at.step->detail = fmt::format("out of memory on {}; ask for more with --mem", core.nodes.name_of(node));
    at.step->is_out_of_memory |= m.oom();
    if ((m.oom() || m.reason() != 0) && severity(at.step->exit) == 0) at.step->exit.code = 1;  // that is no success
    // What its tasks come to is the client's business; a part that was lost ends the whole.
    const bool is_lease_over = m.reason() == static_cast<uint32_t>(model::EndReason::kLeaseExpired);
    at.step->is_lease_over |= is_lease_over;
    if (m.reason() == static_cast<uint32_t>(model::EndReason::kShepherdDied) || is_lease_over)
      lose_part(core, *at.step);
    if (known() != before) core.rows.step_coalesced(*at.step);
  }
  acknowledge_step(core, node, m.job(), m.attempt(), m.step(), wire::kRunEnding);
}

void step_done(Core& core, NodeId node, const wire::Done& m) {
  const StepAt at = core.steps.at(node, m.job(), m.attempt(), m.step());
  if (at.node != nullptr && !at.node->is_gone) {
    if (!m.problem().empty())
      core.out.node_event(core.nodes.at(node), "cleanup problem",
                          fmt::format("step {}: {}", at.step->text(), base::printable(m.problem(), 1000)));
    if (const model::RunUse use = wire::from_wire(m.use()); !use.empty()) {
      at.step->use.merge(use, core.nodes.name_of(node));
      core.rows.step_coalesced(*at.step);
    }
    step_left_node(core, *at.step, *at.node);
  }
  acknowledge_step(core, node, m.job(), m.attempt(), m.step(), wire::kRunDone);
}

void steps_left(Core& core, JobId id, NodeId node) {
  for (const StepKey& key : core.steps.on(node, id)) {
    const Step* step = core.steps.find(key);
    if (step == nullptr) continue;  // ended by what another one came to
    const StepAt at = core.steps.at(node, id.value, step->attempt, key.second + 1);
    if (at.node == nullptr || at.node->is_gone) continue;
    lose_part(core, *at.step);
    step_left_node(core, *at.step, *at.node);
  }
}

void want_steps(Core& core, NodeId node, wire::Registered& out) {
  for (const StepKey& key : core.steps.on(node)) {
    wire::RunState& wanted = *out.add_wanted();
    wanted.set_job(key.first.value);
    wanted.set_attempt(core.steps.find(key)->attempt);
    wanted.set_step(key.second + 1);
  }
}

void reconcile_steps(Core& core, const model::Node& node, const wire::Register& m, bool rebooted) {
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, const wire::RunState*> has;
  for (const wire::RunState& run : m.runs())
    if (run.step() != 0) has[{run.job(), run.attempt(), run.step()}] = &run;
  for (const StepKey& key : core.steps.on(node.id)) {
    const Step* step = core.steps.find(key);
    if (step == nullptr) continue;  // ended by what another one of them came to
    const StepAt at = core.steps.at(node.id, key.first.value, step->attempt, key.second + 1);
    if (at.node == nullptr || at.node->is_gone) continue;
    const auto run = has.find({key.first.value, step->attempt, key.second + 1});
    const Job* job = core.jobs.find(key.first);
    if (run == has.end()) {
      const bool is_new = !at.step->is_ready() && at.node->address.empty() && !at.step->is_ending && !rebooted;
      if (is_new && job != nullptr && job->state == JobState::kRunning && core.placements.is_on(node.id, job->id)) {
        send_start_step(core, *job, *at.step, static_cast<size_t>(at.node - at.step->nodes.data()),
                        start_of(core, *job, *at.step));
      } else {
        if (at.step->detail.empty()) at.step->detail = fmt::format("node {} no longer has it", node.config.name);
        lose_part(core, *at.step);
        step_left_node(core, *at.step, *at.node);
      }
    } else if (at.step->is_ending) {
      stop_step_on(core, *at.step, node.id, at.step->is_killed ? base::Duration{} : kill_wait_of(core, *at.step));
    } else if (!run->second->address().empty()) {
      shepherd_ready(core, *at.step, *at.node, run->second->address(), run->second->key());
    }
  }
}

}  // namespace gw::ctld
