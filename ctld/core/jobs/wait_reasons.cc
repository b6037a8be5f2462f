// See wait_reasons.h.
#include "ctld/core/jobs/wait_reasons.h"

#include <fmt/format.h>

#include "ctld/core/jobs/facts.h"
#include "wire/convert.h"

namespace gw::ctld {

using model::Job;

namespace {

WaitInfo wait_info(const Core& core, const model::Job& job);

/// Why a component waits that itself could start: for another one, or with the first. nullopt: for what the scheduler
/// says of it.
std::optional<WaitInfo> wait_for_components(const Core& core, const Job& job) {
  if (!job.spec.is_het()) return std::nullopt;
  for (uint32_t k = 0; k < job.spec.het_size; ++k) {
    const Job* one = core.jobs.find(JobId(job.spec.het_job.value + k));
    if (one == nullptr || one->id == job.id) continue;
    const std::string other = fmt::format("component {}, job {},", k, one->id.value);
    const model::Waiting* waiting = one->waiting();
    if (waiting == nullptr) return WaitInfo{model::WaitReason::kCleaning, other + " has not left its nodes yet"};
    if (waiting->reason == model::WaitReason::kNone) continue;
    return WaitInfo{waiting->reason, fmt::format("{} cannot start yet: {}", other, waiting->detail)};
  }
  const Job& leader = leader_of(core, job);
  if (&leader == &job) return std::nullopt;
  WaitInfo info = wait_info(core, leader);
  info.detail = fmt::format("it starts with component 0, job {}: {}", job.spec.het_job.value, info.detail);
  return info;
}

WaitInfo wait_info(const Core& core, const model::Job& job) {
  const model::Waiting* waiting = job.waiting();
  if (waiting == nullptr) return {};
  if (waiting->reason != model::WaitReason::kNone) return {waiting->reason, waiting->detail};
  if (const auto info = wait_for_components(core, job)) return *info;
  const auto it = core.planning.class_waits.find(class_of(core, job));
  if (it != core.planning.class_waits.end()) return it->second;
  return {model::WaitReason::kNone, "the scheduler has not looked at it yet"};
}

}  // namespace

wire::Job job_to_wire(const Core& core, const model::Job& job) {
  wire::Job out = wire::to_wire(job, [&core](NodeId id) { return core.nodes.name_of(id); });
  if (job.waiting() != nullptr) {
    const WaitInfo info = wait_info(core, job);
    out.mutable_status()->mutable_waiting()->set_reason(static_cast<uint32_t>(info.reason));
    out.mutable_status()->mutable_waiting()->set_detail(info.detail);
  }
  if (stands_still(job)) {
    const auto it = core.planning.class_waits.find(class_of(core, job));
    if (it != core.planning.class_waits.end() && !job.placed()->suspension->is_held)
      out.mutable_status()->mutable_placed()->mutable_suspension()->set_detail(it->second.detail);
  }
  return out;
}

}  // namespace gw::ctld
