// See priorities.h.
#include "ctld/core/api/priorities.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "ctld/core/api/job_cursor.h"
#include "ctld/core/jobs/facts.h"
#include "ctld/core/jobs/targets.h"
#include "ctld/core/shared/listing.h"
#include "ctld/core/shared/sight.h"
#include "sched/queue/order_facts.h"
#include "sched/quota/holdings.h"
#include "sched/quota/quota_tree.h"

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

/// What users run, by QOS, partition and user.
struct Holdings {
  std::map<std::tuple<std::string, std::string, uint32_t>, sched::Held> by_user;
  std::map<std::string, sched::Held> all, free;  ///< That partitions have.
};

/// Empty where no order goes by it.
Holdings held_by_users(const Core& core) {
  Holdings out;
  const sched::Needs& needs = core.planning.orders.needs();
  if (!needs.holdings && !needs.parts) return out;
  for (const auto& [name, facts] : core.ledger.capacity().partitions()) {
    out.all[name] = sched::all_of(core.ledger.capacity(), name);
    out.free[name] = sched::free_in(core.ledger.capacity(), name);
  }
  if (!needs.holdings) return out;
  for (const auto& [id, job] : core.jobs.all())
    if (const model::Placed* placed = job.placed(); placed != nullptr && !is_suspended(job))
      out.by_user[{job.spec.qos, placed->partition, job.spec.uid}] += sched::held_of(placed->allocation);
  return out;
}

void tell_holdings(const Holdings& held, const std::string& partition, sched::JobFacts& facts) {
  const auto all = held.all.find(partition);
  if (all == held.all.end()) return;
  facts.demand = sched::parts_of(sched::asked_by(facts.job), all->second);
  facts.free = sched::parts_of(held.free.at(partition), all->second);
  const auto runs = held.by_user.find({facts.job.qos, partition, facts.job.uid});
  if (runs == held.by_user.end()) return;
  facts.held_by_user = runs->second.gpus();
  facts.dominant_share = runs->second.dominant_of(all->second);
}

std::vector<sched::ScorePart> parts_of(const Core& core, const sched::OrderFacts& facts, const sched::PendingJob& job) {
  return core.planning.orders.of(job).parts(
      sched::waiting_facts(job, facts.context().now, core.planning.orders.services()), facts.context());
}

void describe_priority(const Core& core, const sched::OrderFacts& facts, const Holdings& held, const model::Job& job,
                       wire::JobPriority& out) {
  const sched::PendingJob pending = pending_of(core, job);
  const sched::Order& order = core.planning.orders.of(pending);
  sched::JobFacts own = sched::waiting_facts(pending, facts.context().now, core.planning.orders.services());
  tell_holdings(held, pending.partitions.front(), own);
  const std::vector<sched::ScorePart> parts = order.parts(own, facts.context());
  const bool is_clusters = &order == &core.planning.orders.cluster();  // whose parts the list names
  out.set_order(std::string(order.name()));
  out.set_id(job.id.value);
  out.set_uid(job.spec.uid);
  out.set_user(job.spec.user);
  out.set_account(job.spec.account);
  out.set_partition(base::join(job.spec.partitions, ","));
  out.set_qos(job.spec.qos);
  out.set_tier(sched::best_tier(core.ledger.capacity(), pending));
  out.set_submitted_priority(pending.priority);
  out.set_priority(shown_priority(pending, parts));
  out.set_score(order.score(own, facts.context()));
  if (parts.size() > 1 && is_clusters)
    for (const sched::ScorePart& part : parts) out.add_factors(part.factor);
  out.set_submitted_us(job.submitted.us);
}

/// What the parts of the score are called and weigh.
void describe_order(const Core& core, const sched::OrderFacts& facts, wire::ListPrioritiesReply& list) {
  const sched::Order& order = core.planning.orders.cluster();
  list.set_order(std::string(order.name()));
  const sched::PendingJob none;  // names and weights are the same for all
  const std::vector<sched::ScorePart> parts =
      order.parts(sched::waiting_facts(none, facts.context().now), facts.context());
  for (const sched::ScorePart& part : parts) {
    if (parts.size() < 2) break;
    list.add_names(part.name);
    list.add_weights(part.weight);
  }
}

}  // namespace

void show_priority(const Core& core, const sched::OrderFacts& facts, const model::Job& job, wire::Job& shown) {
  if (job.state == model::JobState::kRunning || job.state == model::JobState::kConfiguring) {
    // Ranked as when it was placed: it ages no more. What a submission says has its place in the message of a job that
    // runs, too, since it is part of the rank.
    sched::PendingJob placed = pending_of(core, job);
    placed.eligible = placed.eligible + (facts.context().now - std::max(job.placed()->placed, placed.eligible));
    shown.mutable_spec()->set_priority(shown_priority(placed, parts_of(core, facts, placed)));
    return;
  }
  const model::Job& ranked = leader_of(core, job);
  if (job.waiting() != nullptr && job.spec.is_array() && job.waiting()->reason == model::WaitReason::kNone) {
    // As its tasks are: it is never before the scheduler itself.
    const sched::PendingJob pending = pending_of(core, job);
    return shown.mutable_status()->mutable_waiting()->set_priority(
        shown_priority(pending, parts_of(core, facts, pending)));
  }
  if (!core.feed.has_queued(ranked.id) || job.waiting() == nullptr) return;  // a suspended job is in line, too
  const sched::PendingJob pending = pending_of(core, ranked);
  shown.mutable_status()->mutable_waiting()->set_priority(shown_priority(pending, parts_of(core, facts, pending)));
}

void list_priorities(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  const SeenJobs seen = Sight(core, caller).jobs();
  auto filter = with_all_meant(core, seen, request.list_priorities().filter());
  if (!filter) return core.out.refuse(conn, request.id(), filter.error());
  auto fill = [&core, held = held_by_users(core), cursor = JobCursor(std::move(*filter), seen)](
                  Time at, ListPiece& piece) mutable {
    const sched::OrderFacts facts(at, core.ledger.capacity(), core.usage.last_sent_users());
    wire::ListPrioritiesReply& list = *piece.reply.mutable_list_priorities();
    list.set_now_us(at.us);
    while (const model::Job* job = cursor.next(core.jobs.all(), piece)) {
      if (!core.feed.has_queued(job->id)) continue;
      wire::JobPriority& out = *list.add_jobs();
      describe_priority(core, facts, held, *job, out);
      piece.added(out.ByteSizeLong());
    }
    for (uint32_t id : cursor.take_unknown()) list.add_unknown_ids(id);
    if (const uint32_t hidden = cursor.take_hidden(); hidden > 0) list.add_hidden(hidden);
    if (cursor.is_done()) describe_order(core, facts, list);
    return cursor.is_done();
  };
  begin_list(core, conn, request.id(), std::move(fill));
}

}  // namespace gw::ctld
