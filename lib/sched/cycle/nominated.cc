// Jobs for which others have left, or still leave; see start_nominated() in start.h.
#include <algorithm>
#include <utility>
#include <vector>

#include "sched/cycle/start.h"

namespace gw::sched {
namespace {

/// Can what was freed, and what is being freed, still become the place that the job was nominated for? If somebody who
/// stays has got hold of it, or a node, a GPU or the partition is gone, nothing is waited for: the job is planned anew.
bool still_holds(const Session& session, const Nomination& nomination, const PendingJob& job) {
  const PartitionFacts* partition = session.capacity().partition(nomination.partition);
  if (session.now > nomination.when + kNominationPatience || partition == nullptr || !partition->is_up) return false;
  const auto leaves = [&session](JobId id) {
    const QuotaLedger::Holder* holder = session.view.quota().holder(id);
    return holder != nullptr && holder->is_leaving;
  };
  // What a suspended job keeps of its node is in nobody's way but its own.
  const bool wholly = job.request.exactly.empty() && (partition->exclusive || job.request.exclusive);
  const auto is_there = [&](const model::NodeShare& share) {
    const NodeAccount* account = session.capacity().node(share.node);
    return account != nullptr && account->facts.usable &&
           session.capacity().check_free_without(share, leaves, wholly).has_value();
  };
  const std::vector<model::NodeShare>& shares = nomination.allocation.shares;
  return std::all_of(shares.begin(), shares.end(), is_there);
}

/// Beside what is kept for those who were nominated before? Of cores and whole GPUs no two of them have the same, but
/// memory and parts of GPUs are told by amount only: what is free of them now may be meant for another.
bool is_free_beside_planned(const Session& session, const model::NodeShare& share) {
  const std::vector<Booking>* kept = session.backfill.all().on(share.node);
  if (kept == nullptr) return true;
  model::NodeShare with = share;
  for (const Booking& b : *kept)
    if (!b.whole) with.mem_mb += b.mem_mb;
  if (!session.capacity().check_free(with)) return false;
  if (share.gpu_milli == model::kWholeGpu) return true;
  for (uint32_t gpu = share.gpus.next(0); gpu != UINT32_MAX; gpu = share.gpus.next(gpu + 1)) {
    with.gpus = base::IndexSet();
    with.gpus.insert(gpu);
    with.gpu_milli = share.gpu_milli;
    for (const Booking& b : *kept)
      if (b.gpus.contains(gpu)) with.gpu_milli += b.gpu_milli;
    if (!session.capacity().check_free(with)) return false;
  }
  return true;
}

/// It is kept for the job, and nobody takes what others had to leave for.
void keep_place(Session& session, const Nomination& nomination, const PendingJob& job) {
  session.backfill.keep(job, FutureStart{session.now, nomination.allocation}, true);
  session.change_at(nomination.when + kNominationPatience + base::microseconds(1));
}

/// Of one that moves and has not left its old place yet.
void keep_for_mover(Session& session, const Nomination& nomination) {
  const auto running = session.view.running().find(nomination.job);
  if (running == session.view.running().end() || !still_holds(session, nomination, *running->second)) return;
  keep_place(session, nomination, *running->second);
}

bool may_start(const Session& session, const Nomination& nomination, const PendingJob& job, const Start& start,
               uint32_t leaf, const Quantities& amounts) {
  const std::vector<model::NodeShare>& shares = nomination.allocation.shares;
  return !session.quotas().limit_in_way(leaf, amounts, job.uid) && check(session.capacity(), job, start) &&
         check_reservations(session.view.reservations(), job, start, session.now) &&
         std::all_of(shares.begin(), shares.end(),
                     [&session](const auto& share) { return is_free_beside_planned(session, share); });
}

}  // namespace

void start_nominated(Session& session) {
  for (const auto& [made, nomination] : session.view.nominations()) {
    const JobId id = nomination.job;
    const PendingJob* job = session.queue.find(id);
    if (job == nullptr) keep_for_mover(session, nomination);
    if (job == nullptr || !still_holds(session, nomination, *job) || missed_deadline(session, *job)) continue;
    const uint32_t leaf = session.quotas().tree().leaf_of(job->qos);
    const Quantities amounts = session.quotas().tree().count(nomination.allocation, session.capacity());
    const Duration length = cut_length(session, *job, job->time_limit);
    Start start{id, nomination.partition, nomination.allocation, length};
    const bool starts =
        may_start(session, nomination, *job, start, leaf, amounts) &&
        session.trial.place(id, nomination.partition, nomination.allocation, session.now, session.now + length);
    session.trial.count(leaf, amounts, job->preemptible, job->uid);  // to limits and shares it is as if it ran already
    if (starts) {
      decide_start(session, Group{{std::move(start)}});
      session.honoured.insert(id);
      continue;
    }
    keep_place(session, nomination, *job);
    session.plan.reservations.push_back(
        PlannedStart{id, nomination.partition, nomination.when, nomination.allocation.node_names()});
    session.nominated.insert(id);
    session.block(Served{*job, leaf});
  }
}

}  // namespace gw::sched
