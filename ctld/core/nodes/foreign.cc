// See foreign.h.
#include "ctld/core/nodes/foreign.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ctld/core/jobs/eligibility.h"
#include "ctld/core/jobs/facts.h"
#include "ctld/core/jobs/run.h"
#include "ctld/core/jobs/transition.h"
#include "ctld/core/shared/exit_report.h"
#include "ctld/core/shared/held.h"
#include "ctld/core/shared/links.h"
#include "ctld/core/shared/publish.h"
#include "ctld/core/steps/orders.h"
#include "wire/convert.h"

namespace gw::ctld {

using model::Job;
using model::Node;

namespace {

std::string_view words_for(Kin kin) {
  return kin == Kin::kNewer ? "a newer state than the controller's, which was restored from an older copy"
                            : "another state than the controller's";
}

/// Ids from here on the node does not know.
uint32_t first_unknown_job(const wire::Register& m) {
  uint32_t next = m.seen().next_job();
  for (const wire::RunState& run : m.runs()) next = std::max(next, run.job() == UINT32_MAX ? 0 : run.job() + 1);
  return next < sched::kFirstHoldingId ? next : 0;  // no job has such an id
}

/// It is the very run that the state has there, however long ago it was placed.
bool is_expected(Core& core, NodeId node, uint32_t id, uint32_t attempt, const model::StateMark& mark) {
  const Job* job = current_run(core, id, attempt);
  return job != nullptr && core.placements.is_on(node, job->id) && job->placed()->contract.placed_in == mark;
}

void await_all_nodes(Core& core) {
  if (core.watch.heard_by) return;
  core.watch.heard_by = core.now + core.settings.node_timeout;
  core.out.note(
      fmt::format("the state is older than what nodes know: no job starts before all nodes have said what they run, or "
                  "until {}",
                  base::format_time(core.watch.heard_by)),
      true);
  core.timers.set({core.watch.heard_by, TimerKind::kAllHeard, 0, 0});
  for (const auto& [id, node] : core.nodes.all()) publish_node(core, node);
}

/// Takes over how a run ended that a newer state had placed.
void take_over_end(Core& core, Job& job, const ForeignRun& run, model::Outcome outcome) {
  core.feed.tell(sched::JobUnqueued{job.id});
  core.post(JobStopping{job.id, "the job has ended"});
  model::Placed placed;
  placed.partition = job.spec.partitions.front();
  if (!advance(core, job, model::JobEvent::kPlace)) return;
  job.phase = std::move(placed);
  job.attempt = std::max(job.attempt, run.attempt);
  if (!advance(core, job, model::JobEvent::kStop)) return;
  core.out.job_event(
      job, "settled",
      fmt::format("by its run {} on {}, which a newer state had placed", run.text(), core.nodes.name_of(run.node)));
  end(core, job, std::move(outcome));
}

/// Its script is over: so is the run on all its nodes. If the job is ours, and waits, that is how it ended.
void foreign_exited(Core& core, NodeId node, const wire::BatchExited& m) {
  const ForeignRun run = *core.watch.foreign.find(node, m.job(), m.attempt());
  model::Outcome outcome = outcome_of(m, core.nodes.name_of(node), core.now);
  core.out.node_event(
      core.nodes.at(node), "foreign run ended",
      fmt::format("{} {}{}{}", run.text(), outcome.exit.text(), outcome.detail.empty() ? "" : ": ", outcome.detail));
  for (const ForeignRun& part : core.watch.foreign.parts_of(run)) stop_foreign(core, part);
  Job* job = core.jobs.find(JobId(run.job));
  const bool is_its_end = run.kin == Kin::kNewer && job != nullptr && job->waiting() != nullptr &&
                          !job->spec.is_het() && outcome.reason != model::EndReason::kLeaseExpired;
  if (is_its_end) take_over_end(core, *job, run, std::move(outcome));
}

void foreign_gone(Core& core, NodeId id, uint32_t job_id, uint32_t attempt) {
  if (!core.watch.foreign.erase(id, job_id, attempt)) return;
  for (const ForeignRun& part : core.watch.foreign.left_behind_by({id, job_id, attempt})) stop_foreign(core, part);
  const Node& node = core.nodes.at(id);
  const std::vector<ForeignRun>& left = core.watch.foreign.on(id);
  if (std::none_of(left.begin(), left.end(), [&](const ForeignRun& run) { return run.job == job_id; }))
    held_may_run(core, node, job_id, false);
  if (core.watch.foreign.on(id).empty()) {
    core.out.node_event(node, "foreign runs", "the last one is gone");
    publish_node(core, node);
  }
  Job* job = core.jobs.find(JobId(job_id));
  if (job == nullptr || job->waiting() == nullptr) return;
  update_eligibility(core, *job);
  core.rows.job(*job);
}

}  // namespace

Kin hear_of_state(Core& core, const Node& node, const wire::Register& m) {
  const Kin seen = core.stored.lineage.kin(wire::from_wire(m.seen()));
  std::vector<ForeignRun> found;
  for (const wire::RunState& run : m.runs()) {
    if (run.step() != 0) continue;
    const model::StateMark mark = wire::from_wire(run.placed_in());
    if (is_expected(core, node.id, run.job(), run.attempt(), mark)) continue;
    Kin kin = core.stored.lineage.kin(mark);
    // A version without marks placed it, but not with us.
    if (!mark.says_anything() && run.job() >= core.jobs.next().value) kin = Kin::kOther;
    if (core.stored.held.has_job(run.job())) kin = Kin::kHeld;
    const Node* first = core.nodes.find(run.first_node());
    if (kin != Kin::kOurs)
      found.push_back({node.id, run.job(), run.attempt(), kin, first == nullptr ? NodeId() : first->id});
  }
  const bool is_news = seen != Kin::kOurs || !found.empty();
  core.watch.foreign.set(node.id, std::move(found));
  hear_of_held(core, node, m);
  const bool is_count_lost = core.stored.held.find(store::word_of(store::RowKind::kSetting), "next_job") != nullptr;
  if (!is_news && !is_count_lost) return seen;
  if (const uint32_t next = first_unknown_job(m); next > core.jobs.next().value) {
    core.out.note(fmt::format("node {} knows jobs up to {}: ids continue from there", node.config.name, next - 1));
    core.jobs.skip_to(JobId(next));
  }
  if (seen != Kin::kOurs) core.out.node_event(node, "knows more", fmt::format("it has seen {}", words_for(seen)));
  if (!core.watch.foreign.on(node.id).empty())
    core.out.node_event(
        node, "foreign runs",
        fmt::format("{} continue, though the state does not know them; no new jobs there until they have ended: "
                    "gcontrol update nodename={} foreign=end",
                    core.watch.foreign.text_on(node.id), node.config.name));
  if (seen == Kin::kNewer) await_all_nodes(core);
  return seen;
}

void want_foreign(const Core& core, NodeId node, const wire::Register& m, wire::Registered& out) {
  for (const wire::RunState& run : m.runs()) {
    if (!core.watch.foreign.has(node, run.job(), run.attempt())) continue;
    wire::RunState& wanted = *out.add_wanted();
    wanted.set_job(run.job());
    wanted.set_attempt(run.attempt());
    wanted.set_step(run.step());
  }
}

void look_who_is_heard(Core& core) {
  if (!core.watch.heard_by) return;
  const bool lacks_one = std::any_of(core.nodes.all().begin(), core.nodes.all().end(), [](const auto& entry) {
    return !entry.second.connected && entry.second.admin == model::NodeAdmin::kUp;
  });
  if (lacks_one && core.now < core.watch.heard_by) return;
  core.watch.heard_by = {};
  for (const auto& [id, node] : core.nodes.all()) publish_node(core, node);
}

void update_jobs_of_foreign(Core& core, NodeId node) {
  const std::vector<ForeignRun> runs = core.watch.foreign.on(node);
  for (const ForeignRun& run : runs) {
    Job* job = core.jobs.find(JobId(run.job));
    if (run.kin != Kin::kNewer || job == nullptr || job->waiting() == nullptr) continue;
    update_eligibility(core, *job);
    core.rows.job(*job);
  }
}

bool foreign_message(Core& core, NodeId node, const wire::NodeToController& message) {
  using Kind = wire::NodeToController;
  const auto is_foreign = [&](const auto& m) { return core.watch.foreign.has(node, m.job(), m.attempt()); };
  switch (message.kind_case()) {
    case Kind::kPrepared:
      return is_foreign(message.prepared());
    case Kind::kStarted:
      return is_foreign(message.started());
    case Kind::kSuspended:
      return is_foreign(message.suspended());
    case Kind::kPrepareFailed: {
      const wire::PrepareFailed& m = message.prepare_failed();
      if (!is_foreign(m)) return false;
      if (m.step() == 0) foreign_gone(core, node, m.job(), m.attempt());
      return true;
    }
    case Kind::kBatchExited: {
      const wire::BatchExited& m = message.batch_exited();
      if (!is_foreign(m)) return false;
      if (m.step() == 0) foreign_exited(core, node, m);
      acknowledge_step(core, node, m.job(), m.attempt(), m.step(), wire::kRunEnding);
      return true;
    }
    case Kind::kDone: {
      const wire::Done& m = message.done();
      if (!is_foreign(m)) return false;
      acknowledge_step(core, node, m.job(), m.attempt(), m.step(), wire::kRunDone);
      if (m.step() == 0) foreign_gone(core, node, m.job(), m.attempt());
      return true;
    }
    default:
      return false;
  }
}

void stop_foreign(Core& core, const ForeignRun& run) {
  wire::ControllerToNode message;
  wire::Stop& s = *message.mutable_stop();
  s.set_job(run.job);
  s.set_attempt(run.attempt);
  s.set_grace_us(core.settings.kill_wait.us);
  s.set_why("the controller's state does not know it");
  send_to_node(core, run.node, std::move(message));
}

void end_left_behind(Core& core, NodeId node) {
  for (const ForeignRun& run : core.watch.foreign.left_behind_by(node)) stop_foreign(core, run);
  for (const ForeignRun& run : core.watch.foreign.on(node))
    if (core.nodes.has_link(run.first) && !core.watch.foreign.has(run.first, run.job, run.attempt))
      stop_foreign(core, run);
}

void hold_what_may_have_ended(Core& core, Job& job, NodeId node) {
  const bool goes_on = generation_on(job, node) != 0;  // an elastic gang, without the node
  if (!job.spec.requeue || job.state == model::JobState::kCompleting || goes_on) return;
  job.spec.hold_admin = true;
  core.rows.job_and_spec(job);
}

}  // namespace gw::ctld
