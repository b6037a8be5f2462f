// See at_start.h.
#include "sim/engine/at_start.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "sched/place/place.h"
#include "sim/engine/gangs.h"
#include "sim/engine/pace.h"
#include "sim/engine/runs.h"

namespace gw::sim {
namespace {

base::Result<std::string> partition_of(const sched::Capacity& capacity, const SimJob& job) {
  for (const std::string& name : job.job.partitions) {
    const sched::PartitionFacts* p = capacity.partition(name);
    const auto is_in = [p](const std::string& node) {
      return std::find(p->nodes.begin(), p->nodes.end(), node) != p->nodes.end();
    };
    if (p != nullptr && std::all_of(job.running->at.begin(), job.running->at.end(), is_in)) return name;
  }
  return base::invalid(fmt::format("job {}: no partition of its has all the nodes where it runs", job.name));
}

/// Each node's part as the inside-node chooser gives it.
base::Result<model::Allocation> allocation_at(const sched::Capacity& capacity, const SimJob& job,
                                              const std::string& partition, std::span<const std::string> at) {
  model::Allocation all;
  std::map<std::string, uint32_t> tasks;
  for (const std::string& node : at) ++tasks[node];
  for (const std::string& node : at) {
    const uint32_t here = std::exchange(tasks[node], 0);
    if (here == 0) continue;
    const model::Request& whole = job.job.request;
    model::Request part = whole;
    part.nodes_given = part.tasks_given = true;
    part.min_nodes = part.max_nodes = 1;
    part.tasks = here;
    part.tasks_per_node = part.max_switches = part.segment = 0;
    part.nodelist = {node};
    part.exclude.clear();
    part.features.clear();
    part.locality.clear();
    if (part.gpu_counting == model::GpuCounting::kPerJob)
      part.gpus = whole.gpus * here / static_cast<uint32_t>(at.size());
    auto placed = sched::place(capacity, *capacity.partition(partition), part);
    if (!placed.allocation)
      return base::invalid(fmt::format("job {} does not fit on {}, where it is said to run: {}", job.name, node,
                                       sched::explain(placed.diagnosis, partition)));
    all.shares.push_back(std::move(placed.allocation->shares.front()));
  }
  return all;
}

base::Status place_running(World& world, uint32_t job) {
  const SimJob& spec = world.jobs[job];
  const sched::Capacity& capacity = world.view.capacity();
  GW_TRY(partition, partition_of(capacity, spec));
  const std::span<const std::string> at(spec.running->at);
  const size_t least = spec.job.most_tasks > 0 ? spec.job.request.tasks : at.size();
  GW_TRY(allocation, allocation_at(capacity, spec, partition, at.first(least)));
  Record& record = world.records[job];
  record.ran_at_start = true;
  record.submitted = spec.job.submitted;
  record.started = spec.running->started;
  record.partition = partition;
  record.allocation = record.first_allocation = allocation;
  record.phase = Phase::kRunning;
  ++world.measures.current.running;
  give(world, spec.job.id, allocation, partition, spec.job.time_limit);
  begin_run(world, job, spec.job.time_limit);
  for (size_t i = least; i < at.size(); ++i) {
    GW_TRY(extension, allocation_at(capacity, spec, partition, at.subspan(i, 1)));
    add_extension(world, job, world.view.next_extension(), extension);
  }
  record.first_allocation = record.allocation;
  return {};
}

/// In the order in which they came, so that each is as fast as those who were there let it be.
void let_them_come(World& world, std::vector<uint32_t> jobs) {
  const auto started = [&](uint32_t job) { return world.jobs[job].running->started; };
  std::stable_sort(jobs.begin(), jobs.end(), [&](uint32_t a, uint32_t b) { return started(a) < started(b); });
  const Time now = world.now;
  for (const uint32_t job : jobs) {
    world.now = started(job);
    set_out(world, job, world.now);  // it has had that size all the time
  }
  world.now = now;
}

}  // namespace

base::Status place_running_jobs(World& world) {
  std::vector<uint32_t> jobs;
  for (uint32_t i = 0; i < world.jobs.size(); ++i) {
    if (!world.jobs[i].running) continue;
    GW_TRY_STATUS(place_running(world, i));
    jobs.push_back(i);
  }
  let_them_come(world, std::move(jobs));
  return {};
}

}  // namespace gw::sim
