// See why.h.
#include "ctld/core/api/why.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/hostlist.h"
#include "base/text.h"
#include "ctld/core/admission/budgets.h"
#include "ctld/core/api/offers.h"
#include "ctld/core/api/priorities.h"
#include "ctld/core/jobs/arrays.h"
#include "ctld/core/jobs/eligibility.h"
#include "ctld/core/jobs/facts.h"
#include "ctld/core/jobs/wait_reasons.h"
#include "ctld/core/names.h"
#include "ctld/core/shared/permissions.h"
#include "sched/queue/order_facts.h"
#include "wire/blockers.h"

namespace gw::ctld {
namespace {

constexpr size_t kMostNamed = 16;       ///< Jobs of each list of an answer.
constexpr size_t kMostVictims = 1'000;  ///< Likewise: how many they are is of interest.

/// As it is put before the scheduler; one that is kept from it, as if it were not.
sched::PendingJob asked_of(const Core& core, const model::Job& job) {
  sched::PendingJob out = pending_of(core, job);
  if (!out.eligible) out.eligible = core.now;
  return out;
}

/// Why no changes are tried; empty: they are.
std::string_view no_offers_why(const Core& core, const Caller& caller, const model::Job& job,
                               const model::TaskSet& tasks) {
  constexpr size_t kMostRangesTold = 32;
  if (!is_allowed(Grant::kOwnJobs, role_for(core, caller, job))) return "it is somebody else's";
  if (tasks.ranges().size() > kMostRangesTold)
    return "its tasks that wait lie too far apart to be named in one command";
  return {};
}

/// The first component, or the job, with what was changed.
sched::PendingJob asked_after(const Core& core, const model::Job& leader, std::vector<SpecOf> after) {
  model::Job changed = leader;
  for (SpecOf& of : after)
    if (of.first == leader.id) changed.spec = std::move(of.second);
  sched::PendingJob out = asked_of(core, changed);
  for (SpecOf& of : after) {
    const auto part = std::find_if(out.components.begin(), out.components.end(),
                                   [&of](const sched::Component& c) { return c.id == of.first; });
    if (part == out.components.end()) continue;
    model::Job component = core.jobs.at(of.first);
    component.spec = std::move(of.second);
    *part = component_of(component);
  }
  return out;
}

/// Something keeps it from the scheduler, whatever there is room for.
bool is_kept(const wire::Job& shown) {
  const model::Blockers all = wire::blockers_from(shown.status().waiting().blockers());
  return std::any_of(all.begin(), all.end(), [](const model::Blocker& b) {
    return b.kind == model::BlockerKind::kBudgetSpent ||
           (b.scope == model::BlockerScope::kJob && b.kind != model::BlockerKind::kNotLookedAt);
  });
}

void put(const sched::Outlook& outlook, wire::Outlook& out) {
  out.set_when(static_cast<uint32_t>(outlook.when));
  out.set_start_us(outlook.start.us);
  out.set_room_at_us(outlook.room_at.us);
  out.set_partition(outlook.partition);
  out.set_nodes(base::compress_hostlist(outlook.nodes));
  for (size_t i = 0; i < std::min(outlook.victims.size(), kMostVictims); ++i) out.add_victims(outlook.victims[i].value);
  for (size_t i = 0; i < std::min(outlook.waits_for.size(), kMostNamed); ++i)
    out.add_waits_for(outlook.waits_for[i].value);
  if (outlook.waits_for.size() > kMostNamed)
    out.set_waits_for_more(static_cast<uint32_t>(outlook.waits_for.size() - kMostNamed));
  out.set_reason(static_cast<uint32_t>(outlook.reason));
  wire::set_blockers(*out.mutable_blockers(), outlook.blockers);
}

std::string place_words(const sched::Start& start) {
  std::string where;
  for (const model::NodeShare& s : start.allocation.shares)
    where += fmt::format("{}{}: {} task{}, {} CPU{}, {}{}", where.empty() ? "" : "; ", s.name, s.tasks,
                         s.tasks == 1 ? "" : "s", s.cpus, s.cpus == 1 ? "" : "s", base::format_memory_mb(s.mem_mb),
                         s.gpus.empty() ? "" : ", GPUs " + s.gpus.text());
  return "in partition " + start.partition + " on " + where;
}

/// Of what it looked at, what decided.
std::string why_of(const sched::TakeVerdict& verdict) {
  const auto by_rule = std::find_if(verdict.lines.begin(), verdict.lines.end(),
                                    [](const std::string& line) { return line.rfind("rule ", 0) == 0; });
  return verdict.lines.empty() ? "" : by_rule == verdict.lines.end() ? verdict.lines.back() : *by_rule;
}

/// The start that the latest pass planned is the one that everybody is told.
void keep_told_start(wire::WhyJobReply& out) {
  const int64_t told = out.job().status().waiting().estimated_start_us();
  wire::Outlook& shown = *out.mutable_outlook();
  const auto when = static_cast<model::When>(shown.when());
  const bool is_later = when == model::When::kPlanned || when == model::When::kUnknown;
  if (told == 0 || !is_later || told == shown.start_us()) return;
  shown.set_when(static_cast<uint32_t>(model::When::kPlanned));
  shown.set_start_us(told);
  shown.clear_nodes();
  shown.clear_partition();
  shown.clear_waits_for();
  shown.clear_waits_for_more();
}

/// `next`: whom the scheduler is asked about, for the job; `blockers`: what is in its way.
void add_offers(const Core& core, const Caller& caller, const model::Job& job, const model::Job& next,
                const model::Blockers& blockers, AskOutlooks& ask) {
  wire::WhyJobReply& reply = *ask.reply.mutable_why_job();
  const model::TaskSet tasks = job.spec.array ? tasks_like(core, job, next) : model::TaskSet();
  reply.set_no_offers_why(std::string(no_offers_why(core, caller, job, tasks)));
  if (reply.no_offers_why().empty() && reply.is_kept()) reply.set_no_offers_why("it is kept from the scheduler");
  if (!reply.no_offers_why().empty()) return;
  Offers offers = offers_for(core, caller, job.spec.is_het() ? job : next, tasks, blockers);
  reply.set_offers_cut(offers.is_cut);
  for (Offer& offer : offers.all) {
    ask.asked.push_back(asked_after(core, next, std::move(offer.after)));
    ask.series.push_back(offer.series);
    *reply.add_offers()->mutable_change() = std::move(offer.change);
  }
}

}  // namespace

void put_outlook(const sched::Outlook& outlook, wire::WhyJobReply& out) {
  put(outlook, *out.mutable_outlook());
  keep_told_start(out);
  for (const sched::Ahead& ahead : outlook.ahead) {
    if (static_cast<size_t>(out.ahead_size()) == kMostNamed) {
      out.set_more_ahead(static_cast<uint32_t>(outlook.ahead.size() - kMostNamed));
      break;
    }
    wire::JobAhead& shown = *out.add_ahead();
    shown.set_id(ahead.job.value);
    shown.set_rule(static_cast<uint32_t>(ahead.rule));
    shown.set_start_us(ahead.start.us);
    shown.set_partition(ahead.partition);
  }
}

void put_quotas(const sched::QuotaPath& path, wire::WhyJobReply& out) {
  out.set_quota_asked(path.asked);
  for (const sched::QuotaStep& step : path.steps) {
    wire::QuotaStep& shown = *out.add_quota_path();
    shown.set_name(step.name);
    shown.set_held(step.held);
    shown.set_guaranteed(step.guaranteed);
    shown.set_fair(step.fair);
    if (step.limit != sched::kNoLimit) shown.set_limit(step.limit);
  }
  for (const sched::QuotaHolder& holder : path.holders) {
    wire::QuotaHolder& shown = *out.add_quota_holders();
    shown.set_name(holder.name);
    shown.set_beside(holder.beside);
    shown.set_held(holder.held);
    shown.set_beyond(holder.beyond);
    shown.set_lent(holder.lent);
    shown.set_may(holder.verdict.may);
    shown.set_rule(static_cast<uint32_t>(holder.verdict.rule));
    shown.set_may_take(holder.verdict.gpu_milli);
    shown.set_why(why_of(holder.verdict));
  }
}

void put_outlook(const sched::Outlook& outlook, wire::JobOffer& out) { put(outlook, *out.mutable_outlook()); }

void put_outlook(const sched::Outlook& outlook, const sched::PendingJob& job, wire::SubmitReply& out) {
  put(outlook, *out.mutable_outlook());
  out.set_estimated_start_us(outlook.start.us);
  std::vector<std::string> places;
  for (const sched::Start& start : outlook.starts) {
    wire::TestedStart& tested = *out.add_test_starts();
    tested.set_job_id(out.job_id() + UINT32_MAX - start.job.value);  // asked about from the highest number down
    tested.set_partition(start.partition);
    tested.set_nodes(base::compress_hostlist(start.allocation.node_names()));
    tested.set_cpus(start.allocation.total_cpus());
    places.push_back(place_words(start));
  }
  if (outlook.when == model::When::kNow) return out.set_test_verdict("would start now " + base::join(places, " : "));
  out.set_test_verdict(outlook.is_cut ? "the scheduler did not come to it within the steps of a question"
                                      : model::words(outlook.blockers));
  if (outlook.nodes.empty()) return;
  wire::TestedStart& planned = *out.add_test_starts();
  planned.set_job_id(out.job_id());
  planned.set_partition(outlook.partition);
  planned.set_nodes(base::compress_hostlist(outlook.nodes));
  planned.set_cpus(job.request.tasks * job.request.cpus_per_task);
}

void why_job(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  if (refuse_hurry(core, conn, caller, request.id())) return;
  const auto seen = seen_job(core, caller, request.why_job().id());
  if (!seen) return core.out.refuse(conn, request.id(), seen.error());
  const model::Job* job = *seen;
  AskOutlooks ask;
  ask.conn = conn;
  ask.uid = caller.uid;
  ask.reply.set_id(request.id());
  wire::WhyJobReply& reply = *ask.reply.mutable_why_job();
  reply.set_now_us(core.now.us);
  reply.set_cluster(core.settings.cluster);
  *reply.mutable_job() = job_to_wire(core, *job);
  show_priority(core, {core.now, core.ledger.capacity(), core.usage.last_sent_users()}, *job, *reply.mutable_job());
  const model::Job& leader = leader_of(core, *job);
  reply.set_is_kept(is_kept(&leader == job ? reply.job() : job_to_wire(core, leader)));
  if (job->waiting() == nullptr || leader.waiting() == nullptr)
    return core.out.reply(conn, request.id(), std::move(ask.reply));
  if (!leader.spec.reservation.empty()) admit_to_reservation(core, leader.spec);  // of one that is kept nobody was told
  const model::Job& next = job->spec.is_het() ? leader : next_of(core, *job);
  const wire::Job told = &next == job || job->spec.is_het() ? reply.job() : job_to_wire(core, next);
  if (&next != job && !job->spec.is_het()) {  // an array starts with its next task
    wire::Waiting& waiting = *reply.mutable_job()->mutable_status()->mutable_waiting();
    waiting.set_estimated_start_us(told.status().waiting().estimated_start_us());
    waiting.clear_start_range();
    if (told.status().waiting().has_start_range())
      *waiting.mutable_start_range() = told.status().waiting().start_range();
    reply.set_is_kept(is_kept(told));
  }
  ask.asked.push_back(asked_of(core, next));
  if (request.why_job().offers())
    add_offers(core, caller, *job, next, wire::blockers_from(told.status().waiting().blockers()), ask);
  core.out.send(std::move(ask));
}

}  // namespace gw::ctld
