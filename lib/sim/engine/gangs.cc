// See gangs.h.
#include "sim/engine/gangs.h"

#include <memory>

#include "sim/engine/pace.h"
#include "sim/engine/runs.h"
#include "sim/engine/usage.h"

namespace gw::sim {
namespace {

/// It has other extensions now: what it held until now is accounted for, and it holds what its parts hold together.
void resize(World& world, uint32_t job) {
  ++world.changes;
  change_rate(world, job, -1);
  account_for(world, job, {});
  std::map<base::NodeId, model::NodeShare> shares;
  const auto add = [&shares](const model::Allocation& allocation) {
    for (const model::NodeShare& share : allocation.shares) {
      const auto [it, is_new] = shares.try_emplace(share.node, share);
      if (is_new) continue;
      model::NodeShare& sum = it->second;
      sum.tasks += share.tasks;
      sum.cpus += share.cpus;
      sum.cores |= share.cores;
      sum.gpus |= share.gpus;
      sum.mem_mb += share.mem_mb;
    }
  };
  add(world.progress[job].least);
  for (const auto& [extension, allocation] : world.progress[job].extensions) add(allocation);
  model::Allocation& all = world.records[job].allocation;
  all.shares.clear();
  for (auto& [node, share] : shares) all.shares.push_back(std::move(share));
  change_rate(world, job, 1);
  change_pace(world, job);
  const sched::PendingJob& facts = world.jobs[job].job;  // its service grows by more or less from now on
  world.tell(sched::RunningChanged{facts.id, std::make_shared<const sched::PendingJob>(facts)});
}

}  // namespace

void add_extension(World& world, uint32_t job, base::JobId extension, const model::Allocation& allocation) {
  const sched::PendingJob& gang = world.jobs[job].job;
  const sched::Holding& holding = world.view.capacity().holdings().at(gang.id);
  const uint32_t tasks = allocation.shares.front().tasks;
  auto part = std::make_shared<const sched::PendingJob>(sched::extension_of(gang, extension, tasks));
  world.tell(
      sched::JobPlaced{extension, holding.partition, allocation, world.now, holding.expected_end, std::move(part)});
  count(world.measures, allocation, true);
  world.ids.gang_of[extension] = job;
  world.progress[job].extensions[extension] = allocation;
  resize(world, job);
}

void shrink(World& world, base::JobId extension, Duration grace) {
  const uint32_t job = world.ids.gang_of.at(extension);
  const Progress& progress = world.progress[job];
  world.records[job].given_back_milli += progress.extensions.at(extension).total_gpu_milli();
  if (grace <= Duration{}) return drop_extension(world, job, extension);
  ++world.changes;
  world.timetable.endings.push({world.now + grace, job, progress.run, true, extension});
  world.tell(sched::EndExpected{extension, world.now + grace, true});
}

void drop_extension(World& world, uint32_t job, base::JobId extension) {
  auto& extensions = world.progress[job].extensions;
  release(world, extension, extensions.at(extension));
  extensions.erase(extension);
  world.ids.gang_of.erase(extension);
  resize(world, job);
}

}  // namespace gw::sim
