// Recovery: the core as the store left it. Nodes are out of reach until they register; their jobs stay theirs.
#include <fmt/format.h>

#include "base/text.h"
#include "ctld/core/controller.h"
#include "model/suspension.h"
#include "wire/convert.h"

namespace gw::ctld {

using model::Node;

namespace {

tl::unexpected<base::Error> damaged(const store::JobRow& row) {
  return base::fail(base::ErrorCode::kInternal, fmt::format("the record of job {} is damaged", row.id.value),
                    "restore a backup");
}

base::Result<model::Job> job_from_row(const store::JobRow& row, const wire::NodeLookup& lookup) {
  wire::JobSpec spec;
  wire::JobStatus status;
  if (!spec.ParseFromString(row.spec) || !status.ParseFromString(row.status)) return damaged(row);
  model::Job job;
  job.id = row.id;
  GW_TRY(parsed, wire::from_wire(spec));
  job.spec = std::move(parsed);
  GW_TRY_STATUS(wire::status_from_wire(status, job, lookup));
  return job;
}

}  // namespace

base::Status Controller::restore(const store::Snapshot& snapshot, Time now) {
  for (const store::NamedBytes& meta : snapshot.meta)
    if (meta.name == "next_job") {
      GW_TRY(next, base::parse_int(meta.bytes, 1, UINT32_MAX, "next_job"));
      next_job_ = JobId(static_cast<uint32_t>(next));
    }
  for (const store::NamedBytes& meta : snapshot.meta)
    if (meta.name == "next_piece") {
      GW_TRY(next, base::parse_int(meta.bytes, sched::kFirstPiece, UINT32_MAX, "next_piece"));
      next_piece_ = JobId(static_cast<uint32_t>(next));
    }
  GW_TRY_STATUS(restore_quotas(snapshot));
  GW_TRY_STATUS(restore_cluster(snapshot, now));
  const wire::NodeLookup lookup = [this](std::string_view name) {
    const auto it = node_ids_.find(std::string(name));
    return it == node_ids_.end() ? NodeId() : it->second;
  };
  GW_TRY_STATUS(restore_reservations(snapshot));
  GW_TRY_STATUS(restore_usage(snapshot));
  GW_TRY_STATUS(restore_preemptions(snapshot));
  for (const store::JobRow& row : snapshot.recently_ended) {
    auto job = job_from_row(row, lookup);
    if (!job || job->ended() == nullptr) continue;  // history only: it is kept in the store whatever becomes of it here
    timers_.set({job->ended()->ended + settings_.min_job_age, TimerKind::kJobPurge, job->id.value, job->attempt});
    share_limits(job->spec);
    ++job_count(job->state);
    jobs_[job->id] = std::move(*job);
  }
  for (const store::JobRow& row : snapshot.jobs) {
    GW_TRY(job, job_from_row(row, lookup));
    if (job.ended() != nullptr) return damaged(row);
    ++live_jobs_;
    count_submitted(job, 1);
    share_limits(job.spec);
    ++job_count(job.state);
    jobs_[job.id] = std::move(job);
  }
  GW_TRY_STATUS(restore_steps(snapshot, lookup));
  // Components of one job look at each other.
  for (const store::JobRow& row : snapshot.jobs) restore_job(now, jobs_.at(row.id));
  for (const store::PutReply& r : snapshot.replies) {
    if (r.at + kReplyMemory <= now) continue;
    replies_[ReplyKey{r.uid, r.client_id}] = r.reply;
    reply_ages_.emplace_back(r.at, ReplyKey{r.uid, r.client_id});
  }
  if (!reply_ages_.empty()) timers_.set({reply_ages_.front().first + kReplyMemory, TimerKind::kReplies, 0, 0});
  publish_usage(now);
  arm_usage(now);
  return ledger_.audit();
}

base::Status Controller::restore_cluster(const store::Snapshot& snapshot, Time now) {
  // A node that left the configuration while jobs held it is known from its own record.
  std::set<std::string> held;
  for (const store::JobRow& row : snapshot.jobs) {
    wire::JobStatus status;
    if (!status.ParseFromString(row.status)) continue;
    for (const wire::NodeShare& share : status.placed().shares()) held.insert(share.node());
  }
  for (const store::NamedBytes& row : snapshot.nodes) {
    wire::Node stored;
    if (!stored.ParseFromString(row.bytes))
      return base::fail(base::ErrorCode::kInternal, "the record of node " + row.name + " is damaged",
                        "restore a backup");
    Node* node = find_node(row.name);
    if (node == nullptr) {
      if (!held.contains(row.name)) continue;
      const NodeId id(++last_node_);
      node = &nodes_[id];
      node->id = id;
      node->config.name = row.name;
      node_ids_[row.name] = id;
    }
    GW_TRY_STATUS(wire::stored_from_wire(stored, *node));
    node->connected = false;
    node->since = now;
    publish_node(*node);
    timers_.set({now + settings_.node_timeout, TimerKind::kNodeDown, node->id.value, 0});
  }
  restore_partitions(snapshot);
  return {};
}

void Controller::restore_job(Time now, model::Job& job) {
  await_attendant(now, job);
  if (job.waiting() != nullptr) return consider(now, job);
  model::Placed& placed = *job.placed();
  // Completing: only the nodes still waited for hold something. Before that all do.
  model::Allocation held, own;
  for (const model::NodeShare& share : placed.allocation.shares) {
    if (job.state == model::JobState::kCompleting && !placed.waiting_for.contains(share.node)) continue;
    held.shares.push_back(share);
    if (holder_on(job, share.node) == job.id) own.shares.push_back(share);
    jobs_on_[share.node].insert(job.id);
    placed.unreachable.insert(share.node);
  }
  const Time begun = placed.started ? placed.running_since() : placed.placed;
  const Time expected_end = begun + job.spec.time_limit;
  const bool has_own = !own.shares.empty();
  base::Status taken;
  if (has_own) taken = ledger_.allocate(job.id, placed.partition, own, begun, expected_end, /*forced=*/true);
  if (taken) {
    auto queued = std::make_shared<const sched::PendingJob>(pending_of(job));
    if (has_own) emit(sched::JobPlaced{job.id, placed.partition, own, begun, expected_end, std::move(queued)});
    for (const model::Piece& piece : placed.pieces) {
      const model::NodeShare* share = share_on(job, piece.node);
      if (share == nullptr || !jobs_on_[piece.node].contains(job.id)) continue;
      emit_piece(job, piece, *share, begun);
      timers_.set(
          {piece.until ? piece.until : now + settings_.start_timeout, TimerKind::kPiece, job.id.value, job.attempt});
    }
    if (placed.suspension) restore_suspension(now, job, held);
    if (job.state == model::JobState::kCompleting) expect_end(job, expected_end, true);
    if (const auto& c = placed.moves_to) emit(sched::ClaimSet{{job.id, c->partition, c->allocation, c->when}});
    const bool is_less = placed.suspension && placed.suspension->holder;
    charge_again(now, job, is_less ? model::kept_in_suspension(held, placed.suspension->shares_gpus) : held);
  }
  if (job.state == model::JobState::kConfiguring)
    timers_.set({now + settings_.start_timeout, TimerKind::kStartTimeout, job.id.value, job.attempt});
  if (placed.lease_over.us > 0)
    timers_.set({now + placed.lease_over, TimerKind::kLeaseOver, job.id.value, job.attempt});
  if (job.state == model::JobState::kRunning) arm_limits(job);
}

}  // namespace gw::ctld
