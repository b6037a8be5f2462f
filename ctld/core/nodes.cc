// Nodes: registration and reconciliation, loss of contact, proof of death. A node out of reach keeps its jobs until it
// is known that they are gone: a new boot id, the node's own word, the fencing program, an administrator's word, or a
// lease.
#include <fmt/format.h>

#include <algorithm>

#include "base/reach.h"
#include "base/text.h"
#include "ctld/core/controller.h"
#include "ctld/core/exit_report.h"
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

}  // namespace

void Controller::configure_nodes(Time now) {
  for (const model::NodeConfig& config : settings_.nodes) {
    Node* known = nodes_.find(config.name);
    if (known == nullptr) {
      known = &nodes_.add(config.name);
      known->config = config;
      known->since = now;
      timers_.set({now + settings_.node_timeout, TimerKind::kNodeDown, known->id.value, 0});
    } else {
      known->config = config;
    }
    publish_node(*known);
  }
}

/// What may run there although its row cannot be read.
std::string Controller::why_held(const std::string& node) const {
  const std::string jobs = held_.text_on(node);
  return jobs.empty() ? "" : fmt::format("; it may run {}, whose stored row cannot be read", jobs);
}

sched::NodeFacts Controller::facts_of(const Node& node) const {
  sched::NodeFacts facts;
  facts.id = node.id;
  facts.name = node.config.name;
  facts.topology = node.topology;
  facts.features = node.config.features;
  facts.weight = node.config.weight;
  if (node.topology) {
    const auto cores = static_cast<uint32_t>(node.topology->cores.size());
    // The first cores are kept for the system.
    for (uint32_t c = std::min(node.config.reserved_cores, cores); c < cores; ++c) facts.cores.insert(c);
    for (uint32_t g = 0; g < node.topology->gpus.size(); ++g)
      if (!node.offline_gpus.contains(g)) facts.gpus.insert(g);
    facts.mem_mb = node.topology->memory_mb - std::min(node.config.reserved_mem_mb, node.topology->memory_mb);
  }
  if (!node.topology)
    facts.unusable_why = "not registered yet";
  else if (node.admin == model::NodeAdmin::kDown)
    facts.unusable_why = "down" + (node.reason.empty() ? "" : ": " + node.reason);
  else if (node.admin == model::NodeAdmin::kDrain)
    facts.unusable_why = "drained" + (node.reason.empty() ? "" : ": " + node.reason);
  else if (!node.connected)
    facts.unusable_why = "out of reach" + why_held(node.config.name);
  else if (!foreign_.on(node.id).empty())
    facts.unusable_why =
        "it runs what the state does not know: " + foreign_.text_on(node.id) + why_held(node.config.name);
  else if (heard_by_)
    facts.unusable_why = "all nodes must say first what they run, since the state was restored from an older copy";
  facts.usable = facts.unusable_why.empty();
  return facts;
}

void Controller::publish_node(const Node& node) { ledger_.set_node(facts_of(node)); }

void Controller::send_to_node(NodeId node, wire::ControllerToNode message, const Job* script_of, bool at_once) {
  const auto link = nodes_.link_of(node);
  if (!link) return;  // reconcile() says it again when the node is back
  ToNode out{*link, std::move(message), {}, {}, at_once};
  if (script_of != nullptr) {
    out.script_hash = script_of->spec.launch.script_hash;
    out.env_hash = script_of->spec.launch.env_hash;
  }
  out_.send(std::move(out));
}

void Controller::on_node_message(Time now, LinkId link, const NodePeer& peer, const wire::NodeToController& message) {
  using Kind = wire::NodeToController;
  if (message.kind_case() == Kind::kRegisterNode) return register_node(now, link, peer, message.register_node());
  const auto registered = nodes_.node_of(link);
  if (!registered) return refuse_link(link, {base::ErrorCode::kProtocol, "register first", ""});
  const NodeId id = *registered;
  nodes_.at(id).last_seen = now;
  if (foreign_message(now, id, message)) return;
  switch (message.kind_case()) {
    case Kind::kPrepared:
      if (message.prepared().step() != 0) return step_prepared(now, id, message.prepared());
      return on_prepared(now, id, message.prepared());
    case Kind::kPrepareFailed:
      if (message.prepare_failed().step() != 0) return step_failed(now, id, message.prepare_failed());
      return on_prepare_failed(now, id, message.prepare_failed());
    case Kind::kStarted:
      return on_started(now, id, message.started());
    case Kind::kBatchExited:
      if (message.batch_exited().step() != 0) return step_exited(id, message.batch_exited());
      return on_batch_exited(now, id, message.batch_exited());
    case Kind::kDone:
      if (message.done().step() != 0) return step_done(now, id, message.done());
      return on_done(now, id, message.done());
    case Kind::kSuspended:
      return on_suspended(now, id, message.suspended());
    case Kind::kUsage:
      return on_use(now, id, message.usage());
    case Kind::kHeartbeat:
      answered_.insert(id);
      return send_beat(now, id, message.heartbeat().now_us());
    default:
      return;
  }
}

