// See suspension.h.
#include "sim/engine/suspension.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "model/suspension.h"
#include "sched/queue/orders.h"
#include "sim/engine/admission.h"
#include "sim/engine/pace.h"
#include "sim/engine/runs.h"
#include "sim/engine/usage.h"

namespace gw::sim {
namespace {

bool shares_gpus(const World& world, const Record& record) {
  const sched::PartitionFacts* partition = world.view.capacity().partition(record.partition);
  return partition != nullptr && partition->share_suspended_gpus;
}

}  // namespace

sched::PendingJob what_waits(const World& world, uint32_t job) {
  sched::PendingJob out = world.jobs[job].job;
  const Record& record = world.records[job];
  if (!record.is_suspended) return out;
  out.request.exactly = model::freed_in_suspension(record.allocation, shares_gpus(world, record)).shares;
  out.partitions = {record.partition};
  out.time_min = {};
  out.deadline = {};  // what has begun is not given up for it
  out.counted_at = world.progress[job].pending_since;
  out.suspends = out.between_turns = sched::Suspends::kNo;
  out.time_limit = world.progress[job].limit;
  return out;
}

void stand_still(World& world, uint32_t job) {
  Record& record = world.records[job];
  Progress& progress = world.progress[job];
  stop_pace(world, job);
  const Duration ran = world.now - progress.runs_since, overhead = progress.cost - progress.pace.cost;
  account_for(world, job, overhead);
  ++world.changes;
  change_rate(world, job, -1);
  const sched::PendingJob& facts = world.jobs[job].job;
  release(world, facts.id, record.allocation);
  if (progress.left != base::kUnlimited) progress.left = progress.left - progress.pace.worked;
  progress.done = progress.done + (ran - overhead);
  progress.done_work = progress.done_work + progress.pace.worked;
  progress.cost = progress.cost - overhead;
  if (progress.limit != base::kUnlimited) progress.limit = std::max(progress.limit - ran, base::seconds(1));
  const bool is_turn_over = std::exchange(progress.is_turn_over, false);  // who takes turns is not preempted
  progress.is_leaving = progress.is_suspending = false;
  ++progress.run;  // its end is not that of the run any more
  record.kept = model::kept_in_suspension(record.allocation, shares_gpus(world, record));
  record.is_suspended = true;
  record.phase = Phase::kPending;
  if (!is_turn_over) ++record.preemptions;
  --world.measures.current.running;
  ++world.measures.current.pending;
  progress.pending_since = world.now;
  progress.kept_id = std::exchange(world.ids.next_kept_id, base::JobId(world.ids.next_kept_id.value + 1));
  world.ids.kept_part_of[progress.kept_id] = job;
  count(world.measures, record.kept, true);
  auto kept = std::make_shared<const sched::PendingJob>(sched::kept_part_of(what_waits(world, job), progress.kept_id));
  world.tell(sched::JobPlaced{progress.kept_id, record.partition, record.kept, world.now - progress.done, Time::never(),
                              std::move(kept)});
  change_rate(world, job, 1);
  queue_job(world, job);
}

void go_on(World& world, uint32_t job) {
  Record& record = world.records[job];
  const Progress& progress = world.progress[job];
  account_for(world, job, {});
  change_rate(world, job, -1);
  leave_kept_part(world, job);
  const sched::PendingJob& facts = world.jobs[job].job;
  count(world.measures, record.allocation, true);
  // Its limit counts from then, as if it had never been suspended; so does what is told of its work.
  auto ranked = std::make_shared<sched::PendingJob>(facts);
  if (ranked->remaining != base::kUnlimited) ranked->remaining = ranked->remaining + progress.done;
  if (world.jobs[job].told && !world.jobs[job].has_overrun)
    world.jobs[job].job.overruns = ranked->overruns = sched::overrun_of(world.now - progress.done, ranked->remaining);
  world.tell(sched::JobPlaced{facts.id, record.partition, record.allocation, world.now - progress.done,
                              world.now + progress.limit, std::move(ranked)});
  run_from(world, job, world.now, progress.limit);
}

void leave_kept_part(World& world, uint32_t job) {
  Record& record = world.records[job];
  const base::JobId id = std::exchange(world.progress[job].kept_id, {});
  release(world, id, record.kept);
  world.ids.kept_part_of.erase(id);
  record.kept = {};
  record.is_suspended = false;
}

}  // namespace gw::sim
