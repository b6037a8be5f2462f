// Elastic gangs in the daemon: a gang that runs gets more nodes, and gives some back, while its script goes on.
// Invariants: a piece is one node that the gang does not need to go on; to the scheduler it is a holding of its own, to
// the gang a share like the others, behind those it started with; its script is told of every change once it holds: of
// nodes that come when they are ready, of nodes that go before they are cleaned up.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "ctld/core/controller.h"
#include "model/find_on.h"
#include "wire/convert.h"

namespace gw::ctld {

using model::Job;
using model::JobState;
using model::Piece;

namespace {

Piece* piece_on(Job& job, NodeId node) {
  if (job.placed() == nullptr) return nullptr;
  auto& pieces = job.placed()->pieces;
  const auto it = pieces.find(node);
  return it == pieces.end() ? nullptr : &it->second;
}

}  // namespace

/// The id under which the job holds its share of a node.
JobId Controller::holder_on(const Job& job, NodeId node) {
  const auto& pieces = job.placed()->pieces;
  if (const auto it = pieces.find(node); it != pieces.end()) return it->second.id;
  const auto& suspension = job.placed()->suspension;
  return suspension && suspension->holder ? suspension->holder : job.id;
}

/// Tells a node's stays with a gang apart: it may leave and join again.
uint32_t Controller::generation_on(const Job& job, NodeId node) {
  const auto& pieces = job.placed()->pieces;
  const auto it = pieces.find(node);
  return it == pieces.end() ? 0 : it->second.id.value;
}

const model::NodeShare* Controller::share_on(const Job& job, NodeId node) {
  const auto& shares = job.placed()->allocation.shares;
  const auto it = model::find_on(shares, node, [](const model::NodeShare& s) { return s.node; });
  return it == shares.end() ? nullptr : &*it;
}

void Controller::emit_piece(const Job& job, const Piece& piece, const model::NodeShare& share, Time since) {
  placements_.set_holder(piece.id, job.id);
  const auto gang = ledger_.capacity().holdings().find(job.id);  // of one that ends, the pieces may be the last to go
  const Time end = gang == ledger_.capacity().holdings().end() ? Time::never() : gang->second.expected_end;
  auto part =
      std::make_shared<const sched::PendingJob>(sched::piece_of(pending_of(job), piece.id, std::max(share.tasks, 1U)));
  (void)ledger_.hold({piece.id, job.placed()->partition, {{share}}, since, end, std::move(part)});
  if (piece.until) ledger_.expect_end(piece.id, piece.until, true);
}

/// The gang gets a node more. Nothing happens if that no longer holds: the scheduler thinks again.
void Controller::commit_growth(Time now, const sched::Grow& grow) {
  Job* job = jobs_.find(grow.gang);
  if (job == nullptr || job->state != JobState::kRunning || !job->spec.request.elastic || !store_fault_.empty()) return;
  model::Placed& placed = *job->placed();
  const bool is_one = grow.allocation.shares.size() == 1 && grow.piece.value >= sched::kFirstPiece;
  if (!is_one || !ledger_.capacity().holdings().contains(job->id)) return;
  const model::NodeShare& share = grow.allocation.shares.front();
  uint32_t tasks = share.tasks;
  for (const model::NodeShare& other : placed.allocation.shares) tasks += other.tasks;
  if (placements_.is_on(share.node, job->id)) return;
  const Time end = ledger_.capacity().holdings().at(job->id).expected_end;
  const sched::Start start{grow.piece, placed.partition, grow.allocation,
                           end == Time::never() ? base::kUnlimited : end - now};
  const sched::PendingJob piece = sched::piece_of(pending_of(*job), grow.piece, std::max(share.tasks, 1U));
  if (tasks > model::most_tasks(job->spec.request) || !sched::check(ledger_.capacity(), piece, start) ||
      !sched::check_reservations(advance_, piece, start, now))
    return;
  // By an id of our own: the scheduler's begin anew with each start, but nodes remember stays of before.
  const JobId id = jobs_.take_holder();
  auto& shares = placed.allocation.shares;  // the script's own first, the others as people list nodes
  shares.insert(std::upper_bound(shares.begin() + 1, shares.end(), share,
                                 [](const auto& a, const auto& b) { return a.node < b.node; }),
                share);
  Piece& piece_kept = placed.pieces[share.node] = Piece{id, {}, false};
  placements_.put(share.node, job->id);
  emit_piece(*job, piece_kept, share, now);
  charge(now, *job, sched::usage_rate(share));
  rows_.job_coalesced(*job);
  rows_.run_node(*job, share.node);
  out_.job_event(now, *job, "grows", fmt::format("{} joins it", share.name));
  send_prepare(now, *job, share.node);
  timers_.set({now + settings_.start_timeout, TimerKind::kPiece, job->id.value, job->attempt});
}

/// A node that was to join is ready. False: it is none of those.
bool Controller::piece_ready(Job& job, NodeId node) {
  Piece* piece = piece_on(job, node);
  if (piece == nullptr || job.state != JobState::kRunning) return false;
  if (!piece->until) send_go(job, node);
  if (std::exchange(piece->is_ready, true)) return true;
  rows_.run_node(job, node);
  tell_size(job);
  return true;
}

/// Others need a node of the gang's above its smallest size.
void Controller::shrink(Time now, const sched::Preempt& victim) {
  const auto gang = placements_.job_of(victim.job);
  Job* job = gang ? jobs_.find(*gang) : nullptr;
  if (job == nullptr || job->state != JobState::kRunning) return;
  for (auto& [node, piece] : job->placed()->pieces) {
    if (piece.id != victim.job || piece.until) continue;
    piece.until = now + victim.grace;
    ledger_.expect_end(piece.id, piece.until, true);
    out_.job_event(now, *job, "shrinks",
                   fmt::format("{} leaves it for job {}{}", nodes_.name_of(node), victim.beneficiary.value,
                               victim.rule == 0 ? "" : fmt::format(" (rule {} of the quotas)", victim.rule)));
    rows_.run_node(*job, node);
    tell_size(*job);
    if (victim.grace.us <= 0) return clear_node(*job, node);
    timers_.set({piece.until, TimerKind::kPiece, job->id.value, job->attempt});
    return;
  }
}

/// What is left of the job on a node that it has no longer, or whose grace is over, is ended.
void Controller::clear_node(const Job& job, NodeId node) {
  wire::ControllerToNode message;
  wire::Stop& s = *message.mutable_stop();
  s.set_job(job.id.value);
  s.set_attempt(job.attempt);
  s.set_grace_us(job.placed()->contract.kill_wait.us);
  s.set_why("the job goes on without this node");
  s.set_generation(generation_on(job, node));
  send_to_node(node, std::move(message));
}

/// Some piece should be ready, or gone.
void Controller::pieces_due(Time now, Job& job) {
  if (job.state != JobState::kRunning) return;
  for (auto& [node, piece] : job.placed()->pieces) {
    const auto holding = ledger_.capacity().holdings().find(piece.id);
    const Time begun = holding == ledger_.capacity().holdings().end() ? Time{} : holding->second.started;
    if (!piece.until && !piece.is_ready && now >= begun + settings_.start_timeout) {
      piece.until = now;
      ledger_.expect_end(piece.id, now, true);
      out_.job_event(now, job, "shrinks", fmt::format("{} was not ready in time", nodes_.name_of(node)));
      rows_.run_node(job, node);
    }
    if (piece.until && piece.until <= now) clear_node(job, node);
  }
}

/// A node that reports what it has of the job is told again what it has missed. False: it is no such node.
bool Controller::repeat_to_piece(Time now, Job& job, NodeId node, bool has_run) {
  const Piece* piece = piece_on(job, node);
  if (piece == nullptr || job.state != JobState::kRunning) return false;
  if (piece->until && piece->until <= now) return clear_node(job, node), true;
  if (has_run) return piece_ready(job, node);
  if (piece->is_ready || piece->until) return false;
  send_prepare(now, job, node);
  return true;
}

/// A node above the smallest size is lost, or has left: the gang goes on without it. False: it is none of those.
bool Controller::piece_gone(Time now, Job& job, NodeId node, const std::string& why) {
  Piece* piece = piece_on(job, node);
  if (piece == nullptr || job.state != JobState::kRunning) return false;
  const bool was_told = static_cast<bool>(piece->until);
  if (!was_told) piece->until = now;  // steps that waited for those that end with the node must not begin there
  share_gone(now, job, node);
  model::Placed& placed = *job.placed();
  placed.pieces.erase(node);
  auto& shares = placed.allocation.shares;
  if (const auto share = model::find_on(shares, node, [](const auto& s) { return s.node; }); share != shares.end()) {
    rows_.run_left(job, share->name);
    shares.erase(share);
  }
  out_.job_event(now, job, "smaller",
                 fmt::format("without {}{}: {} nodes", nodes_.name_of(node), was_told || why.empty() ? "" : ", " + why,
                             placed.allocation.shares.size()));
  rows_.job_coalesced(job);
  if (!was_told) tell_size(job);
  return true;
}

/// The script's node is told which nodes the gang has from now on.
void Controller::tell_size(const Job& job) {
  const model::Placed& placed = *job.placed();
  wire::ControllerToNode message;
  wire::Resize& r = *message.mutable_resize();
  r.set_job(job.id.value);
  r.set_attempt(job.attempt);
  for (const model::NodeShare& share : placed.allocation.shares) {
    const auto piece = placed.pieces.find(share.node);
    if (piece == placed.pieces.end() || (piece->second.is_ready && !piece->second.until)) r.add_nodes(share.name);
  }
  r.set_signo(job.spec.resize_signo);
  r.set_uid(job.spec.uid);
  r.set_gid(job.spec.gid);
  send_to_node(placed.allocation.shares.front().node, std::move(message));
}

}  // namespace gw::ctld
