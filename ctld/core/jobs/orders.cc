// See orders.h.
#include "ctld/core/jobs/orders.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "ctld/core/jobs/facts.h"
#include "ctld/core/shared/links.h"
#include "model/find_on.h"
#include "model/stop_cause.h"
#include "wire/convert.h"
#include "wire/gang.h"

namespace gw::ctld {

using base::Duration;
using model::Job;
using model::Outcome;
using model::Suspension;

namespace {

/// For the batch script's environment: where the components lie.
void tell_components(const Core& core, const Job& leader, wire::Prepare& out) {
  for (uint32_t k = 0; k < leader.spec.het_size; ++k) {
    const Job* one = core.jobs.find(JobId(leader.id.value + k));
    if (one == nullptr || one->placed() == nullptr) continue;
    wire::HetComponent& component = *out.add_components();
    component.set_job(one->id.value);
    component.set_partition(one->placed()->partition);
    *component.mutable_gang() = wire::gang_of(one->placed()->allocation);
  }
}

/// What a Stop says of why and until when, where the job is preempted.
void tell_preemption(const Job& job, wire::Stop& out) {
  const Outcome& outcome = *job.placed()->outcome;
  if (!was_preempted(outcome)) return;
  out.set_signo(job.spec.preempt_signo);
  out.set_preempted_for(outcome.preempted_for);
  out.set_preempt_rule(outcome.preempt_rule);
  out.set_until_us((job.placed()->kill_sent + outcome.grace.value_or(job.placed()->contract.kill_wait)).us);
}

/// Is what is said to this node about this run to go out before what waits for the disk?
bool overtakes(const Core& core, const model::Job& job, NodeId node) {
  if (core.stored.fault.empty() || job.placed() == nullptr || !job.placed()->started) return false;
  if (job.placed()->extensions.contains(node)) return false;  // it may have joined the gang in what waits
  return true;
}

}  // namespace

void clear_node(Core& core, const Job& job, NodeId node) {
  wire::ControllerToNode message;
  wire::Stop& s = *message.mutable_stop();
  s.set_job(job.id.value);
  s.set_attempt(job.attempt);
  s.set_grace_us(job.placed()->contract.kill_wait.us);
  s.set_why("the job continues without this node");
  s.set_generation(generation_on(job, node));
  send_to_node(core, node, std::move(message));
}

void tell_size(Core& core, const Job& job) {
  const model::Placed& placed = *job.placed();
  wire::ControllerToNode message;
  wire::Resize& r = *message.mutable_resize();
  r.set_job(job.id.value);
  r.set_attempt(job.attempt);
  for (const model::NodeShare& share : placed.allocation.shares) {
    const auto extension = placed.extensions.find(share.node);
    if (extension == placed.extensions.end() || (extension->second.is_ready && !extension->second.until))
      r.add_nodes(share.name);
  }
  r.set_signo(job.spec.resize_signo);
  r.set_uid(job.spec.uid);
  r.set_gid(job.spec.gid);
  send_to_node(core, placed.allocation.shares.front().node, std::move(message));
}

wire::Prepare prepare_of(const Core& core, const Job& job) {
  const model::Placed& placed = *job.placed();
  wire::Prepare p;
  p.set_job(job.id.value);
  p.set_attempt(job.attempt);
  *p.mutable_spec() = wire::to_wire(job.spec);
  // Which nodes were asked for is over, and as long as the gang is large.
  p.mutable_spec()->mutable_request()->clear_nodelist();
  p.mutable_spec()->mutable_request()->clear_exclude();
  *p.mutable_gang() = wire::gang_of(placed.allocation);
  p.set_partition(placed.partition);
  p.set_cluster(core.settings.cluster);
  p.set_restarts(job.restarts);
  p.set_lease_us(placed.contract.lease.us);
  p.set_grace_us(placed.contract.kill_wait.us);
  p.set_allow_root(placed.contract.allow_root);
  if (placed.contract.placed_in.says_anything()) *p.mutable_placed_in() = wire::to_wire(placed.contract.placed_in);
  p.set_time_limit_us(job.spec.time_limit.us);
  p.set_go(goes_alone(job));
  p.set_started_us(placed.started ? placed.started.us : core.now.us);
  return p;
}

void complete_for(const Job& job, NodeId node, wire::Prepare& p) {
  const auto& shares = job.placed()->allocation.shares;
  const auto at = model::find_on(shares, node, [](const model::NodeShare& share) { return share.node; });
  if (at == shares.end()) return;
  *p.mutable_share() = wire::to_wire(*at);
  p.mutable_gang()->set_node_id(static_cast<uint32_t>(at - shares.begin()));
  p.set_generation(generation_on(job, node));
}

void send_prepare(Core& core, const Job& job, NodeId node) { send_prepare(core, job, node, prepare_of(core, job)); }

void send_prepare(Core& core, const Job& job, NodeId node, const wire::Prepare& common) {
  wire::ControllerToNode message;
  wire::Prepare& p = *message.mutable_prepare();
  p = common;
  complete_for(job, node, p);
  const bool runs_script = job.placed()->allocation.shares.front().node == node && job.spec.het_offset == 0 &&
                           job.spec.kind == model::JobKind::kBatch;
  if (runs_script && job.spec.is_het()) tell_components(core, job, p);
  // The shell puts the submission environment in front of it.
  if (runs_script) p.set_environment(fmt::format("GANGWAY_PREEMPTIONS={}", job.preemptions));
  send_to_node(core, node, std::move(message), runs_script ? &job : nullptr);
}

void send_go(Core& core, const Job& job, NodeId node) {
  wire::ControllerToNode message;
  message.mutable_go()->set_job(job.id.value);
  message.mutable_go()->set_attempt(job.attempt);
  message.mutable_go()->set_started_us(job.placed()->started.us);
  send_to_node(core, node, std::move(message));
}

void send_stop(Core& core, const Job& job, NodeId node, bool kill_now) {
  if (job.placed()->program == model::JobProgram::kProlog) return;  // they have not been told of it
  const Outcome& outcome = *job.placed()->outcome;
  wire::ControllerToNode message;
  wire::Stop& s = *message.mutable_stop();
  s.set_job(job.id.value);
  s.set_attempt(job.attempt);
  s.set_grace_us(outcome.grace.value_or(job.placed()->contract.kill_wait).us);
  s.set_generation(generation_on(job, node));
  s.set_why(std::string(model::long_name(outcome.end)) + (outcome.detail.empty() ? "" : ": " + outcome.detail));
  // Without grace it was killed on purpose; a preempted one finds out why first, unless this is said.
  s.set_kill_now(kill_now || (outcome.grace == base::Duration{} && outcome.preempted_for == 0));
  s.set_cause(static_cast<uint32_t>(model::stop_cause(outcome)));
  tell_preemption(job, s);
  if (overtakes(core, job, node)) send_to_node(core, node, message, nullptr, true);
  // In its place as well: a node whose registration waits for the disk takes no order before the answer to that.
  send_to_node(core, node, std::move(message));
}

bool signal(Core& core, const Job& job, int signo, SignalReach reach) {
  std::vector<const model::Step*> steps;
  for (const model::Step* step : core.steps.of(job.id)) steps.push_back(step);
  NodeMessages messages = signal_job(job, steps, signo, reach);
  for (auto& [node, message] : messages)
    send_to_node(core, node, std::move(message), nullptr, overtakes(core, job, node));
  return !messages.empty();
}

void send_suspend(Core& core, const Job& job, NodeId node) {
  const Suspension& why = *job.placed()->suspension;
  wire::ControllerToNode message;
  wire::Suspend& s = *message.mutable_suspend();
  s.set_job(job.id.value);
  s.set_attempt(job.attempt);
  s.set_round(job.placed()->suspensions);
  const Duration left = std::max(why.freeze_at - core.now, Duration{});
  if (left.us > 0 && !is_suspended(job)) {
    s.set_grace_us(left.us);
    s.set_signo(job.spec.preempt_signo);
  }
  s.set_preempted_for(why.for_job);
  s.set_preempt_rule(why.rule);
  send_to_node(core, node, std::move(message));
}

void send_resume(Core& core, const Job& job, NodeId node) {
  wire::ControllerToNode message;
  message.mutable_resume()->set_job(job.id.value);
  message.mutable_resume()->set_attempt(job.attempt);
  message.mutable_resume()->set_round(job.placed()->suspensions);
  send_to_node(core, node, std::move(message));
}

void repeat_stops(Core& core) {
  std::set<JobId> ending;
  for (const auto& [node, jobs] : core.placements.by_node())
    for (const JobId id : jobs)
      if (core.jobs.at(id).state == model::JobState::kCompleting) ending.insert(id);
  for (const JobId id : ending) {
    const model::Job& job = core.jobs.at(id);
    for (const NodeId node : job.placed()->waiting_for)
      if (overtakes(core, job, node)) send_stop(core, job, node);
  }
}

}  // namespace gw::ctld
