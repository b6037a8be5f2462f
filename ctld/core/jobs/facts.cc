// See facts.h.
#include "ctld/core/jobs/facts.h"

#include <algorithm>

#include "ctld/core/shared/told_progress.h"
#include "model/find_on.h"
#include "model/named_counts.h"
#include "model/suspension.h"
#include "sched/quota/quota_tree.h"
#include "wire/job_attributes.h"

namespace gw::ctld {

using model::Extension;
using model::Job;
using model::JobState;
using model::Outcome;
using model::Qos;

namespace {

/// What the state has is well formed.
model::Licenses licenses_of(const model::JobSpec& spec) {
  return spec.licenses.empty() ? model::Licenses() : model::parse_licenses(spec.licenses).value_or(model::Licenses());
}

/// Adds the components to what the scheduler is told of the leader.
void add_components(const Core& core, const Job& leader, sched::PendingJob& out) {
  for (uint32_t k = 1; k < leader.spec.het_size; ++k)
    if (const Job* one = core.jobs.find(JobId(leader.id.value + k))) out.components.push_back(component_of(*one));
}

/// So that a suspended job waits to resume. The rest of its time limit is what it asks for.
void ask_for_the_rest(const Job& job, sched::PendingJob& out) {
  const model::Placed& placed = *job.placed();
  out.request.exactly = model::freed_in_suspension(placed.allocation, placed.suspension->shares_gpus).shares;
  out.partitions = {placed.partition};
  out.time_min = {};
  out.deadline = {};  // what has begun is not given up for it
  out.counted_at = placed.suspension->since;
  out.suspends = out.between_turns = sched::Suspends::kNo;
  if (out.time_limit != base::kUnlimited)
    out.time_limit = std::max(placed.running_since() + out.time_limit - placed.suspension->since, base::seconds(1));
}

/// How long it takes, by what it told of its progress. While it is suspended nothing is done.
void tell_duration(const Job& job, sched::PendingJob& out) {
  const model::Progress& p = job.progress;
  out.scaling = std::min(p.scaling, 100U);
  if (p.has_overrun) out.overruns = base::Time{1};
  if (!binds(job.spec)) return;
  const bool has_begun = job.placed() != nullptr && job.placed()->started;
  if (has_begun && !is_suspended(job) && !p.has_overrun) out.overruns = p.promised;
  if (is_suspended(job) && p.promised && job.placed()->suspension->since >= p.promised) out.overruns = base::Time{1};
  if (!has_begun)
    out.remaining = p.left;
  else if (p.expected && is_suspended(job))
    out.remaining = std::max(p.expected - job.placed()->suspension->since, base::Duration{});
  else if (p.expected)
    out.remaining = std::max(p.expected - job.placed()->running_since(), base::Duration{});
  if (out.remaining != base::kUnlimited) out.remaining = std::min(out.remaining, out.time_limit);
}

}  // namespace

bool splits_by_user(const Core& core) {
  return sched::looks_at_users(core.planning.orders) ||
         std::any_of(core.planning.tree.begin(), core.planning.tree.end(),
                     [](const Qos& q) { return q.max_jobs_per_user > 0 || !q.limit_per_user.empty(); });
}

sched::ClassKey class_of(const Core& core, const model::Job& job) {
  return sched::class_key(pending_of(core, job), splits_by_user(core), core.planning.planned);
}

JobId holder_on(const Job& job, NodeId node) {
  const auto& extensions = job.placed()->extensions;
  if (const auto it = extensions.find(node); it != extensions.end()) return it->second.id;
  const auto& suspension = job.placed()->suspension;
  return suspension && suspension->kept_id ? suspension->kept_id : job.id;
}

uint32_t generation_on(const Job& job, NodeId node) {
  const auto& extensions = job.placed()->extensions;
  const auto it = extensions.find(node);
  return it == extensions.end() ? 0 : it->second.id.value;
}

const model::NodeShare* share_on(const Job& job, NodeId node) {
  const auto& shares = job.placed()->allocation.shares;
  const auto it = model::find_on(shares, node, [](const model::NodeShare& s) { return s.node; });
  return it == shares.end() ? nullptr : &*it;
}

std::vector<JobId> other_components(const Core& core, const Job& job) {
  std::vector<JobId> out;
  if (!job.spec.is_het()) return out;
  for (uint32_t k = 0; k < job.spec.het_size; ++k) {
    const Job* other = core.jobs.find(JobId(job.spec.het_job.value + k));
    if (other != nullptr && other->id != job.id && other->spec.het_job == job.spec.het_job) out.push_back(other->id);
  }
  return out;
}

std::vector<Job*> siblings(Core& core, const Job& job) {
  std::vector<Job*> out;
  for (const JobId id : other_components(core, job)) out.push_back(&core.jobs.at(id));
  return out;
}

bool goes_alone(const Job& job) {
  return job.placed()->allocation.shares.size() == 1 && !job.spec.is_het() && !job.spec.request.elastic &&
         job.spec.kind == model::JobKind::kBatch;
}

const Job& leader_of(const Core& core, const Job& job) {
  const Job* leader = core.jobs.find(job.spec.het_job);
  return job.spec.is_het() && leader != nullptr ? *leader : job;
}

model::Request asked_now(const Job& job) {
  model::Request r = job.spec.request;
  r.least_version = wire::least_version(job.spec);
  r.own_gpu = job.progress.company.needs_own_gpu && r.gpus > 0 && r.gpu_milli < model::kWholeGpu;
  r.exclude.insert(r.exclude.end(), job.shuns.begin(), job.shuns.end());
  return r;
}

bool has_gpus(const Core& core, const std::string& partition) {
  const auto p = core.partitions.all.find(partition);
  if (p == core.partitions.all.end()) return false;
  return std::any_of(p->second.nodes.begin(), p->second.nodes.end(), [&core](const std::string& name) {
    const model::Node* node = core.nodes.find(name);
    return node != nullptr && node->topology && !node->topology->gpus.empty();
  });
}

bool may_hold_gpus(const Core& core, const model::JobSpec& spec, const HasGpus& with_gpus) {
  if (spec.request.gpu_counting != model::GpuCounting::kNone) return true;
  return std::any_of(spec.partitions.begin(), spec.partitions.end(), [&](const std::string& name) {
    const auto p = core.partitions.all.find(name);
    const bool takes_nodes = p != core.partitions.all.end() && (spec.request.exclusive || p->second.exclusive);
    return takes_nodes && with_gpus(name);
  });
}

const BudgetOwner* spent_budget_of(const Core& core, const model::JobSpec& spec) {
  const BudgetOwner* owner =
      core.gpu_budgets.empty() ? nullptr : core.gpu_budgets.refusing(spec.user, core.quotas.path(spec.qos));
  if (owner == nullptr) return nullptr;
  const auto with_gpus = [&core](const std::string& partition) { return has_gpus(core, partition); };
  return may_hold_gpus(core, spec, with_gpus) ? owner : nullptr;
}

sched::Component component_of(const Job& job) {
  return {job.id, asked_now(job), job.spec.partitions, licenses_of(job.spec)};
}

sched::PendingJob pending_of(const Core& core, const Job& job) {
  sched::PendingJob out;
  out.id = job.id;
  out.request = model::least_of(asked_now(job));
  const bool may_grow = job.spec.request.elastic && spent_budget_of(core, job.spec) == nullptr;
  if (may_grow) out.most_tasks = model::most_tasks(job.spec.request);
  out.grows_by_node = job.spec.request.elastic;
  out.partitions = job.spec.partitions;
  out.qos = job.spec.qos;
  out.uid = job.spec.uid;
  const auto qos = core.quotas.qos.find(job.spec.qos);
  // Bounded, so that no sum can wrap and pass everybody.
  constexpr int64_t kMost = int64_t{1} << 50;
  out.priority = std::clamp(job.spec.priority, -kMost, kMost);
  out.nice = job.spec.nice;
  out.qos_priority = qos == core.quotas.qos.end() ? 0 : std::clamp(qos->second.priority, -kMost, kMost);
  out.submitted = job.submitted;
  // Tasks of an array go in the order of their indices, although the last one of a part has the smallest number.
  if (job.spec.array && job.spec.array->is_task())
    out.submitted = out.submitted + base::microseconds(job.spec.array->task);
  out.eligible = job.eligible;
  out.preemptions = job.preemptions;
  if (job.placed() != nullptr) out.saved = job.placed()->saved;
  out.attained = job.service.done;
  if (job.spec.het_job == job.id)
    for (const JobId other : other_components(core, job))
      out.attained = out.attained + core.jobs.at(other).service.done;
  out.counted_at = job.service.since;
  out.time_limit = job.spec.time_limit;
  out.time_min = job.spec.time_min;
  out.deadline = job.spec.deadline;
  out.reservation = job.spec.reservation;
  out.licenses = licenses_of(job.spec);
  out.may_move = job.spec.requeue && job.spec.on_preempt != model::OnPreempt::kCancel;
  out.preemptible = !job.spec.not_preemptible && (job.spec.requeue || job.spec.on_preempt == model::OnPreempt::kCancel);
  if (job.placed() != nullptr) out.preemptible = job.placed()->preemptible;
  out.saves_work = job.spec.on_preempt == model::OnPreempt::kCheckpoint;
  if (can_be_suspended(job.spec)) {
    const auto how = job.spec.preempt_signo == 0 ? sched::Suspends::kAtOnce : sched::Suspends::kAfterGrace;
    if (job.spec.on_preempt == model::OnPreempt::kSuspend) out.suspends = how;
    const auto stuck = core.planning.cannot_be_frozen.find(job.id);
    const bool is_stuck = stuck != core.planning.cannot_be_frozen.end() && stuck->second == job.attempt;
    if (!out.saves_work && !is_stuck) out.between_turns = how;
  }
  if (is_suspended(job)) ask_for_the_rest(job, out);
  tell_duration(job, out);
  if (job.spec.het_job == job.id) add_components(core, job, out);
  if (job.spec.is_het() && job.spec.het_job != job.id) out.whole = job.spec.het_job;
  return out;
}

Job* current_run(Core& core, uint32_t id, uint32_t attempt) {
  Job* job = core.jobs.find(JobId(id));
  return job != nullptr && job->attempt == attempt && job->placed() != nullptr ? job : nullptr;
}

bool was_preempted(const Outcome& outcome) { return outcome.preempted_for != 0 || outcome.end == JobState::kPreempted; }

model::Allocation held_by(const Job& job) {
  const model::Placed& placed = *job.placed();
  if (!placed.suspension || !placed.suspension->kept_id) return placed.allocation;
  return model::kept_in_suspension(placed.allocation, placed.suspension->shares_gpus);
}

bool ends_turn(const Job& job) {
  const auto& s = job.placed()->suspension;
  return s && s->is_turn;
}

bool can_be_suspended(const model::JobSpec& spec) {
  return !spec.is_het() && !spec.request.elastic && spec.reservation.empty();
}

}  // namespace gw::ctld
