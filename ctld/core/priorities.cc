// What jobs are ranked by, for gprio and gqueue: by the order's own functions, on what the scheduler was told.
#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "ctld/core/controller.h"
#include "ctld/core/list_pieces.h"
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
  const model::Job& ranked = leader_of(job);
  if (!in_line_.contains(ranked.id) || job.waiting() == nullptr) return;  // a suspended job is in line, too
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
  out.set_tier(sched::best_tier(ledger_, pending));
  out.set_submitted_priority(pending.priority);
  out.set_priority(shown_priority(pending, parts));
  out.set_score(order().score(pending, facts.context()));
  if (parts.size() > 1)
    for (const sched::ScorePart& part : parts) out.add_factors(part.factor);
  out.set_submitted_us(job.submitted.us);
}

void Controller::list_priorities(Time now, ConnId conn, const wire::ApiRequest& request) {
  const sched::OrderFacts facts(now, ledger_, told_use_);
  ListPieces pieces(conn, request.id(), effects_);
  std::vector<uint32_t> unknown;
  for (JobId id : select(request.list_priorities().filter(), &unknown)) {
    if (!in_line_.contains(id)) continue;
    wire::JobPriority& out = *pieces.piece().mutable_list_priorities()->add_jobs();
    describe_priority(facts, jobs_.at(id), out);
    pieces.added(out.ByteSizeLong());
  }
  wire::ListPrioritiesReply& last = *pieces.piece().mutable_list_priorities();
  for (uint32_t id : unknown) last.add_unknown_ids(id);
  last.set_now_us(now.us);
  last.set_order(std::string(order().name()));
  const std::vector<sched::ScorePart> parts = order().parts({}, facts.context());  // of no job: names and weights
  for (const sched::ScorePart& part : parts) {
    if (parts.size() < 2) break;
    last.add_names(part.name);
    last.add_weights(part.weight);
  }
  reply(conn, request.id(), std::move(pieces.piece()));
}

}  // namespace gw::ctld
