// See decisions.h.
#include "sim/engine/decisions.h"

#include "sched/place/place.h"
#include "sim/engine/admission.h"
#include "sim/engine/gangs.h"
#include "sim/engine/runs.h"
#include "sim/engine/suspension.h"

namespace gw::sim {
namespace {

base::Result<bool> on_decision(World& world, const sched::Start& start) {
  if (start.job.value > world.jobs.size()) {  // a component: its job's own start is in the same group
    const auto [owner, component] = world.ids.components[start.job.value - world.jobs.size() - 1];
    world.records[owner].components[component] = start.allocation;
    give(world, start.job, start.allocation, start.partition, start.time_limit);
    return true;
  }
  const uint32_t job = start.job.value - 1;
  const SimJob& spec = world.jobs[job];
  Record& record = world.records[job];
  if (record.phase != Phase::kPending)
    return base::fail(base::ErrorCode::kInternal, "the scheduler starts job " + spec.name + ", which does not wait");
  if (const auto good = sched::check(world.view.capacity(), what_waits(world, job), start); !good)
    return base::fail(base::ErrorCode::kInternal,
                      "a start of job " + spec.name + " that does not hold: " + good.error().what);
  record.phase = Phase::kRunning;
  end_wait(world, job);
  --world.measures.current.pending;
  ++world.measures.current.running;
  if (record.is_suspended) return go_on(world, job), true;
  record.started = world.now;
  record.partition = start.partition;
  record.allocation = start.allocation;
  give(world, start.job, start.allocation, start.partition, start.time_limit);
  begin_run(world, job, start.time_limit);
  return true;
}

base::Result<bool> on_decision(World& world, const sched::Grow& grow) {
  add_extension(world, grow.gang.value - 1, grow.extension, grow.allocation);
  return true;
}

base::Result<bool> on_decision(World& world, const sched::Preempt& preempt) {
  const auto kept = world.ids.kept_part_of.find(preempt.job);
  const bool is_suspended = kept != world.ids.kept_part_of.end();
  if (!is_suspended && preempt.job.value >= sched::kFirstHoldingId) {
    shrink(world, preempt.job, preempt.grace);
    return true;
  }
  const uint32_t job = is_suspended ? kept->second : preempt.job.value - 1;
  if (world.progress[job].is_leaving) return false;
  if (preempt.is_counted()) {
    uint64_t held = world.records[job].allocation.total_gpu_milli();
    for (const model::Allocation& part : world.records[job].components) held += part.total_gpu_milli();
    world.tell(sched::JobPreempted{world.jobs[job].job.qos, {world.now, held}});
  }
  if (preempt.is_move) world.tell(sched::JobMoved{preempt.job, world.now});
  const bool takes_turns = world.view.orders().takes_turns(world.records[job].partition);
  Going how = preempt.is_move ? Going::kMoved : preempt.is_suspended ? Going::kSuspended : Going::kPreempted;
  if (how == Going::kSuspended && preempt.rule == 0 && takes_turns) how = Going::kTurnIsOver;
  preempt_run(world, job, preempt.grace, how);
  return true;
}

base::Result<bool> on_decision(World& world, const sched::Nomination& nomination) {
  world.tell(sched::NominationSet{nomination});
  return true;
}

base::Result<bool> on_decision(World& world, const sched::Reject& refusal) {
  reject(world, refusal.job.value - 1, refusal.detail);
  return true;
}

base::Result<bool> on_decision(World& world, const sched::Wait& wait) {
  world.reasons.told[wait.job_class] = model::words(wait.blockers);
  world.reasons.waits.tell(wait.job_class, wait.cause, world.now);
  return false;
}

}  // namespace

base::Result<bool> carry_out(World& world, const sched::Decision& decision) {
  return std::visit([&world](const auto& what) { return on_decision(world, what); }, decision);
}

}  // namespace gw::sim
