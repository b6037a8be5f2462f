// See pace.h.
#include "sim/engine/pace.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace gw::sim {
namespace {

/// The GPUs of which it has a part, on all nodes and of all components.
std::vector<SharedGpuId> shared_gpus(const World& world, uint32_t job) {
  std::vector<SharedGpuId> out;
  const auto add = [&out](const model::Allocation& allocation) {
    for (const model::NodeShare& share : allocation.shares)
      if (share.gpu_milli < model::kWholeGpu)
        for (uint32_t gpu = share.gpus.next(0); gpu != UINT32_MAX; gpu = share.gpus.next(gpu + 1))
          out.emplace_back(share.node, gpu);
  };
  add(world.records[job].allocation);
  for (const model::Allocation& part : world.records[job].components) add(part);
  return out;
}

/// In their order.
std::set<uint32_t> others_beside(const World& world, uint32_t job) {
  std::set<uint32_t> out;
  for (const SharedGpuId& gpu : shared_gpus(world, job))
    if (const auto there = world.company.find(gpu); there != world.company.end())
      out.insert(there->second.begin(), there->second.end());
  out.erase(job);
  return out;
}

sched::RateFacts facts_of(const World& world, uint32_t job) {
  const SimJob& spec = world.jobs[job];
  sched::RateFacts out;
  out.stages = spec.stages;
  if (spec.job.most_tasks == 0) return out;
  out.tasks = world.records[job].allocation.total_tasks();
  out.full_tasks = spec.job.most_tasks;
  out.scaling = spec.job.scaling;
  return out;
}

double speed_of(const World& world, uint32_t job) {
  std::vector<sched::RateFacts> beside;
  for (const uint32_t other : others_beside(world, job)) beside.push_back(facts_of(world, other));
  return sched::rate_of(*world.cluster.rate_model, facts_of(world, job), beside);
}

/// A restart takes its time at whatever speed.
void count_work(World& world, uint32_t job) {
  Pace& pace = world.progress[job].pace;
  const Duration passed = std::max(world.now - pace.since, Duration{});
  const Duration paid = std::min(passed, pace.cost);
  pace.cost = pace.cost - paid;
  const auto us = static_cast<double>((passed - paid).us);
  pace.worked = pace.worked + base::microseconds(static_cast<int64_t>(std::llround(us * pace.speed)));
  pace.since = std::max(world.now, pace.since);
}

void tell_end(World& world, uint32_t job) {
  Progress& progress = world.progress[job];
  ++progress.pace.number;
  const Duration to_limit = progress.limit, to_end = time_to_end(progress);
  Time end = Time::never();
  if (to_limit != base::kUnlimited) end = progress.runs_since + to_limit;
  if (to_end != base::kUnlimited) end = std::min(end, progress.pace.since + to_end);
  if (end != Time::never())
    world.timetable.endings.push({std::max(end, kStart), job, progress.run, false, {}, progress.pace.number});
}

/// What a job does that calls `gangway progress`: when something changes, and a minute after that.
void tell_rate(World& world, uint32_t job) {
  SimJob& spec = world.jobs[job];
  model::Company& company = world.progress[job].company;
  const sched::PartitionFacts* partition = world.view.capacity().partition(world.records[job].partition);
  if (partition == nullptr || partition->min_shared_rate == 0 || company.needs_own_gpu) return;
  if (shared_gpus(world, job).empty()) return;
  model::Pace pace{static_cast<uint64_t>(std::llround(1e3 * world.progress[job].pace.speed))};
  pace.has_others = !others_beside(world, job).empty();
  company = model::with_pace(company, pace, partition->min_shared_rate, world.now);
  const bool is_measured = company.own_rate_milli == pace.milli;
  const Time since = company.slow_since ? company.slow_since : is_measured ? Time{} : company.alone_since;
  if (since && !company.needs_own_gpu) world.timetable.reports.emplace(since + model::kCompanyLooksBack, job);
  if (!company.needs_own_gpu) return;
  spec.job.request.own_gpu = true;
  ++world.changes;
  world.tell(sched::GpuOwned{spec.job.id});
}

void change_others(World& world, const std::set<uint32_t>& others) {
  for (const uint32_t other : others) change_pace(world, other);
}

}  // namespace

Duration time_to_end(const Progress& progress) {
  if (progress.left == base::kUnlimited) return base::kUnlimited;
  const Pace& pace = progress.pace;
  const Duration work = std::max(progress.left - pace.worked, Duration{});
  if (pace.speed == 1) return pace.cost + work;
  if (static_cast<double>(work.us) <= pace.speed) return pace.cost;  // less than a microsecond
  return pace.cost + base::microseconds(static_cast<int64_t>(std::ceil(static_cast<double>(work.us) / pace.speed)));
}

void set_out(World& world, uint32_t job, Time since) {
  Progress& progress = world.progress[job];
  progress.pace = {1, since, progress.cost, {}, progress.pace.number};
  if (!world.cluster.rate_model) return tell_end(world, job);
  for (const SharedGpuId& gpu : shared_gpus(world, job)) world.company[gpu].insert(job);
  progress.pace.speed = speed_of(world, job);
  progress.company = {.needs_own_gpu = progress.company.needs_own_gpu};
  tell_end(world, job);
  tell_rate(world, job);
  change_others(world, others_beside(world, job));
}

void stop_pace(World& world, uint32_t job) {
  count_work(world, job);
  if (!world.cluster.rate_model) return;
  const std::set<uint32_t> others = others_beside(world, job);
  for (const SharedGpuId& gpu : shared_gpus(world, job)) {
    const auto there = world.company.find(gpu);
    if (there != world.company.end() && there->second.erase(job) > 0 && there->second.empty())
      world.company.erase(there);
  }
  change_others(world, others);
}

void change_pace(World& world, uint32_t job) {
  if (!world.cluster.rate_model) return;
  const double speed = speed_of(world, job);
  if (speed != world.progress[job].pace.speed) {
    count_work(world, job);
    world.progress[job].pace.speed = speed;
    tell_end(world, job);
  }
  tell_rate(world, job);
}

void tell_rates(World& world) {
  auto& reports = world.timetable.reports;
  while (!reports.empty() && reports.begin()->first <= world.now) {
    const uint32_t job = reports.extract(reports.begin()).value().second;
    if (world.records[job].phase == Phase::kRunning) tell_rate(world, job);
  }
}

}  // namespace gw::sim