/// It shows nothing of the state, and must not wait for a disk that is full.
void Controller::send_beat(Time now, NodeId id, int64_t echo_us) {
  ToNode beat;
  beat.link = *nodes_.link_of(id);
  beat.at_once = true;
  beat.message.mutable_heartbeat()->set_now_us(now.us);
  beat.message.mutable_heartbeat()->set_echo_us(echo_us);
  out_.send(std::move(beat));
}

void Controller::refuse_link(LinkId link, const base::Error& error) {
  ToNode out;
  out.link = link;
  out.message.mutable_refused()->set_reason(error.what);
  out.message.mutable_refused()->set_hint(error.hint);
  out_.send(std::move(out));
  out_.send(CloseLink{link, error.what});
  out_.note("node link refused: " + error.text(), true);
}

base::Status Controller::check_registration(LinkId link, const NodePeer& peer, const wire::Register& m) const {
  const Node* known = nodes_.find(m.name());
  if (!settings_.node_uids.contains(peer.uid))
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
  if (nodes_.has_link(node.id) || nodes_.node_of(link))
    return base::fail(base::ErrorCode::kConflict, fmt::format("node {} is connected already", m.name()),
                      "a second gnoded of this name runs, or the first one's connection has not timed out yet");
  return {};
}

void Controller::register_node(Time now, LinkId link, const NodePeer& peer, const wire::Register& m) {
  const base::Status fit = check_registration(link, peer, m);
  if (!fit) return refuse_link(link, fit.error());
  wire::Topologies::Ptr topology = peer.topology;
  if (!topology) {
    auto read = wire::from_wire(m.topology());
    if (!read) return refuse_link(link, read.error());
    topology = std::make_shared<const model::NodeTopology>(std::move(*read));
  }
  Node& node = *nodes_.find(m.name());
  const bool rebooted = !node.boot_id.empty() && node.boot_id != m.boot_id();
  // Whoever has the one that it had before need not look again. The one that is known by its bytes must live.
  if (peer.topology || !node.topology || *node.topology != *topology) node.topology = std::move(topology);
  node.boot_id = m.boot_id();
  node.version = base::printable(m.version(), 100);
  node.containment = base::printable(m.containment(), 100);
  node.is_emulated = m.is_emulated();
  node.warning = base::printable(m.warning(), 1000);
  if (missing_gpus(node) > 0)
    node.warning += fmt::format("{}{} of {} GPUs found", node.warning.empty() ? "" : "; ", node.topology->gpus.size(),
                                node.config.expected_gpus);
  node.connected = true;
  lease_watch_.back(node.id);
  node.last_seen = node.since = now;
  node.peer_address = reachable_host(peer, m);
  nodes_.connect(node.id, link);
  // An administrator's "down" that came with proof of death is over when the node is back by itself; a drain is not.
  nodes_.changed(node);
  out_.node_event(
      now, node, "registered",
      fmt::format("from {}, {} GPUs{}", peer.address, node.topology->gpus.size(), rebooted ? ", after a reboot" : ""));
  if (missing_gpus(node) > 0)
    out_.node_event(now, node, "GPUs missing",
                    fmt::format("{} of {} found", node.topology->gpus.size(), node.config.expected_gpus));
  const Kin seen = hear_of_state(now, node, m);
  publish_node(node);
  arm_beat(now, node.id);
  reconcile(now, node, m, rebooted, seen);
  end_left_behind(node.id);
  consider_jobs_of_foreign(now, node.id);
  look_who_is_heard(now);
  tell_moves(now);
}

