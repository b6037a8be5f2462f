// See settle.h.
#include "ctld/core/settle.h"

#include "ctld/core/cluster/partitions.h"
#include "ctld/core/jobs/allocation_end.h"
#include "ctld/core/jobs/arrays.h"
#include "ctld/core/jobs/corresponding.h"
#include "ctld/core/jobs/dependents_due.h"
#include "ctld/core/jobs/eligibility.h"
#include "ctld/core/jobs/mails.h"
#include "ctld/core/jobs/usage.h"
#include "ctld/core/steps/begin.h"
#include "ctld/core/steps/reports.h"

namespace gw::ctld {

namespace {

struct Heard {
  Core& core;

  void operator()(const RunStarted& e) const {
    model::Job* job = core.jobs.find(e.job);
    moved(e.job);
    if (job == nullptr || job->state != model::JobState::kRunning) return;
    mail_of_start(core, *job);
    if (job->spec.kind != model::JobKind::kStep) return begin_waiting_steps(core, *job);
    begin_first_step(core, *job);
    await_step(core, *job);
  }
  void operator()(const RunResumed& e) const {
    if (model::Job* job = core.jobs.find(e.job)) begin_waiting_steps(core, *job);
  }
  void operator()(const JobStopping& e) const { refuse_steps(core, e.job, e.why); }
  void operator()(const NodeReleased& e) const { steps_left(core, e.job, e.node); }
  void operator()(const JobEnded& e) const {
    moved(e.job);
    const model::Job* job = core.jobs.find(e.job);
    if (job == nullptr) return;
    core.planning.forecasts.ended(*job);
    core.planning.cannot_be_frozen.erase(e.job);
    if (note_service(core, *job)) tell_policy(core);
    core.jobs.arrays().room_for(job->spec.uid);
    if (job->spec.array && job->state != model::JobState::kCompleted) give_up_corresponding_to(core, *job);
    mail_of_end(core, *job);
  }
  void operator()(const JobRevived& e) const { moved(e.job); }
  void operator()(const DependencyFailed& e) const {
    const model::Job* job = core.jobs.find(e.job);
    if (job != nullptr && job->waiting() != nullptr) mail_of_hopeless(core, *job);
  }
  void operator()(const JobRenamed& e) const { name_was_given_up(core, e.uid, e.before); }

  /// Who depends on an array depends on each of its tasks.
  void moved(JobId id) const {
    job_moved(core, id);
    const model::Job* job = core.jobs.find(id);
    if (job == nullptr || !job->spec.array) return;
    const model::ArrayPlace& place = *job->spec.array;
    Dependents& dependents = core.jobs.dependents();
    if (place.job != id) dependents.look_again_at_those_of({place.job});
    if (place.is_task())
      dependents.look_again_at_those_of({place.job, place.task});
    else
      dependents.look_again_at_those_of_tasks(place.job);
  }
};

/// So many conditions of jobs that wait for others are looked at in one transaction, and those of one job more.
constexpr size_t kMostConditions = 1'000;

}  // namespace

void settle(Core& core) {
  size_t looked_at = 0, cost = 0;
  do {
    while (!core.events.empty()) {
      const Event event = std::move(core.events.front());
      core.events.pop_front();
      std::visit(Heard{core}, event);
    }
    settle_components(core);
    cost = looked_at < kMostConditions ? look_at_one_dependent(core) : 0;
    looked_at += cost;
  } while (cost > 0);
  settle_components(core);
  look_at_dependents_later(core);
  make_due_tasks(core);
}

}  // namespace gw::ctld
