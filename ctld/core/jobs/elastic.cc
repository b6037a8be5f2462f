// See elastic.h.
#include "ctld/core/jobs/elastic.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ctld/core/jobs/facts.h"
#include "ctld/core/jobs/orders.h"
#include "ctld/core/jobs/run.h"
#include "ctld/core/jobs/usage.h"
#include "model/find_on.h"
#include "sched/quota/quota_tree.h"

namespace gw::ctld {

using model::Extension;
using model::Job;
using model::JobState;

namespace {

Extension* extension_on(Job& job, NodeId node) {
  if (job.placed() == nullptr) return nullptr;
  auto& extensions = job.placed()->extensions;
  const auto it = extensions.find(node);
  return it == extensions.end() ? nullptr : &it->second;
}

}  // namespace

void emit_extension(Core& core, const Job& job, const Extension& extension, const model::NodeShare& share, Time since) {
  core.placements.set_holding(extension.id, job.id);
  const auto gang =
      core.ledger.capacity().holdings().find(job.id);  // of one that ends, the extensions may be the last to go
  const Time end = gang == core.ledger.capacity().holdings().end() ? Time::never() : gang->second.expected_end;
  auto part = std::make_shared<const sched::PendingJob>(
      sched::extension_of(pending_of(core, job), extension.id, std::max(share.tasks, 1U)));
  (void)core.ledger.hold({extension.id, job.placed()->partition, {{share}}, since, end, std::move(part)});
  if (extension.until) core.ledger.expect_end(extension.id, extension.until, true);
}

namespace {

/// Its service grows by more or less from now on.
void tell_of_service(Core& core, Job& job) {
  count_service(core, job);
  core.feed.tell(sched::RunningChanged{job.id, std::make_shared<const sched::PendingJob>(pending_of(core, job))});
}

}  // namespace

void commit_growth(Core& core, const sched::Grow& grow) {
  Job* job = core.jobs.find(grow.gang);
  if (job == nullptr || job->state != JobState::kRunning || !job->spec.request.elastic || !core.stored.fault.empty() ||
      spent_budget_of(core, job->spec) != nullptr)
    return;
  model::Placed& placed = *job->placed();
  const bool is_one = grow.allocation.shares.size() == 1 && grow.extension.value >= sched::kFirstHoldingId;
  if (!is_one || !core.ledger.capacity().holdings().contains(job->id)) return;
  const model::NodeShare& share = grow.allocation.shares.front();
  uint32_t tasks = share.tasks;
  for (const model::NodeShare& other : placed.allocation.shares) tasks += other.tasks;
  if (core.placements.is_on(share.node, job->id)) return;
  const Time end = core.ledger.capacity().holdings().at(job->id).expected_end;
  const sched::Start start{grow.extension, placed.partition, grow.allocation,
                           end == Time::never() ? base::kUnlimited : end - core.now};
  const sched::PendingJob extension =
      sched::extension_of(pending_of(core, *job), grow.extension, std::max(share.tasks, 1U));
  if (tasks > model::most_tasks(job->spec.request) || !sched::check(core.ledger.capacity(), extension, start) ||
      !sched::check_reservations(core.reservations.told, extension, start, core.now))
    return;
  // By an id of our own: the scheduler's begin anew with each start, but nodes remember stays of before.
  const JobId id = core.jobs.take_holding_id();
  auto& shares = placed.allocation.shares;  // the script's own first, the others as people list nodes
  shares.insert(std::upper_bound(shares.begin() + 1, shares.end(), share,
                                 [](const auto& a, const auto& b) { return a.node < b.node; }),
                share);
  Extension& extension_kept = placed.extensions[share.node] = Extension{id, {}, false};
  core.placements.put(share.node, job->id);
  emit_extension(core, *job, extension_kept, share, core.now);
  charge(core, *job, {}, {{share}});
  tell_of_service(core, *job);
  core.rows.job_coalesced(*job);
  core.rows.run_node(*job, share.node);
  core.out.job_event(*job, "grows", fmt::format("{} joins it", share.name));
  send_prepare(core, *job, share.node);
  core.timers.set({core.now + core.settings.prepare_timeout(), TimerKind::kExtension, job->id.value, job->attempt});
}

bool extension_ready(Core& core, Job& job, NodeId node) {
  Extension* extension = extension_on(job, node);
  if (extension == nullptr || job.state != JobState::kRunning) return false;
  if (!extension->until) send_go(core, job, node);
  if (std::exchange(extension->is_ready, true)) return true;
  core.rows.run_node(job, node);
  tell_size(core, job);
  return true;
}

bool shrink(Core& core, const sched::Preempt& victim) {
  const auto gang = core.placements.job_of(victim.job);
  Job* job = gang ? core.jobs.find(*gang) : nullptr;
  if (job == nullptr || job->state != JobState::kRunning) return false;
  for (auto& [node, extension] : job->placed()->extensions) {
    if (extension.id != victim.job || extension.until) continue;
    extension.until = core.now + victim.grace;
    core.ledger.expect_end(extension.id, extension.until, true);
    core.out.job_event(*job, "shrinks",
                       fmt::format("{} leaves it for job {}{}", core.nodes.name_of(node), victim.beneficiary.value,
                                   victim.rule == 0 ? "" : fmt::format(" (rule {} of the quotas)", victim.rule)));
    core.rows.run_node(*job, node);
    tell_size(core, *job);
    if (victim.grace.us > 0)
      core.timers.set({extension.until, TimerKind::kExtension, job->id.value, job->attempt});
    else
      clear_node(core, *job, node);
    return true;
  }
  return false;
}

void extensions_due(Core& core, Job& job) {
  if (job.state != JobState::kRunning) return;
  for (auto& [node, extension] : job.placed()->extensions) {
    const auto holding = core.ledger.capacity().holdings().find(extension.id);
    const Time begun = holding == core.ledger.capacity().holdings().end() ? Time{} : holding->second.started;
    if (!extension.until && !extension.is_ready && core.now >= begun + core.settings.prepare_timeout()) {
      extension.until = core.now;
      core.ledger.expect_end(extension.id, core.now, true);
      core.out.job_event(job, "shrinks", fmt::format("{} was not ready in time", core.nodes.name_of(node)));
      core.rows.run_node(job, node);
    }
    if (extension.until && extension.until <= core.now) clear_node(core, job, node);
  }
}

bool repeat_to_extension(Core& core, Job& job, NodeId node, std::optional<wire::RunPhase> phase) {
  const Extension* extension = extension_on(job, node);
  if (extension == nullptr || job.state != JobState::kRunning) return false;
  if (extension->until && extension->until <= core.now) return clear_node(core, job, node), true;
  if (phase == wire::kRunUnknown) return true;  // it prepares, and says so when it has
  if (phase) return extension_ready(core, job, node);
  if (extension->is_ready || extension->until) return false;
  send_prepare(core, job, node);
  return true;
}

bool extension_gone(Core& core, Job& job, NodeId node, const std::string& why) {
  Extension* extension = extension_on(job, node);
  if (extension == nullptr || job.state != JobState::kRunning) return false;
  const bool was_told = static_cast<bool>(extension->until);
  if (!was_told)
    extension->until = core.now;  // steps that waited for those that end with the node must not begin there
  share_gone(core, job, node);
  model::Placed& placed = *job.placed();
  placed.extensions.erase(node);
  auto& shares = placed.allocation.shares;
  if (const auto share = model::find_on(shares, node, [](const auto& s) { return s.node; }); share != shares.end()) {
    core.rows.run_left(job, share->name);
    shares.erase(share);
  }
  tell_of_service(core, job);
  core.out.job_event(job, "smaller",
                     fmt::format("without {}{}: {} nodes", core.nodes.name_of(node),
                                 was_told || why.empty() ? "" : ", " + why, placed.allocation.shares.size()));
  core.rows.job_coalesced(job);
  if (!was_told) tell_size(core, job);
  return true;
}

}  // namespace gw::ctld
