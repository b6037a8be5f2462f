// How the world is at the beginning. See world.h.
#include "sim/engine/world.h"

namespace gw::sim {
namespace {

/// Equal requests have equal shapes.
using Shapes = std::map<sched::ClassKey, sched::Workload::Entry>;

void add_shape(Shapes& shapes, const sched::PendingJob& job) {
  sched::Workload::Entry& entry = shapes[sched::class_key(job)];
  entry.shape = sched::Workload::shape_of(job.request);
  ++entry.count;
}

void number_jobs(World& world) {
  auto next = static_cast<uint32_t>(world.jobs.size());
  Shapes shapes;
  for (uint32_t i = 0; i < world.jobs.size(); ++i) {
    sched::PendingJob& job = world.jobs[i].job;
    job.id = base::JobId(i + 1);
    world.records[i].components.resize(job.components.size());
    for (uint32_t c = 0; c < job.components.size(); ++c) {
      job.components[c].id = base::JobId(++next);
      world.ids.components.emplace_back(i, c);
    }
    world.progress[i].left = world.jobs[i].work;
    world.records[i].is_elastic = job.most_tasks > 0;
    add_shape(shapes, job);
  }
  std::vector<sched::Workload::Entry> entries;
  for (const auto& [key, entry] : shapes) entries.push_back(entry);
  world.measures.workload = sched::Workload::exact(std::move(entries));
}

void tell_cluster(World& world) {
  const Cluster& cluster = world.cluster;
  for (const sched::NodeFacts& node : cluster.nodes) world.tell(sched::NodeSet{node});
  for (const sched::PartitionFacts& p : cluster.partitions) world.tell(sched::PartitionSet{p});
  if (!cluster.network.empty()) world.tell(sched::NetworkSet{cluster.network});
  world.tell(sched::PolicySet{cluster.policy});
  for (const sched::AdvanceReservation& r : cluster.reservations) world.tell(sched::ReservationSet{r});
  if (!cluster.qos.empty()) world.tell(sched::QosSet{cluster.qos});
}

}  // namespace

World::World(const Cluster& facts, std::vector<SimJob> all, const EngineOptions& options)
    : cluster(facts),
      jobs(std::move(all)),
      records(jobs.size()),
      progress(jobs.size()),
      keeps_work(options.keeps_work),
      restart_cost(options.restart_cost),
      usage{sched::UsageMeter<uint32_t>(facts.usage_half_life), sched::UsageMeter<std::string>(facts.usage_half_life)} {
  estimates.every = options.estimate_every;
  number_jobs(*this);
  add_nodes(measures, cluster.nodes);
  tell_cluster(*this);
}

void World::tell(sched::DeltaKind kind) { view.apply(sched::Delta{++epoch, std::move(kind)}); }

}  // namespace gw::sim
