// See audit.h.
#include "ctld/core/audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "ctld/core/jobs/facts.h"

namespace gw::ctld {

using base::Status;
using model::Job;

namespace {

Status wrong(std::string what) { return base::fail(base::ErrorCode::kInternal, std::move(what)); }

/// Each share that the job has on a node is in the ledger as it is; `held` counts them.
Status audit_job(const Core& core, const Job& job, size_t& held) {
  if (job.placed() == nullptr) return {};
  for (const model::NodeShare& share : held_by(job).shares) {
    const auto in_ledger = core.ledger.capacity().share_of(holder_on(job, share.node), share.node);
    const bool is_on = core.placements.is_on(share.node, job.id);
    if (in_ledger.has_value() != is_on)
      return wrong(fmt::format("job {} on {}: placed {}, in the ledger {}", job.id.value, share.name, is_on,
                               in_ledger.has_value()));
    if (!is_on) continue;
    ++held;
    if (in_ledger->cores != share.cores || in_ledger->gpus != share.gpus || in_ledger->mem_mb != share.mem_mb ||
        in_ledger->gres != share.gres)
      return wrong(fmt::format("job {} on {}: the ledger holds another share of it", job.id.value, share.name));
  }
  return {};
}

/// A job that waits for others is found from each of them.
Status audit_dependency(const Core& core, const Job& job) {
  if (job.waiting() == nullptr) return {};
  for (const model::DependencyTerm& term : job.unmet.terms) {
    const Awaited other{term.job, term.task.value_or(model::kNoArrayTask)};
    if (term.job && !term.is_failed && !core.jobs.dependents().knows(other, job.id))
      return wrong(fmt::format("job {} waits for job {}, which does not know", job.id.value, term.job.value));
  }
  return {};
}

/// What a job has waited for is the time that it has waited, and it waits by the clock of what keeps it waiting.
Status audit_waits(const Core& core) {
  size_t waiting = 0;
  for (const auto& [id, job] : core.jobs.all()) {
    if (job.waiting() == nullptr) continue;
    ++waiting;
    const model::WaitSplit waited = core.planning.waits.split(id, core.now);
    const base::Duration all = std::max(core.now - job.waiting()->since, base::Duration{});
    if (waited.total() != all)
      return wrong(fmt::format("job {} waits for {} us and knows of {} for what", id.value, all.us, waited.total().us));
    for (const model::WaitSplit::Part& part : waited.parts())
      if (part.time.us < 0) return wrong(fmt::format("job {} has waited {} us for something", id.value, part.time.us));
  }
  if (waiting == core.planning.waits.size()) return {};
  return wrong(fmt::format("{} jobs wait, {} by a clock", waiting, core.planning.waits.size()));
}

Status audit_placements(const Core& core) {
  for (const auto& [node, jobs] : core.placements.by_node())
    for (const JobId id : jobs) {
      const Job* job = core.jobs.find(id);
      if (job == nullptr || job->placed() == nullptr || share_on(*job, node) == nullptr)
        return wrong(fmt::format("job {} is on {}, where it is not placed", id.value, core.nodes.name_of(node)));
    }
  return {};
}

/// An array counts its tasks that are in memory as they are.
Status audit_arrays(const Core& core) {
  struct Counted {
    uint32_t live = 0, waiting = 0, all = 0, waiting_parts = 0;
  };
  std::map<JobId, Counted> counted;
  for (const auto& [id, job] : core.jobs.all()) {
    if (!job.spec.array || core.jobs.arrays().find(job.spec.array->job) == nullptr) continue;
    const ArrayTable::Array& array = *core.jobs.arrays().find(job.spec.array->job);
    Counted& c = counted[job.spec.array->job];
    if (job.spec.is_array()) {
      c.waiting_parts += !model::is_end(job.state);
      const bool is_ready = job.waiting() != nullptr && job.waiting()->reason == model::WaitReason::kNone;
      if (array.ready.contains(id) != is_ready) return wrong(fmt::format("array part {} is ready, or not", id.value));
      continue;
    }
    ++c.all;
    c.live += !model::is_end(job.state);
    c.waiting += job.state == model::JobState::kPending;
    const auto at = array.jobs.find(job.spec.array->task);
    if (at == array.jobs.end() || at->second != id)
      return wrong(fmt::format("array {} does not know its task {}", job.spec.array->job.value, job.spec.array->task));
    for (const auto& [part, tasks] : array.parts)
      if (!model::is_end(core.jobs.at(part).state) && tasks.contains(job.spec.array->task))
        return wrong(fmt::format("task {} of array {} is left", job.spec.array->task, job.spec.array->job.value));
    const bool is_aside = job.waiting() != nullptr && job.waiting()->reason != model::WaitReason::kNone;
    if (array.aside.contains(job.spec.array->task) != is_aside)
      return wrong(
          fmt::format("task {} of array {} is aside, or not", job.spec.array->task, job.spec.array->job.value));
  }
  for (const auto& [id, array] : core.jobs.arrays().all()) {
    const Counted& c = counted[id];
    if (c.live != array.live || c.waiting != array.waiting || c.all != array.jobs.size() ||
        c.waiting_parts != array.waiting_parts)
      return wrong(fmt::format("array {} counts {} tasks, {} live, {} that wait", id.value, array.jobs.size(),
                               array.live, array.waiting));
  }
  return {};
}

Status audit_steps(const Core& core) {
  for (const auto& [key, step] : core.steps.all()) {
    const Job* job = core.jobs.find(key.first);
    if (job == nullptr || job->placed() == nullptr || job->attempt != step.attempt)
      return wrong(fmt::format("step {} belongs to no run", step.text()));
  }
  return {};
}

}  // namespace

Status audit(const Core& core) {
  GW_TRY_STATUS(core.ledger.capacity().audit());
  size_t held = 0, in_ledger = 0;
  for (const auto& [id, job] : core.jobs.all()) {
    GW_TRY_STATUS(audit_job(core, job, held));
    GW_TRY_STATUS(audit_dependency(core, job));
  }
  for (const auto& [holder, holding] : core.ledger.capacity().holdings()) in_ledger += holding.nodes.size();
  if (held != in_ledger) return wrong(fmt::format("jobs hold {} shares, the ledger {}", held, in_ledger));
  GW_TRY_STATUS(audit_placements(core));
  GW_TRY_STATUS(audit_waits(core));
  GW_TRY_STATUS(audit_arrays(core));
  GW_TRY_STATUS(audit_steps(core));
  return core.events.empty() ? Status{} : wrong("an event is left");
}

}  // namespace gw::ctld
