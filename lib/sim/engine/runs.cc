// See runs.h.
#include "sim/engine/runs.h"

#include <algorithm>
#include <memory>

#include "sched/queue/orders.h"
#include "sim/engine/admission.h"
#include "sim/engine/pace.h"
#include "sim/engine/suspension.h"
#include "sim/engine/ties.h"
#include "sim/engine/usage.h"

namespace gw::sim {
namespace {

std::vector<base::JobId> ids_of(const World& world, uint32_t job) {
  if (world.records[job].is_suspended) return {world.progress[job].kept_id};
  std::vector<base::JobId> ids = {world.jobs[job].job.id};
  for (const sched::Component& part : world.jobs[job].job.components) ids.push_back(part.id);
  for (const auto& [extension, allocation] : world.progress[job].extensions) ids.push_back(extension);
  return ids;
}

void leave_nodes(World& world, uint32_t job) {
  ++world.changes;
  change_rate(world, job, -1);
  if (world.records[job].is_suspended) return leave_kept_part(world, job);
  Progress& progress = world.progress[job];
  for (const auto& [extension, allocation] : progress.extensions) {
    release(world, extension, allocation);
    world.ids.gang_of.erase(extension);
  }
  progress.extensions.clear();
  const sched::PendingJob& facts = world.jobs[job].job;
  release(world, facts.id, progress.least);
  const Record& record = world.records[job];
  for (size_t c = 0; c < record.components.size(); ++c) release(world, facts.components[c].id, record.components[c]);
}

void leave_system(World& world, uint32_t job, std::string why) {
  Record& record = world.records[job];
  record.phase = Phase::kEnded;
  record.ended = world.timetable.last_event = world.now;
  record.why = std::move(why);
  ++world.changes;
  ++world.measures.left;
  const double stay = static_cast<double>((world.now - record.submitted).us) / 1e6;
  const double met = world.measures.contention - world.progress[job].contention_at_submit;
  record.contention = stay > 0 ? met / stay : 1;
  note_service(world, job);
  job_has_left(world, job);
}

/// What it told binds it for this run.
void promise(SimJob& job, Time since) {
  if (job.told && !job.has_overrun) job.job.overruns = sched::overrun_of(since, job.job.remaining);
}

}  // namespace

void give(World& world, base::JobId id, const model::Allocation& allocation, const std::string& partition,
          Duration limit) {
  const bool is_component = id.value > world.jobs.size();
  const uint32_t owner = is_component ? world.ids.components[id.value - world.jobs.size() - 1].first : id.value - 1;
  const Time since = is_component ? world.now : world.records[owner].started;
  if (!is_component) promise(world.jobs[owner], since);
  auto ranked = std::make_shared<sched::PendingJob>(world.jobs[owner].job);
  if (is_component) *ranked = sched::component_of(*ranked, id);
  ranked->counted_at = {};  // its service counts from this start on
  count(world.measures, allocation, true);
  world.tell(sched::JobPlaced{id, partition, allocation, since, since + limit, std::move(ranked)});
}

void begin_run(World& world, uint32_t job, Duration limit) {
  Progress& progress = world.progress[job];
  progress.least = world.records[job].allocation;
  progress.done = progress.done_work = {};
  run_from(world, job, world.records[job].started, limit);
  job_has_started(world, job);
  note_start(world, job);
}

void run_from(World& world, uint32_t job, Time since, Duration limit) {
  Progress& progress = world.progress[job];
  ++progress.run;
  ++world.changes;
  progress.is_leaving = progress.is_suspending = progress.is_turn_over = false;
  progress.size_since = progress.runs_since = since;
  progress.limit = limit;
  set_out(world, job, since);
  change_rate(world, job, 1);
}

void preempt_run(World& world, uint32_t job, Duration grace, Going how) {
  Progress& progress = world.progress[job];
  progress.is_moving = how == Going::kMoved;
  progress.is_turn_over = how == Going::kTurnIsOver;
  progress.is_suspending = how == Going::kSuspended || progress.is_turn_over;
  if (grace <= Duration{}) return make_way(world, job);
  progress.is_leaving = true;
  if (world.records[job].is_suspended) world.tell(sched::JobUnqueued{world.jobs[job].job.id});
  ++world.changes;
  world.timetable.endings.push({world.now + grace, job, progress.run, true});
  for (const base::JobId id : ids_of(world, job)) world.tell(sched::EndExpected{id, world.now + grace, true});
}

void make_way(World& world, uint32_t job) {
  world.progress[job].is_suspending ? stand_still(world, job) : take_off(world, job);
}

void take_off(World& world, uint32_t job) {
  Record& record = world.records[job];
  const SimJob& spec = world.jobs[job];
  Progress& progress = world.progress[job];
  const bool stood = record.is_suspended;
  if (!stood) stop_pace(world, job);
  const Duration ran = stood ? Duration{} : world.now - progress.runs_since;
  const Duration overhead = stood ? Duration{} : progress.cost - progress.pace.cost;
  const Duration worked = stood ? Duration{} : progress.pace.worked;
  const bool keeps_work = !spec.ends_preempted && (world.keeps_work || spec.saves_work || progress.is_moving);
  if (progress.left != base::kUnlimited)
    progress.left = keeps_work ? progress.left - worked : progress.left + progress.done_work;
  account_for(world, job, keeps_work ? overhead : ran + progress.done);
  progress.done = progress.done_work = {};
  leave_nodes(world, job);
  ++(std::exchange(progress.is_moving, false) ? record.moves : record.preemptions);
  if (!stood) {
    --world.measures.current.running;
    ++world.measures.current.pending;
    record.phase = Phase::kPending;
    progress.pending_since = world.now;
  }
  if (spec.ends_preempted) {
    --world.measures.current.pending;
    return leave_system(world, job, "preempted");
  }
  progress.cost = world.restart_cost;
  world.jobs[job].job.eligible = world.now;
  world.jobs[job].job.preemptions = record.preemptions;
  queue_job(world, job);
}

void end_run(World& world, uint32_t job) {
  const Progress& progress = world.progress[job];
  const Duration ran = world.now - progress.runs_since;
  stop_pace(world, job);
  const bool is_cut = time_to_end(progress) > Duration{};
  account_for(world, job, progress.cost - progress.pace.cost);
  note_end_of_run(world, job, ran);
  leave_nodes(world, job);
  --world.measures.current.running;
  leave_system(world, job, is_cut ? "time limit" : "");
}

void reject(World& world, uint32_t job, std::string why) {
  world.tell(sched::JobUnqueued{world.jobs[job].job.id});
  end_wait(world, job);
  --world.measures.current.pending;
  leave_system(world, job, std::move(why));
}

void leave_unheard(World& world, uint32_t job, std::string why) { leave_system(world, job, std::move(why)); }

void release(World& world, base::JobId id, const model::Allocation& allocation) {
  count(world.measures, allocation, false);
  for (const model::NodeShare& share : allocation.shares) world.tell(sched::ShareReleased{id, share.node});
}

namespace {

/// What orders by attained service go by.
void count_service(World& world, uint32_t job, Duration held_for) {
  const Record& record = world.records[job];
  int64_t rate = record.is_suspended ? 0 : sched::usage_rate(record.allocation);
  for (const model::Allocation& part : record.components) rate += sched::usage_rate(part);
  sched::PendingJob& facts = world.jobs[job].job;
  const double us = static_cast<double>(held_for.us) * static_cast<double>(rate) / 1e6;
  facts.attained = facts.attained + base::microseconds(static_cast<int64_t>(us));
  facts.counted_at = world.now;
}

}  // namespace

void account_for(World& world, uint32_t job, Duration lost) {
  struct Sum {
    uint64_t milli = 0, cpus = 0;
    void add(const model::Allocation& allocation) {
      milli += allocation.total_gpu_milli();
      cpus += allocation.total_cpus();
    }
    double gpus() const { return static_cast<double>(milli) / model::kWholeGpu; }
  };
  Record& record = world.records[job];
  Sum whole;
  whole.add(record.allocation);
  for (const model::Allocation& part : record.components) whole.add(part);
  Sum held = whole;
  if (record.is_suspended) (held = {}).add(record.kept);
  Time& since = world.progress[job].size_since;
  count_service(world, job, world.now - since);
  const double held_s = static_cast<double>((world.now - since).us) / 1e6;
  since = world.now;
  record.held_gpu_s += held.gpus() * held_s;
  record.held_cpu_s += static_cast<double>(held.cpus) * held_s;
  record.lost_gpu_s += whole.gpus() * static_cast<double>(lost.us) / 1e6;
}

void drop_stale_endings(World& world) {
  auto& endings = world.timetable.endings;
  while (!endings.empty()) {
    const Ending& top = endings.top();
    const bool is_there = !top.extension || world.ids.gang_of.contains(top.extension);
    const Record& record = world.records[top.job];
    const bool holds = record.phase == Phase::kRunning || record.is_suspended;
    const Progress& progress = world.progress[top.job];
    const bool is_last = top.is_eviction || top.pace == progress.pace.number;
    if (is_there && holds && is_last && progress.run == top.run) return;
    endings.pop();
  }
}

}  // namespace gw::sim
