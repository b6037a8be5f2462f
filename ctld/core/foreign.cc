// What nodes know that the controller's state does not: marks of a newer state or of another one, and runs that were
// placed by those. Such runs go on; ids that nodes know are not given again; a node that has one gets no new jobs,
// since what it holds is not in the ledger. While a state that is behind its nodes waits to hear of all of them nothing
// starts: what it takes for waiting may run there.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "ctld/core/controller.h"
#include "ctld/core/exit_report.h"
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
  return next < sched::kFirstPiece ? next : 0;  // no job has such an id
}

}  // namespace

/// It is the very run that the state has there, however long ago it was placed.
bool Controller::is_expected(NodeId node, uint32_t id, uint32_t attempt, const model::StateMark& mark) {
  const Job* job = current_run(id, attempt);
  return job != nullptr && placements_.is_on(node, job->id) && job->placed()->contract.placed_in == mark;
}

/// Looks for what the node has that is not ours; before it is shown to the scheduler. Returns what the node has seen.
Kin Controller::hear_of_state(Time now, const Node& node, const wire::Register& m) {
  const Kin seen = lineage_.kin(wire::from_wire(m.seen()));
  std::vector<ForeignRun> found;
  for (const wire::RunState& run : m.runs()) {
    if (run.step() != 0) continue;
    const model::StateMark mark = wire::from_wire(run.placed_in());
    if (is_expected(node.id, run.job(), run.attempt(), mark)) continue;
    Kin kin = lineage_.kin(mark);
    // A version without marks placed it, but not with us.
    if (!mark.says_anything() && run.job() >= jobs_.next().value) kin = Kin::kOther;
    if (held_.has_job(run.job())) kin = Kin::kHeld;
    const Node* first = nodes_.find(run.first_node());
    if (kin != Kin::kOurs)
      found.push_back({node.id, run.job(), run.attempt(), kin, first == nullptr ? NodeId() : first->id});
  }
  const bool is_news = seen != Kin::kOurs || !found.empty();
  foreign_.set(node.id, std::move(found));
  hear_of_held(node, m);
  const bool is_count_lost = held_.find(store::word_of(store::RowKind::kSetting), "next_job") != nullptr;
  if (!is_news && !is_count_lost) return seen;
  if (const uint32_t next = first_unknown_job(m); next > jobs_.next().value) {
    out_.note(fmt::format("node {} knows jobs up to {}: ids go on from there", node.config.name, next - 1));
    jobs_.skip_to(JobId(next));
  }
  if (seen != Kin::kOurs) out_.node_event(now, node, "knows more", fmt::format("it has seen {}", words_for(seen)));
  if (!foreign_.on(node.id).empty())
    out_.node_event(
        now, node, "foreign runs",
        fmt::format("{} go on, though the state does not know them; no new jobs there until they have ended: "
                    "gcontrol update nodename={} foreign=end",
                    foreign_.text_on(node.id), node.config.name));
  if (seen == Kin::kNewer) await_all_nodes(now);
  return seen;
}

/// What else the node lists of foreign runs goes on with them.
void Controller::want_foreign(NodeId node, const wire::Register& m, wire::Registered& out) const {
  for (const wire::RunState& run : m.runs()) {
    if (!foreign_.has(node, run.job(), run.attempt())) continue;
    wire::RunState& wanted = *out.add_wanted();
    wanted.set_job(run.job());
    wanted.set_attempt(run.attempt());
    wanted.set_step(run.step());
  }
}

void Controller::await_all_nodes(Time now) {
  if (heard_by_) return;
  heard_by_ = now + settings_.node_timeout;
  out_.note(
      fmt::format("the state is older than what nodes know: no job starts before all nodes have said what they run, or "
                  "until {}",
                  base::format_time(heard_by_)),
      true);
  timers_.set({heard_by_, TimerKind::kAllHeard, 0, 0});
  for (const auto& [id, node] : nodes_.all()) publish_node(node);
}

/// Some node has registered, or the time is over.
void Controller::look_who_is_heard(Time now) {
  if (!heard_by_) return;
  const bool lacks_one = std::any_of(nodes_.all().begin(), nodes_.all().end(), [](const auto& entry) {
    return !entry.second.connected && entry.second.admin == model::NodeAdmin::kUp;
  });
  if (lacks_one && now < heard_by_) return;
  heard_by_ = {};
  for (const auto& [id, node] : nodes_.all()) publish_node(node);
}

/// Jobs that the state takes for waiting may have runs on the node.
void Controller::consider_jobs_of_foreign(Time now, NodeId node) {
  const std::vector<ForeignRun> runs = foreign_.on(node);
  for (const ForeignRun& run : runs) {
    Job* job = jobs_.find(JobId(run.job));
    if (run.kin != Kin::kNewer || job == nullptr || job->waiting() == nullptr) continue;
    consider(now, *job);
    rows_.job(*job);
  }
}

/// A job that waits is not placed while a run of it lives that the state does not know, and not under that one's
/// number.
bool Controller::awaits_foreign_run(Job& job) {
  const ForeignRun* run = foreign_.newest_of(job.id);
  if (run == nullptr) return false;
  job.attempt = std::max(job.attempt, run->attempt);
  job.waiting()->reason = model::WaitReason::kCleaning;
  job.waiting()->detail = fmt::format(
      "its run {}, which a newer state placed, still lives on {}; it ends by itself, or by gcontrol update nodename={} "
      "foreign=end",
      run->text(), nodes_.name_of(run->node), nodes_.name_of(run->node));
  return true;
}

