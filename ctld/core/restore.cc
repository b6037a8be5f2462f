// Recovery: the core as the store left it. Nodes are out of reach until they register; their jobs stay theirs. Whatever
// the rows say the controller starts: those that cannot be read are held aside (held_aside.cc).
#include <fmt/format.h>

#include <algorithm>

#include "base/hostlist.h"
#include "base/text.h"
#include "ctld/core/controller.h"
#include "model/suspension.h"
#include "wire/convert.h"

namespace gw::ctld {

using model::Node;
using store::RowKind;

base::Status Controller::restore(const store::Snapshot& snapshot, Time now) {
  restore_held(snapshot, now);
  lease_watch_.begin();
  for (const std::string& name : lineage_.restore(snapshot.meta))
    hold_named(now, RowKind::kSetting, name, "it does not say what it should");
  lineage_.begin(settings_.incarnation);
  commit_saved_ = lineage_.commit();
  restore_counts(snapshot, now);
  restore_quotas(snapshot, now);
  restore_cluster(snapshot, now);
  const wire::NodeLookup lookup = [this](std::string_view name) { return nodes_.id_of(name); };
  restore_reservations(snapshot, now);
  restore_usage(snapshot, now);
  restore_preemptions(snapshot, now);
  RunRows::Unread unread;
  const RunRows runs = RunRows::read(snapshot.run_nodes, unread);
  restore_jobs(snapshot, now, runs, unread, lookup);
  restore_steps(snapshot, now, runs, unread, lookup);
  // Components of one job look at each other.
  for (const store::JobRow& row : snapshot.jobs)
    if (model::Job* job = jobs_.find(row.id); job != nullptr && job->ended() == nullptr) restore_job(now, *job);
  restore_replies(snapshot, now);
  restore_books(snapshot, now);
  publish_usage(now);
  arm_usage(now);
  return ledger_.capacity().audit();
}

/// From which numbers jobs and pieces go on: above all that any row names, if the count itself is lost.
void Controller::restore_counts(const store::Snapshot& snapshot, Time now) {
  bool is_lost = held_.find(store::word_of(RowKind::kSetting), "next_job") != nullptr;
  for (const store::NamedBytes& meta : snapshot.meta) {
    if (meta.name != "next_job" && meta.name != "next_piece") continue;
    const bool is_piece = meta.name == "next_piece";
    const auto next = base::parse_int(meta.bytes, is_piece ? sched::kFirstPiece : 1,
                                      is_piece ? UINT32_MAX : int64_t{sched::kFirstPiece}, meta.name);
    if (next) {
      const JobId id(static_cast<uint32_t>(*next));
      is_piece ? jobs_.restore_next_holder(id) : jobs_.restore_next(id);
      continue;
    }
    hold_named(now, RowKind::kSetting, meta.name, "it is no number of a job");
    is_lost |= !is_piece;
    // Nodes remember pieces of before: a number is left out for each that there can have been.
    constexpr uint32_t kLeap = uint32_t{1} << 24;
    if (is_piece) jobs_.skip_holders_to(JobId(sched::kFirstPiece + kLeap));
  }
  uint32_t last = is_lost ? snapshot.last_job.value : 0;
  for (const store::JobRow& row : snapshot.jobs) last = std::max(last, row.id.value);
  for (const store::JobRow& row : snapshot.recently_ended) last = std::max(last, row.id.value);
  for (const auto& [key, row] : held_.rows()) last = std::max(last, job_of_held(row));
  if (last >= sched::kFirstPiece - 1 || last < jobs_.next().value) return;
  jobs_.skip_to(JobId(last + 1));
}

void Controller::restore_replies(const store::Snapshot& snapshot, Time now) {
  for (const store::PutReply& r : snapshot.replies) {
    if (r.at + kReplyMemory <= now) continue;
    if (wire::ApiReply reply; !reply.ParseFromString(r.reply)) {
      hold_aside(now, RowKind::kReply, {int64_t{r.uid}, r.client_id}, held_reply_name(r.uid, r.client_id),
                 "it cannot be read");
      continue;
    }
    for (std::string& gone : kept_replies_.keep(r.at, r.uid, r.client_id, r.reply))
      out_.write(store::DropReply{r.uid, std::move(gone)});
  }
  if (kept_replies_.oldest() != Time::never())
    timers_.set({kept_replies_.oldest() + kReplyMemory, TimerKind::kReplies, 0, 0});
}

void Controller::restore_jobs(const store::Snapshot& snapshot, Time now, const RunRows& runs,
                              const RunRows::Unread& unread, const std::function<NodeId(std::string_view)>& lookup) {
  std::map<JobId, std::string> faults;
  for (const store::HeldRow& row : snapshot.held)  // those that the store has just found
    if (const uint32_t id = job_of_held(row); id != 0 && row.since.us == 0) faults[JobId(id)] = row.reason;
  for (const auto& [run, row] : unread)
    if (run.second == 0)
      faults.try_emplace(run.first, fmt::format("the row of its run on {} cannot be read", row->node));
  JobRows rows = read_jobs(snapshot, runs, lookup, settings_, std::move(faults));
  hold_jobs(snapshot, now, rows.faults);
  restore_ended(snapshot, now, rows, lookup);
  for (auto& [id, job] : rows.sound) {
    const model::Job& kept = jobs_.restore(std::move(job));
    // Stored before runs had rows of their own.
    if (kept.placed() != nullptr && !runs.has(kept.id, 0)) rows_.run(kept);
  }
}

void Controller::restore_ended(const store::Snapshot& snapshot, Time now, const JobRows& live,
                               const std::function<NodeId(std::string_view)>& lookup) {
  for (const store::JobRow& row : snapshot.recently_ended) {
    auto job = read_ended_job(row, lookup, settings_);
    const bool is_live = live.sound.contains(row.id) || live.faults.contains(row.id);
    if (!job || is_live) {
      hold_aside(now, RowKind::kEndedJob, {int64_t{row.id.value}}, row.id.text(),
                 job ? "a job of this number has not ended" : job.error().what);
      continue;
    }
    timers_.set({job->ended()->ended + settings_.min_job_age, TimerKind::kJobPurge, job->id.value, job->attempt});
    jobs_.restore(std::move(*job));
  }
}

void Controller::restore_cluster(const store::Snapshot& snapshot, Time now) {
  // A node that left the configuration while jobs held it is known from its own record.
  std::set<std::string> held;
  for (const store::JobRow& row : snapshot.jobs) {
    wire::JobStatus status;
    if (!status.ParseFromString(row.status)) continue;
    if (!status.has_placed()) continue;
    for (const wire::NodeShare& share : status.placed().shares()) held.insert(share.node());
    if (auto names = base::expand_hostlist(row.nodes)) held.insert(names->begin(), names->end());
  }
  for (const store::NamedBytes& row : snapshot.nodes) restore_node(row, now, held.contains(row.name));
  restore_partitions(snapshot, now);
}

/// Whether a node may take jobs is in its row: without that an administrator has to say so.
void Controller::restore_node(const store::NamedBytes& row, Time now, bool is_held_by_jobs) {
  Node* node = nodes_.find(row.name);
  if (node == nullptr && !is_held_by_jobs) return;
  Node read = node == nullptr ? Node() : *node;
  const base::Status taken = wire::stored_from_row(row.name, row.bytes, nodes_.topologies(), read);
  if (!taken) hold_named(now, RowKind::kNode, row.name, taken.error().what);
  if (node == nullptr) {
    if (!taken) return;
    node = &nodes_.add(row.name);
    read.id = node->id;
    read.config.name = row.name;
  }
  if (taken) {
    *node = std::move(read);
    nodes_.is_stored(*node);
  } else {
    node->admin = model::NodeAdmin::kDrain;
    node->reason = "its stored row cannot be read and is held aside";
    node->reason_user = "gctld";
    node->reason_time = now;
    nodes_.changed(*node);
  }
  node->connected = false;
  node->since = now;
  publish_node(*node);
  timers_.set({now + settings_.node_timeout, TimerKind::kNodeDown, node->id.value, 0});
}

namespace {

/// Of a run that was told to end: by when it should have.
Time told_end(const model::Placed& placed) {
  return placed.kill_sent + placed.outcome->grace.value_or(placed.contract.kill_wait);
}

}  // namespace

void Controller::restore_job(Time now, model::Job& job) {
  await_attendant(now, job);
  if (job.waiting() != nullptr) {
    const auto before = std::pair(job.eligible, job.waiting()->reason);
    consider(now, job);
    // Its time to begin has come while nobody was there: since when it could have run is kept from now on.
    if (before != std::pair(job.eligible, job.waiting()->reason)) rows_.job(job);
    return;
  }
  model::Placed& placed = *job.placed();
  // Completing: only the nodes still waited for hold something. Before that all do.
  model::Allocation held, own;
  for (const model::NodeShare& share : placed.allocation.shares) {
    if (job.state == model::JobState::kCompleting && !placed.waiting_for.contains(share.node)) continue;
    held.shares.push_back(share);
    if (holder_on(job, share.node) == job.id) own.shares.push_back(share);
    placements_.put(share.node, job.id);
    placed.unreachable.insert(share.node);
  }
  const Time begun = placed.started ? placed.running_since() : placed.placed;
  const Time expected_end = begun + job.spec.time_limit;
  const bool has_own = !own.shares.empty();
  base::Status taken;
  if (has_own)
    taken = ledger_.hold({job.id, placed.partition, own, begun, expected_end,
                          std::make_shared<const sched::PendingJob>(pending_of(job))});
  if (taken) {
    for (const auto& [node, piece] : placed.pieces) {
      const model::NodeShare* share = share_on(job, node);
      if (share == nullptr || !placements_.is_on(node, job.id)) continue;
      emit_piece(job, piece, *share, begun);
      timers_.set(
          {piece.until ? piece.until : now + settings_.start_timeout, TimerKind::kPiece, job.id.value, job.attempt});
    }
    if (placed.suspension) restore_suspension(now, job, held);
    if (job.state == model::JobState::kCompleting) expect_end(job, told_end(placed), true);
    if (const auto& c = placed.moves_to) feed_.tell(sched::ClaimSet{{job.id, c->partition, c->allocation, c->when}});
    const bool is_less = placed.suspension && placed.suspension->holder;
    charge_again(now, job, is_less ? model::kept_in_suspension(held, placed.suspension->shares_gpus) : held);
  }
  if (job.state == model::JobState::kConfiguring)
    timers_.set({now + settings_.start_timeout, TimerKind::kStartTimeout, job.id.value, job.attempt});
  if (placed.contract.has_lease())
    timers_.set({now + placed.contract.over_after(), TimerKind::kLeaseOver, job.id.value, job.attempt});
  if (job.state == model::JobState::kRunning) arm_limits(job);
  // The step that a job is made for was asked for again, or nobody is there any more.
  const bool stands = job.state == model::JobState::kSuspended && !job.spec.attended;
  if ((job.state == model::JobState::kRunning || stands) && job.spec.kind == model::JobKind::kStep)
    await_step(now, job);
}

}  // namespace gw::ctld