/// Compares what the node has with what it should have. What the node does not list does not live there.
void Controller::reconcile(Time now, Node& node, const wire::Register& m, bool rebooted, Kin seen) {
  const NodeId id = node.id;
  wire::ControllerToNode answer;
  wire::Registered& r = *answer.mutable_registered();
  r.set_heartbeat_us(settings_.heartbeat.us);
  r.set_timeout_us(settings_.node_timeout.us);
  r.set_echoes(true);
  if (const model::StateMark mark = lineage_.mark(); mark.says_anything()) *r.mutable_mark() = wire::to_wire(mark);
  r.set_is_behind(seen != Kin::kOurs);
  std::map<std::pair<uint32_t, uint32_t>, wire::RunPhase> has;
  for (const wire::RunState& run : m.runs()) {
    // Nothing runs on after a reboot, but an end that was recorded before it is still to be reported.
    const bool is_over = run.phase() == wire::kRunEnding || run.phase() == wire::kRunDone;
    if (foreign_.has(id, run.job(), run.attempt())) continue;
    if (run.step() == 0 && (!rebooted || is_over)) has[{run.job(), run.attempt()}] = run.phase();
  }
  const std::set<JobId> expected = placements_.on(id);
  for (JobId job_id : expected) {
    const Job& job = jobs_.at(job_id);
    wire::RunState& wanted = *r.add_wanted();
    wanted.set_job(job_id.value);
    wanted.set_attempt(job.attempt);
  }
  want_steps(id, r);
  want_foreign(id, m, r);
  want_held_steps(m, r);
  send_to_node(id, std::move(answer));
  for (JobId job_id : expected) {
    Job& job = jobs_.at(job_id);
    job.placed()->unreachable.erase(id);
    const auto run = has.find({job_id.value, job.attempt});
    const bool has_run = run != has.end();
    if (!(has_run && run->second >= wire::kRunEnding) && !rebooted && repeat_to_piece(now, job, id, has_run)) continue;
    if (job.state == JobState::kRunning && job.spec.request.elastic &&
        id == job.placed()->allocation.shares.front().node)
      tell_size(job);
    if (run != has.end()) {
      reconcile_job(now, job, id, run->second);
      repeat_suspension(now, job, id);  // after the word to start, if that was lost
    } else if (job.state == JobState::kConfiguring && !rebooted && job.placed()->waiting_for.contains(id) &&
               seen != Kin::kNewer) {
      send_prepare(now, job, id);  // the order was lost on the way: nothing has started
    } else {
      if (seen == Kin::kNewer) hold_what_may_have_ended(job, id);
      node_lost_job(now, job, id,
                    rebooted ? fmt::format("node {} rebooted", node.config.name)
                             : fmt::format("node {} no longer has it", node.config.name));
    }
  }
  reconcile_steps(now, node, m, rebooted);
}

void Controller::reconcile_job(Time now, Job& job, NodeId node, wire::RunPhase phase) {
  if (job.state == JobState::kCompleting) return send_stop(job, node);
  const bool alone = goes_alone(job);
  switch (phase) {
    case wire::kRunPrepared:
      if (job.state == JobState::kRunning) return send_go(job, node);
      if (alone) return send_prepare(now, job, node);  // says go once more
      if (job.placed()->waiting_for.erase(node) > 0) rows_.run_node(job, node);
      if (job.placed()->waiting_for.empty()) go_together(now, job);
      return;
    case wire::kRunStarted:
      if (job.state == JobState::kConfiguring && alone) go(now, job);
      return;
    default:  // it is ending there: the node reports by itself
      return;
  }
}

void Controller::on_node_gone(Time now, LinkId link, const std::string& reason) {
  const auto id = nodes_.node_of(link);
  if (!id) return;
  nodes_.disconnect(link);
  node_unreachable(now, nodes_.at(*id), reason);
}

void Controller::node_unreachable(Time now, Node& node, const std::string& why) {
  node.connected = false;
  node.since = now;
  lease_watch_.lost(node.id);
  out_.node_event(now, node, "out of reach", why);
  publish_node(node);
  timers_.set({now + settings_.node_timeout, TimerKind::kNodeDown, node.id.value, 0});
  for (JobId id : placements_.on(node.id)) {
    Job& job = jobs_.at(id);
    job.placed()->unreachable.insert(node.id);
    if (const model::Contract& contract = job.placed()->contract; contract.has_lease())
      timers_.set({now + contract.over_after(), TimerKind::kLeaseOver, id.value, job.attempt, node.id});
  }
}

/// One chain of heartbeats a node, however often it registers.
void Controller::arm_beat(Time now, NodeId id) {
  next_beat_[id] = now + settings_.heartbeat;
  timers_.set({next_beat_[id], TimerKind::kNodeBeat, id.value, 0});
}

