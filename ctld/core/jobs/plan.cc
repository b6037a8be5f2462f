// See plan.h.
#include "ctld/core/jobs/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/hostlist.h"
#include "base/text.h"
#include "ctld/core/jobs/elastic.h"
#include "ctld/core/jobs/facts.h"
#include "ctld/core/jobs/preemption.h"
#include "ctld/core/jobs/run.h"
#include "ctld/core/jobs/suspend.h"
#include "ctld/core/jobs/transition.h"
#include "ctld/core/jobs/usage.h"
#include "ctld/core/jobs/wait_clock.h"
#include "ctld/core/rows/contract.h"
#include "sched/place/place.h"
#include "sched/quota/quota_tree.h"

namespace gw::ctld {

using base::Duration;
using model::EndReason;
using model::Job;
using model::JobEvent;
using model::JobState;
using model::Outcome;
using model::WaitReason;

namespace {

bool is_only_told(const sched::Group& group) {
  return std::all_of(group.decisions.begin(), group.decisions.end(),
                     [](const auto& d) { return std::holds_alternative<sched::Wait>(d); });
}

/// Drops what was said of classes that no job is in any more.
void forget_old_waits(Core& core) {
  std::set<sched::ClassKey> in_use;
  for (const auto& [id, job] : core.jobs.all())
    if (job.waiting() != nullptr || is_suspended(job)) in_use.insert(class_of(core, job));
  std::erase_if(core.planning.class_waits, [&](const auto& entry) { return !in_use.contains(entry.first); });
}

void reject(Core& core, const sched::Reject& hopeless) {
  Job* job = core.jobs.find(hopeless.job);
  if (job == nullptr || job->waiting() == nullptr || !core.stored.fault.empty()) return;
  Outcome outcome;
  outcome.end = JobState::kDeadline;
  outcome.reason = EndReason::kDeadlinePassed;
  outcome.detail = hopeless.detail;
  outcome.ended = core.now;
  for (Job* other : siblings(core, *job))
    if (other->waiting() != nullptr) end_pending(core, *other, JobState::kDeadline, outcome);
  end_pending(core, *job, JobState::kDeadline, std::move(outcome));
}

bool can_commit(const Core& core, const sched::Start& start) {
  const model::Job* job = core.jobs.find(start.job);
  if (job != nullptr && job->placed() != nullptr) return can_go_on(core, *job, start);
  // While the state cannot be written nothing new is begun.
  if (job == nullptr || job->waiting() == nullptr || job->is_held() || !core.stored.fault.empty()) return false;
  if (job->waiting()->reason != WaitReason::kNone) return false;  // put off while the plan was made
  const model::JobSpec& spec = job->spec;
  const auto reservation = core.reservations.all.find(spec.reservation);
  if (reservation != core.reservations.all.end() && !reservation->second.admits(spec.user, spec.qos)) return false;
  const sched::PendingJob pending = pending_of(core, *job);
  return sched::check(core.ledger.capacity(), pending, start) &&
         sched::check_reservations(core.reservations.told, pending, start, core.now);
}

std::string gpu_types_of(const Core& core, const model::Allocation& allocation) {
  std::set<std::string> types;
  for (const model::NodeShare& share : allocation.shares) {
    const auto& topology = core.nodes.at(share.node).topology;
    if (!topology) continue;
    for (uint32_t g = share.gpus.next(0); g < topology->gpus.size(); g = share.gpus.next(g + 1))
      types.insert(topology->gpus[g].type);
  }
  return base::join(std::vector<std::string>(types.begin(), types.end()), ",");
}

bool commit_start(Core& core, const sched::Start& start) {
  if (!can_commit(core, start)) return false;
  Job* job = core.jobs.find(start.job);
  if (job->placed() != nullptr) return go_on(core, *job);
  const Duration uncut = job->spec.time_limit;
  job->spec.time_limit = std::min(uncut, start.time_limit);
  const sched::PendingJob queued = pending_of(core, *job);
  const Placement placement{job->id,
                            start.partition,
                            start.allocation,
                            core.now,
                            core.now + job->spec.time_limit,
                            std::make_shared<const sched::PendingJob>(queued)};
  if (!core.ledger.place(placement) || !advance(core, *job, JobEvent::kPlace)) return false;
  ++job->attempt;
  charge(core, *job, {}, start.allocation);
  model::Placed placed;
  placed.allocation = start.allocation;
  placed.partition = start.partition;
  placed.gpu_types = gpu_types_of(core, start.allocation);
  placed.placed = core.now;
  const auto partition = core.partitions.all.find(start.partition);
  placed.contract = contract_for(core.settings, partition == core.partitions.all.end() ? nullptr : &partition->second);
  placed.contract.placed_in = core.stored.lineage.mark_of_next();
  if (job->spec.time_limit != uncut) placed.uncut_limit = uncut;
  placed.preemptible = queued.preemptible;
  for (const model::NodeShare& share : start.allocation.shares) {
    placed.waiting_for.insert(share.node);
    core.placements.put(share.node, job->id);
  }
  job->phase = std::move(placed);
  count_service(core, *job);
  core.rows.run(*job);
  if (job->placed()->uncut_limit.us != 0) core.rows.job_and_spec(*job);
  std::string text = fmt::format("attempt {} in {} on {}", job->attempt, start.partition,
                                 base::compress_hostlist(start.allocation.node_names()));
  if (start.borrows)
    text += fmt::format("; it borrows {} gpu beyond the guarantee of {}",
                        model::format_amount("gpu", start.borrows->gpu_milli), start.borrows->from_beyond);
  core.out.job_event(*job, "placed", text);
  return true;
}

/// All of a group, or nothing of it.
void commit_group(Core& core, const sched::Group& group) {
  if (!can_make_room(core, group)) return;
  for (const sched::Decision& decision : group.decisions) {
    const auto* start = std::get_if<sched::Start>(&decision);
    const bool makes_room = std::any_of(group.decisions.begin(), group.decisions.end(),
                                        [](const auto& d) { return std::holds_alternative<sched::Preempt>(d); });
    if (start != nullptr && !makes_room && !can_commit(core, *start)) return;
  }
  std::vector<JobId> placed;
  std::vector<model::WaitSplit> waits;  // of those
  std::vector<const sched::Preempt*> leaving;
  bool is_whole = true;
  for (const sched::Decision& decision : group.decisions) {
    if (const auto* start = std::get_if<sched::Start>(&decision)) {
      waits.push_back(core.planning.waits.split(start->job, core.now));
      if (commit_start(core, *start))
        placed.push_back(start->job);
      else
        is_whole = false;
    }
    if (const auto* grow = std::get_if<sched::Grow>(&decision)) commit_growth(core, *grow);
    if (const auto* victim = std::get_if<sched::Preempt>(&decision); victim != nullptr && preempt(core, *victim))
      leaving.push_back(victim);
    if (const auto* nomination = std::get_if<sched::Nomination>(&decision)) nominate(core, *nomination);
    if (const auto* hopeless = std::get_if<sched::Reject>(&decision)) reject(core, *hopeless);
    if (const auto* wait = std::get_if<sched::Wait>(&decision)) {
      WaitInfo told{wait->reason, wait->blockers};
      if (WaitInfo& before = core.planning.class_waits[wait->job_class]; before != told) {
        before = std::move(told);
        core.clients.changes.changed();
      }
      core.planning.waits.tell(wait->job_class, wait->cause, core.now);
    }
  }
  tell_displaced(core, leaving);
  if (is_whole || placed.empty()) {
    for (size_t i = 0; i < placed.size(); ++i) {  // one that was suspended resumes
      Job& job = core.jobs.at(placed[i]);
      if (job.state != JobState::kConfiguring) continue;
      core.planning.forecasts.started(job.id, core.now);
      core.planning.wait_figures.count(job.placed()->partition, job.spec.qos, waits[i]);
      prepare(core, job);
    }
    return;
  }
  // A component that no longer fits takes those before it back.
  Outcome outcome;
  outcome.end = JobState::kNodeFail;
  outcome.reason = EndReason::kLaunchFailed;
  outcome.detail = "a component of the job could not be placed any more";
  outcome.requeue = true;
  outcome.ended = core.now;
  for (JobId id : placed)  // of one that was not to go on nothing has begun
    if (model::Placed& of = *core.jobs.at(id).placed(); !of.started) of.contract.has_epilog = false;
  for (JobId id : placed) stop(core, core.jobs.at(id), outcome);
}

}  // namespace

void on_plan(Core& core, const sched::Plan& plan) {
  core.planning.dry_run_moves = plan.would_move;
  report_moves(core);
  follow_classes(core, plan);
  // One made for other quotas starts nobody beyond the present ones; what starts it plans, and why it lets others wait,
  // is said once, so it is kept.
  for (const sched::Group& group : plan.groups)
    if (plan.epoch >= core.planning.quota_epoch || is_only_told(group)) commit_group(core, group);
  if (core.planning.class_waits.size() > 10'000 + 2 * core.jobs.live()) forget_old_waits(core);
  if (!plan.exhausted) {  // of a plan that stopped half-way the planned starts are not complete
    std::map<JobId, sched::PlannedStart> planned;
    for (const sched::PlannedStart& r : plan.planned_starts) planned[r.job] = r;
    const auto is_alike = [](const auto& a, const auto& b) {
      return a.first == b.first && a.second.start == b.second.start;
    };
    if (!std::equal(planned.begin(), planned.end(), core.planning.estimates.begin(), core.planning.estimates.end(),
                    is_alike))
      core.clients.changes.changed();
    core.planning.estimates = std::move(planned);
    core.planning.gathered = plan.gathered;
    core.planning.kept_by_plan.reset();
  }
}

}  // namespace gw::ctld
