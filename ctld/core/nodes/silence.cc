// See silence.h.
#include "ctld/core/nodes/silence.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/text.h"
#include "ctld/core/jobs/reports.h"
#include "ctld/core/shared/exit_report.h"
#include "ctld/core/shared/held.h"
#include "ctld/core/shared/publish.h"

namespace gw::ctld {

using model::Job;
using model::Node;

namespace {

void node_unreachable(Core& core, Node& node, const std::string& why) {
  node.connected = false;
  node.since = core.now;
  core.watch.leases.lost(node.id);
  core.out.node_event(node, "out of reach", why);
  publish_node(core, node);
  core.timers.set({core.now + core.settings.node_timeout, TimerKind::kNodeDown, node.id.value, 0});
  for (JobId id : core.placements.on(node.id)) {
    Job& job = core.jobs.at(id);
    job.placed()->unreachable.insert(node.id);
    if (const model::Contract& contract = job.placed()->contract; contract.has_lease())
      core.timers.set({core.now + contract.over_after(), TimerKind::kLeaseOver, id.value, job.attempt, node.id});
  }
}

}  // namespace

void send_beat(Core& core, NodeId id, int64_t echo_us) {
  ToNode beat;
  beat.link = *core.nodes.link_of(id);
  beat.at_once = true;
  beat.message.mutable_heartbeat()->set_now_us(core.now.us);
  beat.message.mutable_heartbeat()->set_echo_us(echo_us);
  core.out.send(std::move(beat));
}

void on_node_gone(Core& core, LinkId link, const std::string& reason) {
  const auto id = core.nodes.node_of(link);
  if (!id) return;
  core.nodes.disconnect(link);
  node_unreachable(core, core.nodes.at(*id), reason);
}

void arm_beat(Core& core, NodeId id) {
  core.watch.next_beat[id] = core.now + core.settings.heartbeat;
  core.timers.set({core.watch.next_beat[id], TimerKind::kNodeBeat, id.value, 0});
}

void node_silence_due(Core& core, NodeId id, Time due) {
  const Node* node = core.nodes.find(id);
  if (node == nullptr || !node->connected || core.watch.next_beat[id] != due) return;
  if (node->last_seen + core.settings.node_timeout <= core.now) {
    const LinkId link = *core.nodes.link_of(id);
    core.out.send(CloseLink{link, "nothing heard of it for too long"});
    return on_node_gone(core, link, "nothing heard of it for " + base::format_duration(core.settings.node_timeout));
  }
  // A node that was answered meanwhile has had its sign of life.
  if (core.watch.answered.erase(id) == 0) send_beat(core, id, 0);
  arm_beat(core, id);
}

std::vector<LinkId> silent_links(const Core& core) {
  std::vector<LinkId> out;
  core.timers.each_due(core.now, [&](const Timer& timer) {
    if (timer.kind != TimerKind::kNodeBeat && timer.kind != TimerKind::kNodeSilence) return;
    const NodeId id(static_cast<uint32_t>(timer.id));
    const auto link = core.nodes.link_of(id);
    if (link && core.nodes.at(id).last_seen + core.settings.node_timeout <= core.now) out.push_back(*link);
  });
  return out;
}

void on_heard(Core& core, LinkId link) {
  if (const auto id = core.nodes.node_of(link)) core.nodes.at(*id).last_seen = core.now;
}

void absent_due(Core& core) {
  while (!core.watch.absent_due.empty() && core.watch.absent_due.begin()->first <= core.watch.heard_until) {
    const NodeId id = core.watch.absent_due.extract(core.watch.absent_due.begin()).value().second;
    node_down_due(core, id);
  }
  constexpr base::Duration kAgain = base::milliseconds(100);
  if (!core.watch.absent_due.empty()) core.timers.set({core.now + kAgain, TimerKind::kArrivals, 0, 0});
}

void node_down_due(Core& core, NodeId id) {
  const Node* node = core.nodes.find(id);
  if (node == nullptr || node->connected) return;
  const Time due = std::max(node->since, core.watch.turned_away) + core.settings.node_timeout;
  if (due > core.now) {
    if (node->since + core.settings.node_timeout <= core.now) core.timers.set({due, TimerKind::kNodeDown, id.value, 0});
    return;
  }
  if (due > core.watch.heard_until) {
    core.watch.absent_due.emplace(due, id);
    return core.timers.set({core.now, TimerKind::kArrivals, 0, 0});
  }
  // It was waited for since the start (can_make_room); now that it is not, the scheduler decides anew.
  if (node->since <= core.watch.boot) publish_node(core, *node);
  if (core.placements.on(id).empty() || !core.settings.has_fence) return;
  core.out.node_event(*node, "fencing", "out of reach with jobs on it");
  core.out.send(Fence{node->config.name, node->since});
  core.timers.set({core.now + core.settings.node_timeout, TimerKind::kNodeDown, id.value, 0});
}

void on_fenced(Core& core, const std::string& name, Time since, bool is_dead, const std::string& detail) {
  Node* node = core.nodes.find(name);
  if (node == nullptr) return;
  if (!is_dead) return core.out.node_event(*node, "fencing failed", base::printable(detail, 1000));
  if (node->connected || node->since != since) return;
  node_dead(core, *node, "node " + name + " was fenced");
}

void node_dead(Core& core, Node& node, const std::string& why) {
  core.out.node_event(node, "dead", why);
  for (const uint32_t job : core.stored.held.jobs_on(node.config.name)) held_may_run(core, node, job, false);
  const std::set<JobId> lost = core.placements.on(node.id);
  for (JobId id : lost) node_lost_job(core, core.jobs.at(id), node.id, why);
}

void lease_over_due(Core& core, Job& job, NodeId node) {
  if (job.placed() == nullptr || !job.placed()->contract.has_lease()) return;
  const model::Contract contract = job.placed()->contract;
  const JobId id = job.id;
  const uint32_t attempt = job.attempt;
  std::set<NodeId> due;
  if (!node)
    due = job.placed()->unreachable;
  else if (job.placed()->unreachable.contains(node))
    due = {node};
  for (NodeId node_id : due) {
    const Node& lost = core.nodes.at(node_id);
    if (lost.connected) continue;
    if (const base::Duration left = core.watch.leases.left(node_id, contract); left.us > 0) {
      core.timers.set({core.now + left, TimerKind::kLeaseOver, id.value, attempt, node_id});
      continue;
    }
    Job* still = core.jobs.find(id);
    if (still == nullptr || still->placed() == nullptr) return;
    node_lost_job(core, *still, node_id, lease_over_on(lost.config.name, "the node is out of reach"),
                  model::EndReason::kLeaseExpired);
  }
}

}  // namespace gw::ctld
