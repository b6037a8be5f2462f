// Heterogeneous jobs: components that start together or not at all, and end together. Each component is a job of its
// own with consecutive ids; the first, which leads, runs the batch script, the others hold their nodes for it.
// Invariants: only the leader is before the scheduler, with all the others as its components; what ends or requeues one
// component does so to all.
#include <fmt/format.h>

#include "ctld/core/controller.h"
#include "ctld/core/spec_rules.h"
#include "sched/place.h"
#include "wire/convert.h"
#include "wire/gang.h"

namespace gw::ctld {

using model::Job;
using model::JobState;
using model::Outcome;

/// The other components that are still known.
std::vector<Job*> Controller::siblings(const Job& job) {
  std::vector<Job*> out;
  if (!job.spec.is_het()) return out;
  for (uint32_t k = 0; k < job.spec.het_size; ++k) {
    Job* other = jobs_.find(JobId(job.spec.het_job.value + k));
    if (other != nullptr && other != &job && other->spec.het_job == job.spec.het_job) out.push_back(other);
  }
  return out;
}

/// Adds the components to what the scheduler is told of the leader.
void Controller::add_components(const Job& leader, sched::PendingJob& out) const {
  for (uint32_t k = 1; k < leader.spec.het_size; ++k) {
    const Job* one = jobs_.find(JobId(leader.id.value + k));
    if (one == nullptr) continue;
    out.components.push_back({one->id, asked_now(*one), one->spec.partitions});
  }
}

/// Puts the leader before the scheduler once every component waits for nothing else.
void Controller::consider_components(Time now, Job& job) {
  Job* leader = jobs_.find(job.spec.het_job);
  if (leader == nullptr || leader->waiting() == nullptr) return;
  std::vector<Job*> all = siblings(*leader);
  all.push_back(leader);
  if (all.size() < leader->spec.het_size) return;  // the others are still being entered
  for (const Job* one : all) {
    if (one->waiting() != nullptr && one->waiting()->reason == model::WaitReason::kNone) continue;
    if (leader->eligible) feed_.tell(sched::JobUnqueued{leader->id});
    return;
  }
  for (Job* one : all) {
    if (one->eligible) continue;
    one->eligible = now;
    if (one != &job) rows_.job(*one);
  }
  if (!leader->spec.reservation.empty()) admit_to_reservation(*leader);
  feed_.tell(sched::JobQueued{pending_of(*leader)});
}

/// A gang of one node that needs to wait for nobody starts as soon as its node is ready.
bool Controller::goes_alone(const Job& job) {
  return job.placed()->allocation.shares.size() == 1 && !job.spec.is_het() && !job.spec.request.elastic &&
         job.spec.kind == model::JobKind::kBatch;
}

/// All nodes of one component are ready; it goes with the others.
void Controller::go_together(Time now, Job& job) {
  std::vector<Job*> all = siblings(job);
  for (const Job* other : all) {
    const bool is_ready =
        other->placed() != nullptr && other->placed()->waiting_for.empty() && other->state == JobState::kConfiguring;
    if (!is_ready && other->state != JobState::kRunning) return rows_.job(job);
  }
  go(now, job);
  for (Job* other : all)
    if (other->state == JobState::kConfiguring) go(now, *other);
}

/// For the batch script's environment: where the components lie.
void Controller::tell_components(const Job& leader, wire::Prepare& out) const {
  for (uint32_t k = 0; k < leader.spec.het_size; ++k) {
    const Job* one = jobs_.find(JobId(leader.id.value + k));
    if (one == nullptr || one->placed() == nullptr) continue;
    wire::HetComponent& component = *out.add_components();
    component.set_job(one->id.value);
    component.set_partition(one->placed()->partition);
    *component.mutable_gang() = wire::gang_of(one->placed()->allocation);
  }
}

/// What one component came to all come to.
void Controller::stop_siblings(Time now, const Job& job, const Outcome& outcome) {
  for (Job* other : siblings(job)) {
    if (other->placed() == nullptr || other->state == JobState::kCompleting) continue;
    Outcome same = outcome;
    same.peak_mem_mb = 0;
    if (same.detail.empty() && same.end != JobState::kCompleted)
      same.detail = fmt::format("component {} of the job ended", job.id.value);
    other->launch_failures = std::max(other->launch_failures, job.launch_failures);
    stop(now, *other, std::move(same));
  }
}

/// Jobs that were named, with the other components of each.
std::set<uint32_t> Controller::with_components(std::set<uint32_t> ids) {
  const std::set<uint32_t> named = ids;
  for (uint32_t id : named)
    if (const Job* job = jobs_.find(JobId(id)))
      for (const Job* other : siblings(*job)) ids.insert(other->id.value);
  return ids;
}

/// Who asks for a heterogeneous job by its leader's id sees all of it.
void Controller::add_components_of_leaders(wire::JobFilter& filter) const {
  std::vector<uint32_t> more;
  for (const uint32_t id : filter.ids()) {
    const model::Job* leader = jobs_.find(JobId(id));
    if (leader == nullptr || leader->spec.het_job != leader->id) continue;
    for (uint32_t k = 1; k < leader->spec.het_size; ++k)
      if (jobs_.contains(JobId(id + k))) more.push_back(id + k);
  }
  for (const uint32_t id : more) filter.add_ids(id);
}

/// The job that is before the scheduler for this one: itself, or the first component.
const Job& Controller::leader_of(const Job& job) const {
  const Job* leader = jobs_.find(job.spec.het_job);
  return job.spec.is_het() && leader != nullptr ? *leader : job;
}

/// Why a component waits that itself could start: for another one, or with the first. nullopt: for what the scheduler
/// says of it.
std::optional<Controller::WaitInfo> Controller::wait_for_components(const Job& job) const {
  if (!job.spec.is_het()) return std::nullopt;
  for (uint32_t k = 0; k < job.spec.het_size; ++k) {
    const Job* one = jobs_.find(JobId(job.spec.het_job.value + k));
    if (one == nullptr || one->id == job.id) continue;
    const std::string other = fmt::format("component {}, job {},", k, one->id.value);
    const model::Waiting* waiting = one->waiting();
    if (waiting == nullptr) return WaitInfo{model::WaitReason::kCleaning, other + " has not left its nodes yet"};
    if (waiting->reason == model::WaitReason::kNone) continue;
    return WaitInfo{waiting->reason, fmt::format("{} cannot start yet: {}", other, waiting->detail)};
  }
  const Job& leader = leader_of(job);
  if (&leader == &job) return std::nullopt;
  WaitInfo info = wait_info(leader);
  info.detail = fmt::format("it starts with component 0, job {}: {}", job.spec.het_job.value, info.detail);
  return info;
}

/// A component as it is submitted: its request is its own, everything else is the leader's.
base::Result<model::JobSpec> Controller::accept_component(Time now, const Caller& caller, const wire::JobSpec& written,
                                                          const model::JobSpec& leader) const {
  GW_TRY(own, wire::from_wire(written));
  model::JobSpec spec = leader;
  spec.request = own.request;
  spec.partitions = own.partitions;
  spec.gpu_bind = own.gpu_bind;
  spec.gres_flags = own.gres_flags;
  spec.launch.command.clear();
  if (spec.request.cpus_per_task == 0) return base::invalid("-c/--cpus-per-task: a task needs a CPU");
  GW_TRY_STATUS(settle_spec(spec));
  route_by_reservation(spec);
  GW_TRY_STATUS(route(caller, spec));
  model::JobSpec timed = spec;
  GW_TRY_STATUS(check_time(timed, is_admin(settings_, caller)));
  GW_TRY_STATUS(model::check_times(spec, now));
  GW_TRY_STATUS(check_reservation(spec));
  GW_TRY_STATUS(check_runnable(spec));
  return spec;
}

/// Each component could run by itself; could they run beside each other?
base::Status Controller::check_together(const std::vector<const model::JobSpec*>& components) {
  sched::Capacity& cluster = ledger_.empty_cluster();
  base::Status verdict;
  uint32_t placed = 0;
  for (const model::JobSpec* spec : components) {
    bool fits = false;
    for (const std::string& name : spec->partitions) {
      const sched::PartitionFacts* facts = cluster.partition(name);
      if (facts == nullptr || fits) continue;
      const sched::Placement placement = sched::place(cluster, *facts, spec->request);
      fits = placement.allocation &&
             cluster.allocate(JobId(placed + 1), name, *placement.allocation, {}, Time::never()).has_value();
    }
    if (!fits) {
      verdict = base::invalid(
          fmt::format("component {} finds no room beside those before it, even on an empty cluster", placed),
          "ask for less, or submit the components as jobs of their own");
      break;
    }
    ++placed;
  }
  for (uint32_t id = 1; id <= placed; ++id) cluster.release_all(JobId(id));
  return verdict;
}

base::Result<std::vector<model::JobSpec>> Controller::accept_components(Time now, const Caller& caller,
                                                                        const wire::SubmitRequest& request,
                                                                        const model::JobSpec& leader) {
  constexpr int kMost = 128;
  std::vector<model::JobSpec> out;
  if (request.components_size() > kMost)
    return base::invalid(fmt::format("a heterogeneous job has at most {} components", kMost + 1));
  for (int k = 0; k < request.components_size(); ++k) {
    auto spec = accept_component(now, caller, request.components(k), leader);
    if (!spec)
      return base::fail(spec.error().code, fmt::format("component {}: {}", k + 1, spec.error().what),
                        spec.error().hint);
    out.push_back(std::move(*spec));
  }
  if (out.empty()) return out;
  const auto is_elastic = [](const model::JobSpec& spec) { return spec.request.elastic; };
  if (is_elastic(leader) || std::any_of(out.begin(), out.end(), is_elastic))
    return base::invalid("--elastic does not go with several components: all of them start and end together");
  std::vector<const model::JobSpec*> all = {&leader};
  for (const model::JobSpec& spec : out) all.push_back(&spec);
  GW_TRY_STATUS(check_together(all));
  return out;
}

}  // namespace gw::ctld
