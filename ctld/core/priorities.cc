// What jobs are ranked by, for gprio and gqueue: by the order's own functions, on what the scheduler was told.
#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "ctld/core/controller.h"
#include "ctld/core/job_cursor.h"
#include "sched/order_facts.h"

namespace gw::ctld {
namespace {

/// What is shown as a job's priority: what was submitted or set, else the score where the order puts one together.
int64_t shown_priority(const sched::PendingJob& job, const std::vector<sched::ScorePart>& parts) {
  constexpr double kMost = 1e15;
  if (job.priority != 0 || parts.size() < 2) return job.priority;
  double sum = 0;
  for (const sched::ScorePart& part : parts) sum += part.product();
  return std::llround(std::clamp(sum, -kMost, kMost));
}

}  // namespace

void Controller::show_priority(const sched::OrderFacts& facts, const model::Job& job, wire::Job& shown) const {
  if (job.state == model::JobState::kRunning || job.state == model::JobState::kConfiguring) {
    // Ranked as when it was placed: it ages no more. What a submission says has its place in the message of a job that
    // runs, too, since it is part of the rank.
    sched::PendingJob placed = pending_of(job);
    placed.eligible = placed.eligible + (facts.context().now - std::max(job.placed()->placed, placed.eligible));
    shown.mutable_spec()->set_priority(shown_priority(placed, order().parts(placed, facts.context())));
    return;
  }
  const model::Job& ranked = leader_of(job);
  if (!feed_.has_queued(ranked.id) || job.waiting() == nullptr) return;  // a suspended job is in line, too
  const sched::PendingJob pending = pending_of(ranked);
  shown.mutable_status()->mutable_waiting()->set_priority(
      shown_priority(pending, order().parts(pending, facts.context())));
}

void Controller::describe_priority(const sched::OrderFacts& facts, const model::Job& job,
                                   wire::JobPriority& out) const {
  const sched::PendingJob pending = pending_of(job);
  const std::vector<sched::ScorePart> parts = order().parts(pending, facts.context());
  out.set_id(job.id.value);
  out.set_uid(job.spec.uid);
  out.set_user(job.spec.user);
  out.set_account(job.spec.account);
  out.set_partition(base::join(job.spec.partitions, ","));
  out.set_qos(job.spec.qos);
  out.set_tier(sched::best_tier(ledger_.capacity(), pending));
  out.set_submitted_priority(pending.priority);
  out.set_priority(shown_priority(pending, parts));
  out.set_score(order().score(pending, facts.context()));
  if (parts.size() > 1)
    for (const sched::ScorePart& part : parts) out.add_factors(part.factor);
  out.set_submitted_us(job.submitted.us);
}

/// What the parts of the score are called and weigh.
void Controller::describe_order(const sched::OrderFacts& facts, wire::ListPrioritiesReply& list) const {
  list.set_order(std::string(order().name()));
  const std::vector<sched::ScorePart> parts = order().parts({}, facts.context());  // of no job: names and weights
  for (const sched::ScorePart& part : parts) {
    if (parts.size() < 2) break;
    list.add_names(part.name);
    list.add_weights(part.weight);
  }
}

void Controller::list_priorities(Time now, ConnId conn, const wire::ApiRequest& request) {
  auto fill = [this, cursor = JobCursor(request.list_priorities().filter())](Time at, ListPiece& piece) mutable {
    const sched::OrderFacts facts(at, ledger_.capacity(), usage_.told_users());
    wire::ListPrioritiesReply& list = *piece.reply.mutable_list_priorities();
    list.set_now_us(at.us);
    while (const model::Job* job = cursor.next(jobs_.all(), piece)) {
      if (!feed_.has_queued(job->id)) continue;
      wire::JobPriority& out = *list.add_jobs();
      describe_priority(facts, *job, out);
      piece.added(out.ByteSizeLong());
    }
    for (uint32_t id : cursor.take_unknown()) list.add_unknown_ids(id);
    if (cursor.is_done()) describe_order(facts, list);
    return cursor.is_done();
  };
  begin_list(now, conn, request.id(), std::move(fill));
}

}  // namespace gw::ctld
