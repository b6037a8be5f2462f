// See registration.h.
#include "ctld/core/nodes/registration.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/reach.h"
#include "base/text.h"
#include "ctld/core/jobs/elastic.h"
#include "ctld/core/jobs/facts.h"
#include "ctld/core/jobs/orders.h"
#include "ctld/core/jobs/preemption.h"
#include "ctld/core/jobs/reports.h"
#include "ctld/core/jobs/run.h"
#include "ctld/core/jobs/suspend.h"
#include "ctld/core/nodes/foreign.h"
#include "ctld/core/nodes/silence.h"
#include "ctld/core/shared/held.h"
#include "ctld/core/shared/links.h"
#include "ctld/core/shared/publish.h"
#include "ctld/core/steps/reports.h"
#include "wire/convert.h"

namespace gw::ctld {

using model::Job;
using model::JobState;
using model::Node;

namespace {

/// The host by which clients and other nodes reach it: where its link comes from. A node on the controller's own host,
/// or on its cable, comes from an address that means nothing elsewhere, and says itself which one does.
std::string reachable_host(const NodePeer& peer, const wire::Register& m) {
  const bool is_told = !base::is_local_host(m.address());
  return base::is_local_host(peer.address) && is_told ? base::printable(m.address(), 100) : peer.address;
}

base::Status check_registration(const Core& core, LinkId link, const NodePeer& peer, const wire::Register& m) {
  const Node* known = core.nodes.find(m.name());
  if (!core.settings.node_uids.contains(peer.uid))
    return base::fail(base::ErrorCode::kDenied, fmt::format("uid {} may not register nodes", peer.uid),
                      "gnoded runs as root or as the controller's user");
  if (known == nullptr)
    return base::fail(base::ErrorCode::kDenied, "node " + base::printable(m.name()) + " is not in the configuration",
                      "add it under nodes: and run gcontrol reconfigure");
  const Node& node = *known;
  if (!node.config.address.empty() && node.config.address != peer.address)
    return base::fail(
        base::ErrorCode::kDenied,
        fmt::format("node {} connects from {}, configured is {}", m.name(), peer.address, node.config.address),
        "correct nodes: address, or start gnoded with --bind");
  if (core.nodes.has_link(node.id) || core.nodes.node_of(link))
    return base::fail(base::ErrorCode::kConflict, fmt::format("node {} is connected already", m.name()),
                      "a second gnoded of this name runs, or the first one's connection has not timed out yet");
  return {};
}

void reconcile_job(Core& core, Job& job, NodeId node, wire::RunPhase phase) {
  if (job.state == JobState::kCompleting) return send_stop(core, job, node);
  const bool alone = goes_alone(job);
  switch (phase) {
    case wire::kRunPrepared:
      if (job.state == JobState::kRunning) return send_go(core, job, node);
      if (alone) return send_prepare(core, job, node);  // says go once more
      if (job.placed()->waiting_for.erase(node) > 0) core.rows.run_node(job, node);
      if (job.placed()->waiting_for.empty()) go_together(core, job);
      return;
    case wire::kRunStarted:
      if (job.state == JobState::kConfiguring && alone) go(core, job);
      return;
    default:  // it is ending there: the node reports by itself
      return;
  }
}

/// Compares what the node has with what it should have. What the node does not list does not live there.
void reconcile(Core& core, Node& node, const wire::Register& m, bool rebooted, Kin seen) {
  const NodeId id = node.id;
  wire::ControllerToNode answer;
  wire::Registered& r = *answer.mutable_registered();
  r.set_heartbeat_us(core.settings.heartbeat.us);
  r.set_timeout_us(core.settings.node_timeout.us);
  r.set_echoes(true);
  if (const model::StateMark mark = core.stored.lineage.mark(); mark.says_anything())
    *r.mutable_mark() = wire::to_wire(mark);
  r.set_is_behind(seen != Kin::kOurs);
  std::map<std::pair<uint32_t, uint32_t>, wire::RunPhase> has;
  for (const wire::RunState& run : m.runs()) {
    // Nothing runs on after a reboot, but an end that was recorded before it is still to be reported.
    const bool is_over = run.phase() == wire::kRunEnding || run.phase() == wire::kRunDone;
    if (core.watch.foreign.has(id, run.job(), run.attempt())) continue;
    if (run.step() == 0 && (!rebooted || is_over)) has[{run.job(), run.attempt()}] = run.phase();
  }
  const std::set<JobId> expected = core.placements.on(id);
  for (JobId job_id : expected) {
    const Job& job = core.jobs.at(job_id);
    wire::RunState& wanted = *r.add_wanted();
    wanted.set_job(job_id.value);
    wanted.set_attempt(job.attempt);
  }
  want_steps(core, id, r);
  want_foreign(core, id, m, r);
  want_held_steps(core, m, r);
  send_to_node(core, id, std::move(answer));
  for (JobId job_id : expected) {
    Job& job = core.jobs.at(job_id);
    job.placed()->unreachable.erase(id);
    const auto run = has.find({job_id.value, job.attempt});
    const bool has_run = run != has.end();
    if (has_run) pass_prolog(core, job, id);
    const bool is_in_prolog = job.placed()->program == model::JobProgram::kProlog;
    if (is_in_prolog && seen != Kin::kNewer) continue;  // the node has not been told of it
    const auto phase = has_run ? std::optional(run->second) : std::nullopt;
    if (!(has_run && run->second >= wire::kRunEnding) && !rebooted && repeat_to_extension(core, job, id, phase))
      continue;
    if (job.state == JobState::kRunning && job.spec.request.elastic &&
        id == job.placed()->allocation.shares.front().node)
      tell_size(core, job);
    if (run != has.end()) {
      reconcile_job(core, job, id, run->second);
      repeat_suspension(core, job, id);  // after the word to start, if that was lost
    } else if (job.state == JobState::kConfiguring && !rebooted && job.placed()->waiting_for.contains(id) &&
               seen != Kin::kNewer) {
      send_prepare(core, job, id);  // the order was lost on the way: nothing has started
    } else {
      if (seen == Kin::kNewer) hold_what_may_have_ended(core, job, id);
      node_lost_job(core, job, id,
                    rebooted ? fmt::format("node {} rebooted", node.config.name)
                             : fmt::format("node {} no longer has it", node.config.name));
    }
  }
  reconcile_steps(core, node, m, rebooted);
}

}  // namespace

void refuse_link(Core& core, LinkId link, const base::Error& error) {
  ToNode out;
  out.link = link;
  out.message.mutable_refused()->set_reason(error.what);
  out.message.mutable_refused()->set_hint(error.hint);
  core.out.send(std::move(out));
  core.out.send(CloseLink{link, error.what});
  core.out.note("node link refused: " + error.text(), true);
}

void register_node(Core& core, LinkId link, const NodePeer& peer, const wire::Register& m) {
  const base::Status fit = check_registration(core, link, peer, m);
  if (!fit) return refuse_link(core, link, fit.error());
  wire::Topologies::Ptr topology = peer.topology;
  if (!topology) {
    auto read = wire::from_wire(m.topology());
    if (!read) return refuse_link(core, link, read.error());
    topology = std::make_shared<const model::NodeTopology>(std::move(*read));
  }
  Node& node = *core.nodes.find(m.name());
  const bool rebooted = !node.boot_id.empty() && node.boot_id != m.boot_id();
  // Whoever has the one that it had before need not look again. The one that is known by its bytes must live.
  if (peer.topology || !node.topology || *node.topology != *topology) node.topology = std::move(topology);
  node.boot_id = m.boot_id();
  node.version = base::printable(m.version(), 100);
  node.containment = base::printable(m.containment(), 100);
  node.is_emulated = m.is_emulated();
  node.host = wire::from_wire(m.host());
  node.host.os = base::printable(node.host.os, 300);
  node.host.arch = base::printable(node.host.arch, 100);
  node.warning = base::printable(m.warning(), 1000);
  if (missing_gpus(node) > 0)
    node.warning += fmt::format("{}{} of {} GPUs found", node.warning.empty() ? "" : "; ", node.topology->gpus.size(),
                                node.config.expected_gpus);
  node.connected = true;
  core.watch.leases.back(node.id);
  node.last_seen = node.since = core.now;
  node.peer_address = reachable_host(peer, m);
  core.nodes.connect(node.id, link);
  core.watch.loads.erase(node.id);  // of before
  // An administrator's "down" that came with proof of death is over when the node is back by itself; a drain is not.
  core.nodes.changed(node);
  core.out.node_event(
      node, "registered",
      fmt::format("from {}, {} GPUs{}", peer.address, node.topology->gpus.size(), rebooted ? ", after a reboot" : ""));
  if (missing_gpus(node) > 0)
    core.out.node_event(node, "GPUs missing",
                        fmt::format("{} of {} found", node.topology->gpus.size(), node.config.expected_gpus));
  const Kin seen = hear_of_state(core, node, m);
  publish_node(core, node);
  arm_beat(core, node.id);
  reconcile(core, node, m, rebooted, seen);
  end_left_behind(core, node.id);
  update_jobs_of_foreign(core, node.id);
  look_who_is_heard(core);
  report_moves(core);
}

}  // namespace gw::ctld
