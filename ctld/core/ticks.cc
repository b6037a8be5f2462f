// See ticks.h.
#include "ctld/core/ticks.h"

#include <algorithm>
#include <utility>

#include "ctld/core/admission/budgets.h"
#include "ctld/core/api/await_change.h"
#include "ctld/core/cluster/gpu_budgets.h"
#include "ctld/core/cluster/reservations.h"
#include "ctld/core/jobs/allocation_end.h"
#include "ctld/core/jobs/elastic.h"
#include "ctld/core/jobs/eligibility.h"
#include "ctld/core/jobs/mails.h"
#include "ctld/core/jobs/preemption.h"
#include "ctld/core/jobs/run.h"
#include "ctld/core/jobs/suspend.h"
#include "ctld/core/jobs/timeouts.h"
#include "ctld/core/jobs/usage.h"
#include "ctld/core/jobs/wait_clock.h"
#include "ctld/core/nodes/foreign.h"
#include "ctld/core/nodes/silence.h"
#include "ctld/core/shared/listing.h"
#include "ctld/core/steps/use.h"

namespace gw::ctld {

using model::Job;

namespace {

void fire(Core& core, const Timer& timer) {
  if (timer.kind == TimerKind::kNodeSilence || timer.kind == TimerKind::kNodeBeat)
    return node_silence_due(core, NodeId(static_cast<uint32_t>(timer.id)), timer.at);
  if (timer.kind == TimerKind::kNodeDown) return node_down_due(core, NodeId(static_cast<uint32_t>(timer.id)));
  if (timer.kind == TimerKind::kArrivals) return absent_due(core);
  if (timer.kind == TimerKind::kAllHeard) return look_who_is_heard(core);
  if (timer.kind == TimerKind::kReservation) return reservations_due(core);
  if (timer.kind == TimerKind::kUsage) return usage_due(core);
  if (timer.kind == TimerKind::kBudgets) return budgets_due(core);
  if (timer.kind == TimerKind::kWaits) return waits_due(core);
  if (timer.kind == TimerKind::kLists) return lists_due(core);
  if (timer.kind == TimerKind::kChanges) return changes_due(core);
  if (timer.kind == TimerKind::kStepUse) return answer_use(core, timer.id);
  if (timer.kind == TimerKind::kScripts) return drop_scripts(core);
  // settle() looks at them
  if (timer.kind == TimerKind::kDependents || timer.kind == TimerKind::kArrays) return;
  if (timer.kind == TimerKind::kReplies) {
    core.clients.kept_replies.forget_before(core.now - kReplyMemory);
    core.out.write(store::DropReplies{core.now - kReplyMemory});
    const Time oldest = core.clients.kept_replies.oldest();
    if (oldest != Time::never()) core.timers.set({oldest + kReplyMemory, TimerKind::kReplies, 0, 0});
    return;
  }
  Job* job = core.jobs.find(JobId(static_cast<uint32_t>(timer.id)));
  if (job != nullptr && timer.kind == TimerKind::kAbsence) return client_absence_due(core, *job);
  if (job == nullptr || job->attempt != timer.attempt) return;
  switch (timer.kind) {
    case TimerKind::kJobEligible:
      if (job->waiting() == nullptr) return;
      update_eligibility(core, *job);
      core.rows.job(*job);
      return;
    case TimerKind::kJobLimit:
      return job_limit_due(core, *job);
    case TimerKind::kJobWarn:
      return job_warn_due(core, *job);
    case TimerKind::kJobMail:
      return mail_due(core, *job);
    case TimerKind::kJobProgram:
      return job_program_due(core, *job);
    case TimerKind::kStartTimeout:
      return start_timeout_due(core, *job);
    case TimerKind::kLeaseOver:
      return lease_over_due(core, *job, timer.node);
    case TimerKind::kExtension:
      return extensions_due(core, *job);
    case TimerKind::kSuspension:
      return suspension_due(core, *job);
    case TimerKind::kEnvironment:
      // Another end than the one that it was set for may have come since.
      if (const model::Ended* ended = job->ended();
          ended != nullptr && ended->ended + core.settings.retention.environments <= core.now)
        environment_due(core, job->id);
      return;
    case TimerKind::kJobPurge:
      if (!model::is_end(job->state)) return;
      if (const ArrayTable::Array* array = core.jobs.arrays().find(job->id); array != nullptr && !array->is_over())
        return core.timers.set({core.now + core.settings.min_job_age, timer.kind, timer.id, timer.attempt});
      for (store::Op& row : core.rows.take_of(*job)) core.out.write(std::move(row));
      job_left_memory(core, job->id);
      core.jobs.erase(job->id);
      return;
    default:
      return;
  }
}

}  // namespace

void on_tick(Core& core, std::optional<Time> heard_until) {
  core.watch.heard_until = std::max(core.watch.heard_until, heard_until.value_or(core.now));
  Timer timer;
  while (core.timers.take_due(core.now, timer)) fire(core, timer);
  if (!core.planning.dry_run_moves.empty()) report_moves(core);
}

}  // namespace gw::ctld