void Controller::node_silence_due(Time now, NodeId id, Time due) {
  const Node* node = nodes_.find(id);
  if (node == nullptr || !node->connected || next_beat_[id] != due) return;
  if (node->last_seen + settings_.node_timeout <= now) {
    const LinkId link = *nodes_.link_of(id);
    out_.send(CloseLink{link, "nothing heard of it for too long"});
    return on_node_gone(now, link, "nothing heard of it for " + base::format_duration(settings_.node_timeout));
  }
  // A node that was answered meanwhile has had its sign of life.
  if (answered_.erase(id) == 0) send_beat(now, id, 0);
  arm_beat(now, id);
}

std::vector<LinkId> Controller::silent_links(Time now) const {
  std::vector<LinkId> out;
  timers_.each_due(now, [&](const Timer& timer) {
    if (timer.kind != TimerKind::kNodeBeat && timer.kind != TimerKind::kNodeSilence) return;
    const NodeId id(static_cast<uint32_t>(timer.id));
    const auto link = nodes_.link_of(id);
    if (link && nodes_.at(id).last_seen + settings_.node_timeout <= now) out.push_back(*link);
  });
  return out;
}

void Controller::on_heard(Time now, LinkId link) {
  if (const auto id = nodes_.node_of(link)) nodes_.at(*id).last_seen = now;
}

/// Judges those whose deadline lies behind what has been heard.
void Controller::absent_due(Time now) {
  while (!absent_due_.empty() && absent_due_.begin()->first <= heard_until_) {
    const NodeId id = absent_due_.extract(absent_due_.begin()).value().second;
    node_down_due(now, id);
  }
  constexpr base::Duration kAgain = base::milliseconds(100);
  if (!absent_due_.empty()) timers_.set({now + kAgain, TimerKind::kArrivals, 0, 0});
}

void Controller::node_down_due(Time now, NodeId id) {
  const Node* node = nodes_.find(id);
  if (node == nullptr || node->connected) return;
  const Time due = std::max(node->since, turned_away_) + settings_.node_timeout;
  if (due > now) {
    if (node->since + settings_.node_timeout <= now) timers_.set({due, TimerKind::kNodeDown, id.value, 0});
    return;
  }
  if (due > heard_until_) {
    absent_due_.emplace(due, id);
    return timers_.set({now, TimerKind::kArrivals, 0, 0});
  }
  // It was waited for since the start (can_make_room); now that it is not, the scheduler decides anew.
  if (node->since <= boot_) publish_node(*node);
  if (placements_.on(id).empty() || !settings_.has_fence) return;
  out_.node_event(now, *node, "fencing", "out of reach with jobs on it");
  out_.send(Fence{node->config.name, node->since});
  timers_.set({now + settings_.node_timeout, TimerKind::kNodeDown, id.value, 0});
}

void Controller::on_fenced(Time now, const std::string& name, Time since, bool is_dead, const std::string& detail) {
  Node* node = nodes_.find(name);
  if (node == nullptr) return;
  if (!is_dead) return out_.node_event(now, *node, "fencing failed", base::printable(detail, 1000));
  if (node->connected || node->since != since) return;
  node_dead(now, *node, "node " + name + " was fenced");
}

void Controller::node_dead(Time now, Node& node, const std::string& why) {
  out_.node_event(now, node, "dead", why);
  for (const uint32_t job : held_.jobs_on(node.config.name)) held_may_run(node, job, false);
  const std::set<JobId> lost = placements_.on(node.id);
  for (JobId id : lost) node_lost_job(now, jobs_.at(id), node.id, why);
}

/// A node counts the lease from when it sent the last heartbeat that we answered, which is before we gave it up.
void Controller::lease_over_due(Time now, Job& job, NodeId node) {
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
    const Node& lost = nodes_.at(node_id);
    if (lost.connected) continue;
    if (const base::Duration left = lease_watch_.left(node_id, contract); left.us > 0) {
      timers_.set({now + left, TimerKind::kLeaseOver, id.value, attempt, node_id});
      continue;
    }
    Job* still = jobs_.find(id);
    if (still == nullptr || still->placed() == nullptr) return;
    node_lost_job(now, *still, node_id, lease_over_on(lost.config.name, "the node is out of reach"),
                  model::EndReason::kLeaseExpired);
  }
}

}  // namespace gw::ctld
