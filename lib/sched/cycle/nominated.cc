// Jobs for which others have left, or still leave; see start_nominated() in start.h.
#include <algorithm>
#include <utility>
#include <vector>

#include "sched/cycle/start.h"

namespace gw::sched {
namespace {

/// Each component of a nominated job, as a job of its own, and its place.
using Parts = std::vector<std::pair<PendingJob, model::KeptPlace>>;

/// Nothing, if the job has other components by now.
Parts parts_of(const Nomination& nomination, const PendingJob& job) {
  Parts out;
  if (nomination.components.size() != job.components.size()) return out;
  out.emplace_back(job, model::KeptPlace{nomination.partition, nomination.allocation});
  out.front().first.components.clear();
  for (size_t i = 0; i < job.components.size(); ++i) {
    const Component& c = job.components[i];
    out.emplace_back(out.front().first, nomination.components[i]);
    PendingJob& part = out.back().first;
    part.id = c.id;
    part.request = c.request;
    part.partitions = c.partitions;
  }
  return out;
}

bool is_still_there(const Session& session, const PendingJob& job, const model::KeptPlace& place) {
  const PartitionFacts* partition = session.capacity().partition(place.partition);
  if (partition == nullptr || !partition->is_up) return false;
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
  return std::all_of(place.allocation.shares.begin(), place.allocation.shares.end(), is_there);
}

/// Can what was freed, and what is being freed, still become the place that the job was nominated for? If somebody who
/// stays has got hold of it, or a node, a GPU or the partition is gone, nothing is waited for: the job is planned anew.
bool still_holds(const Session& session, const Nomination& nomination, const Parts& parts) {
  if (session.now > nomination.when + kNominationPatience || parts.empty()) return false;
  return std::all_of(parts.begin(), parts.end(),
                     [&](const auto& part) { return is_still_there(session, part.first, part.second); });
}

/// Beside what is kept for those who were nominated before? Of cores and whole GPUs no two of them have the same, but
/// memory and parts of GPUs are told by amount only: what is free of them now may be meant for another.
bool is_free_beside_planned(const Session& session, const model::Request& request, const model::NodeShare& share) {
  const std::vector<Booking>* kept = session.backfill.all().on(share.node);
  if (kept == nullptr) return true;
  const auto is_beside = [&](const Booking& b) { return !b.whole && b.gpus.intersects(share.gpus); };
  if (request.own_gpu && std::any_of(kept->begin(), kept->end(), is_beside)) return false;
  model::NodeShare with = share;
  for (const Booking& b : *kept)
    if (!b.whole) {
      with.mem_mb += b.mem_mb;
      with.gres.add(b.gres);
    }
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

/// Of one that moves and has not left its old place yet.
void keep_for_mover(Session& session, const Nomination& nomination) {
  const auto running = session.view.running().find(nomination.job);
  if (running == session.view.running().end()) return;
  const PendingJob& job = *running->second;
  if (still_holds(session, nomination, parts_of(nomination, job))) keep_place(session, job, nomination);
}

bool may_start(const Session& session, const PendingJob& part, const Start& start) {
  const std::vector<model::NodeShare>& shares = start.allocation.shares;
  return check(session.capacity(), part, start) &&
         check_reservations(session.view.reservations(), part, start, session.now) &&
         std::all_of(shares.begin(), shares.end(),
                     [&](const auto& share) { return is_free_beside_planned(session, part.request, share); });
}

/// All of them in the trial, or nothing.
bool start_parts(Session& session, const Parts& parts, Duration length, Group& group) {
  const Trial::Mark mark = session.trial.mark();
  for (const auto& [part, place] : parts) {
    Start start{part.id, place.partition, place.allocation, length};
    if (!may_start(session, part, start) ||
        !session.trial.place(part.id, place.partition, place.allocation, session.now, session.now + length)) {
      session.trial.rollback(mark);
      return false;
    }
    if (part.request.own_gpu) session.trial.set_own_gpu(part.id);
    group.decisions.emplace_back(std::move(start));
  }
  return true;
}

}  // namespace

void keep_place(Session& session, const PendingJob& job, const Nomination& nomination) {
  session.backfill.keep(job, FutureStart{session.now, nomination.allocation}, true);
  for (const model::KeptPlace& part : nomination.components)
    session.backfill.keep(job, FutureStart{session.now, part.allocation}, true);
  session.change_at(nomination.when + kNominationPatience + base::microseconds(1));
}

void start_nominated(Session& session) {
  for (const auto& [made, nomination] : session.view.nominations()) {
    const JobId id = nomination.job;
    const PendingJob* job = session.queue.find(id);
    if (job == nullptr) keep_for_mover(session, nomination);
    if (job == nullptr || missed_deadline(session, *job)) continue;
    const Parts parts = parts_of(nomination, *job);
    if (!still_holds(session, nomination, parts)) continue;
    const uint32_t leaf = session.quotas().tree().leaf_of(job->qos);
    const Quantities amounts = nomination.amounts(session.quotas().tree(), session.capacity(), *job);
    Group group;
    const bool starts = !session.quotas().limit_in_way(leaf, amounts, job->uid) &&
                        start_parts(session, parts, cut_length(session, *job, job->time_limit), group);
    if (starts) std::get<Start>(group.decisions.front()).borrows = borrowing_of(session.quotas(), leaf, amounts);
    session.trial.count(leaf, amounts, job->preemptible, job->uid);  // to limits and shares it is as if it ran already
    if (starts) {
      decide_start(session, std::move(group));
      session.honoured.insert(id);
      continue;
    }
    keep_place(session, *job, nomination);
    session.plan.planned_starts.push_back(
        PlannedStart{id, nomination.partition, nomination.when, nomination.node_names()});
    session.nominated.insert(id);
    session.block(Served{*job, leaf});
  }
}

}  // namespace gw::sched