/// A message about a foreign run, which may have the number of one of ours. False: it is about none.
bool Controller::foreign_message(Time now, NodeId node, const wire::NodeToController& message) {
  using Kind = wire::NodeToController;
  const auto is_foreign = [&](const auto& m) { return foreign_.has(node, m.job(), m.attempt()); };
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
      if (m.step() == 0) foreign_gone(now, node, m.job(), m.attempt());
      return true;
    }
    case Kind::kBatchExited: {
      const wire::BatchExited& m = message.batch_exited();
      if (!is_foreign(m)) return false;
      if (m.step() == 0) foreign_exited(now, node, m);
      acknowledge_step(node, m.job(), m.attempt(), m.step(), wire::kRunEnding);
      return true;
    }
    case Kind::kDone: {
      const wire::Done& m = message.done();
      if (!is_foreign(m)) return false;
      acknowledge_step(node, m.job(), m.attempt(), m.step(), wire::kRunDone);
      if (m.step() == 0) foreign_gone(now, node, m.job(), m.attempt());
      return true;
    }
    default:
      return false;
  }
}

/// Its script is over: so is the run on all its nodes. If the job is ours, and waits, that is how it ended.
void Controller::foreign_exited(Time now, NodeId node, const wire::BatchExited& m) {
  const ForeignRun run = *foreign_.find(node, m.job(), m.attempt());
  model::Outcome outcome = outcome_of(m, nodes_.name_of(node), now);
  out_.node_event(
      now, nodes_.at(node), "foreign run ended",
      fmt::format("{} {}{}{}", run.text(), outcome.exit.text(), outcome.detail.empty() ? "" : ": ", outcome.detail));
  for (const ForeignRun& part : foreign_.parts_of(run)) stop_foreign(part);
  Job* job = jobs_.find(JobId(run.job));
  const bool is_its_end = run.kin == Kin::kNewer && job != nullptr && job->waiting() != nullptr &&
                          !job->spec.is_het() && outcome.reason != model::EndReason::kLeaseExpired;
  if (is_its_end) settle(now, *job, run, std::move(outcome));
}

/// Takes over how a run ended that a newer state had placed.
void Controller::settle(Time now, Job& job, const ForeignRun& run, model::Outcome outcome) {
  feed_.tell(sched::JobUnqueued{job.id});
  refuse_steps(job, "the job has ended");
  model::Placed placed;
  placed.partition = job.spec.partitions.front();
  if (!advance(job, model::JobEvent::kPlace)) return;
  job.phase = std::move(placed);
  job.attempt = std::max(job.attempt, run.attempt);
  if (!advance(job, model::JobEvent::kStop)) return;
  out_.job_event(
      now, job, "settled",
      fmt::format("by its run {} on {}, which a newer state had placed", run.text(), nodes_.name_of(run.node)));
  end(now, job, std::move(outcome));
}

void Controller::stop_foreign(const ForeignRun& run) {
  wire::ControllerToNode message;
  wire::Stop& s = *message.mutable_stop();
  s.set_job(run.job);
  s.set_attempt(run.attempt);
  s.set_grace_us(settings_.kill_wait.us);
  s.set_why("the controller's state does not know it");
  send_to_node(run.node, std::move(message));
}

/// Nodes come back one after the other: the first node of a gang may have reported its end before another one told of
/// its part, or while nobody listened.
void Controller::end_left_behind(NodeId node) {
  for (const ForeignRun& run : foreign_.left_behind_by(node)) stop_foreign(run);
  for (const ForeignRun& run : foreign_.on(node))
    if (nodes_.has_link(run.first) && !foreign_.has(run.first, run.job, run.attempt)) stop_foreign(run);
}

void Controller::foreign_gone(Time now, NodeId id, uint32_t job_id, uint32_t attempt) {
  if (!foreign_.erase(id, job_id, attempt)) return;
  for (const ForeignRun& part : foreign_.left_behind_by({id, job_id, attempt})) stop_foreign(part);
  const Node& node = nodes_.at(id);
  const std::vector<ForeignRun>& left = foreign_.on(id);
  if (std::none_of(left.begin(), left.end(), [&](const ForeignRun& run) { return run.job == job_id; }))
    held_may_run(node, job_id, false);
  if (foreign_.on(id).empty()) {
    out_.node_event(now, node, "foreign runs", "the last one is gone");
    publish_node(node);
  }
  Job* job = jobs_.find(JobId(job_id));
  if (job == nullptr || job->waiting() == nullptr) return;
  consider(now, *job);
  rows_.job(*job);
}

/// The job that the state has on the node is not there, but the node has gone on since the state was saved: it may have
/// come to its end. It waits, held, for somebody who knows.
void Controller::hold_what_may_have_ended(Job& job, NodeId node) {
  const bool goes_on = generation_on(job, node) != 0;  // an elastic gang, without the node
  if (!job.spec.requeue || job.state == model::JobState::kCompleting || goes_on) return;
  job.spec.hold_admin = true;
  rows_.job_and_spec(job);
}

}  // namespace gw::ctld
