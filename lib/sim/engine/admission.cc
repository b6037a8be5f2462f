// See admission.h.
#include "sim/engine/admission.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "sched/place/place.h"
#include "sim/engine/suspension.h"
#include "sim/engine/ties.h"

namespace gw::sim {
namespace {

/// Empty: it can run.
std::string why_never(const World& world, const sched::PendingJob& job) {
  std::string why;
  const model::Qos* wall = model::shortest_wall(world.cluster.qos, job.qos);
  if (wall != nullptr && job.time_limit > wall->max_wall)
    return fmt::format("the time limit {} is longer than QOS {} allows: {}", base::format_duration(job.time_limit),
                       wall->name, base::format_duration(wall->max_wall));
  const sched::Capacity& capacity = world.view.capacity();
  const auto can_run = [&](const model::Request& request, const std::vector<std::string>& partitions) {
    for (const std::string& name : partitions) {
      const auto status = sched::could_ever_run(capacity, *capacity.partition(name), request);
      if (status) return true;
      if (why.empty()) why = status.error().what;
    }
    return false;
  };
  if (!can_run(job.request, job.partitions)) return why;
  for (const sched::Component& part : job.components)
    if (!can_run(part.request, part.partitions)) return why;
  return {};
}

}  // namespace

void sort_arrivals(World& world) {
  std::vector<uint32_t>& arrivals = world.timetable.arrivals;
  for (uint32_t i = 0; i < world.jobs.size(); ++i)
    if (!world.jobs[i].running) arrivals.push_back(i);
  const auto when = [&world](uint32_t i) { return std::max(world.jobs[i].job.submitted, kStart); };
  std::stable_sort(arrivals.begin(), arrivals.end(), [&](uint32_t a, uint32_t b) { return when(a) < when(b); });
}

void admit(World& world, uint32_t job) {
  Record& record = world.records[job];
  sched::PendingJob& pending = world.jobs[job].job;
  record.phase = Phase::kPending;
  record.submitted = pending.submitted;
  world.progress[job].contention_at_submit = world.measures.contention;
  world.timetable.last_event = world.now;
  ++world.changes;
  const sched::ClassKey key = sched::class_key(pending);
  auto& never = world.reasons.never;
  auto known = never.find(key);
  if (known == never.end()) known = never.emplace(key, why_never(world, pending)).first;
  if (!known->second.empty()) {
    record.is_refused = true;
    ++world.measures.left;
    record.why = "can never run: " + known->second;
    return job_has_left(world, job);
  }
  if (!may_enter(world, job)) return;
  ++world.measures.current.pending;
  world.progress[job].pending_since = pending.submitted;
  pending.eligible = pending.submitted;
  note_arrival(world, job);
  queue_job(world, job);
}

void let_in(World& world, uint32_t job) {
  ++world.measures.current.pending;
  ++world.changes;
  world.progress[job].pending_since = world.jobs[job].job.eligible = world.now;
  queue_job(world, job);
}

namespace {

/// It waits by the clock of its class.
void set_wait_clock(World& world, uint32_t job, const sched::PendingJob& waits) {
  sched::WaitClocks& clocks = world.reasons.waits;
  model::WaitSplit before;  // it came before the beginning
  before.add(model::WaitCause::kScheduler, world.now - world.progress[job].pending_since);
  clocks.bring(waits.id, std::move(before));
  const Time at = world.reasons.planned;
  clocks.wait_in(waits.id, sched::class_key(waits, world.view.splits_by_user(), at),
                 sched::Queue::next_change_of(waits, at), world.now);
}

}  // namespace

void queue_job(World& world, uint32_t job) {
  const Progress& progress = world.progress[job];
  SimJob& told = world.jobs[job];
  told.has_overrun |= told.job.overruns && world.now >= told.job.overruns;
  told.job.overruns = told.has_overrun ? Time{1} : Time{};
  const Duration done = told.told ? told.work - progress.left : Duration{};
  if (told.told)
    told.job.remaining = std::max(*told.told - done, Duration{}) + progress.cost;
  else if (told.tells_work)
    told.job.remaining = progress.left + progress.cost;
  const sched::PendingJob waits = what_waits(world, job);
  set_wait_clock(world, job, waits);
  world.tell(sched::JobQueued{waits});
}

void end_wait(World& world, uint32_t job) {
  Record& record = world.records[job];
  record.waited = record.waited + (world.now - world.progress[job].pending_since);
  record.waited_for += world.reasons.waits.leave(world.jobs[job].job.id, world.now);
}

void follow_classes(World& world, Time planned) {
  world.reasons.planned = planned;
  while (const auto id = world.reasons.waits.due(planned))
    set_wait_clock(world, id->value - 1, what_waits(world, id->value - 1));
}

void explain_waits(World& world) {
  const Reasons& reasons = world.reasons;
  for (uint32_t i = 0; i < world.jobs.size(); ++i) {
    Record& record = world.records[i];
    if (record.phase != Phase::kPending || record.is_refused) continue;
    record.waited_for += world.reasons.waits.leave(world.jobs[i].job.id, world.now);
    if (world.ties.is_held[i]) record.why = why_held(world, i);
    if (world.ties.is_held[i]) continue;
    const bool is_split = world.view.splits_by_user();
    const auto told = reasons.told.find(sched::class_key(what_waits(world, i), is_split, reasons.planned));
    if (told != reasons.told.end()) record.why = told->second;
  }
}

}  // namespace gw::sim
