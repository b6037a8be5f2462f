// Speed of the scheduler's core alone: `scheduler place` fills an empty cluster one job after the other; `scheduler
// pass` times whole plans over a long queue; `scheduler snapshot` what `gcontrol snapshot` adds to one. One thread, no
// daemon, no disk. Prints one line a case: what, how many, seconds.
#include <cstdio>
#include <cstring>
#include <random>
#include <string>

#include "bench/cluster.h"
#include "sched/place.h"
#include "sched/plan.h"
#include "sched/snapshot.h"
#include "snapshot/snapshot.h"

namespace {

using namespace gw;
using bench::Clock;
using bench::Cluster;
using bench::gpus;
using bench::peak_mb;
using bench::since;
using bench::unbounded;

void place(uint32_t nodes, bool mixed) {
  Cluster c(nodes);
  std::mt19937 random(1);
  const uint32_t sizes[] = {1, 1, 2, 4, 8, 8, 16, 32, 64};
  const auto begin = Clock::now();
  uint32_t id = 0, failures = 0;
  uint64_t used = 0;
  sched::Look look;
  look.workload = &c.view.workload();
  while (failures < 64) {
    const uint32_t n = mixed ? sizes[random() % std::size(sizes)] : 1;
    const model::Request r = gpus(n);
    c.view.workload().add(sched::Workload::shape_of(r));
    auto p = sched::place(c.view.capacity(), *c.view.capacity().partition("main"), r, look);
    if (!p.allocation) {
      ++failures;
      if (!mixed) break;
      continue;
    }
    used += n;
    (void)c.view.capacity().allocate(base::JobId(++id), "main", *p.allocation, {}, base::Time::never());
  }
  const double s = since(begin);
  std::printf("place nodes=%u mix=%s placed=%u gpus=%.1f%% seconds=%.3f per_second=%.0f memory=%.0fMB\n", nodes,
              mixed ? "1-64" : "1", id, 100.0 * static_cast<double>(used) / (8.0 * nodes), s, id / s, peak_mb());
}

/// Jobs of so many different requests.
void fill_queue(Cluster& c, uint32_t jobs, uint32_t shapes) {
  std::mt19937 random(1);
  const uint32_t sizes[] = {1, 1, 2, 4, 8, 8, 16, 32, 64};
  for (uint32_t id = 1; id <= jobs; ++id) {
    sched::PendingJob job;
    job.id = base::JobId(id);
    const uint32_t shape = random() % shapes;
    job.request = gpus(sizes[shape % std::size(sizes)]);
    job.request.mem_per_node_mb += shape;
    job.partitions = {"main"};
    job.submitted = job.eligible = base::Time{id};
    job.time_limit = base::minutes(10 + shape);
    c.apply(sched::JobQueued{job});
  }
}

void snapshot_of(uint32_t nodes, uint32_t jobs, uint32_t shapes) {
  Cluster c(nodes);
  fill_queue(c, jobs, shapes);
  const base::Time now{1'000'000'000};
  for (const auto& g : sched::plan(c.view, now, unbounded()).groups)
    for (const auto& d : g.decisions)
      if (const auto* s = std::get_if<sched::Start>(&d)) {
        const auto job = std::make_shared<const sched::PendingJob>(*c.view.queue().find(s->job));
        c.apply(sched::JobPlaced{s->job, s->partition, s->allocation, now, now + s->time_limit, job});
      }
  const size_t running = c.view.capacity().holdings().size();
  auto begin = Clock::now();
  c.view.queue().forget();
  const sched::PassInput input = sched::take_input(c.view, now, unbounded());
  const double take = since(begin);
  begin = Clock::now();
  const sched::Plan plan = sched::plan(c.view, now, unbounded());
  const double planned = since(begin);
  begin = Clock::now();
  const auto bytes = snapshot::encode(input, plan, "bench", "bench");
  const double encode = since(begin);
  begin = Clock::now();
  const auto back = bytes ? snapshot::decode(*bytes) : base::pass(bytes);
  const double decode = since(begin);
  begin = Clock::now();
  const bool is_same = back && snapshot::plan_hash(back->plan) == snapshot::plan_hash(plan) &&
                       sched::restore_view(back->input).has_value();
  const double restore = since(begin);
  std::printf(
      "snapshot nodes=%u jobs=%u shapes=%u running=%zu take=%.3fs plan=%.3fs encode=%.3fs decode=%.3fs restore=%.3fs "
      "bytes=%.1fMB same=%s memory=%.0fMB\n",
      nodes, jobs, shapes, running, take, planned, encode, decode, restore,
      static_cast<double>(bytes ? bytes->size() : 0) / 1e6, is_same ? "yes" : "no", peak_mb());
}

void pass(uint32_t nodes, uint32_t jobs, uint32_t shapes) {
  Cluster c(nodes);
  fill_queue(c, jobs, shapes);
  base::Time now{1'000'000'000};
  const sched::Budget whole = unbounded();
  auto begin = Clock::now();
  sched::Plan plan = sched::plan(c.view, now, whole);
  const double first = since(begin);
  uint32_t started = 0;
  base::JobId victim;
  const auto commit = [&](const sched::Plan& p) {
    for (const auto& g : p.groups)
      for (const auto& d : g.decisions)
        if (const auto* s = std::get_if<sched::Start>(&d)) {
          ++started;
          if (s->allocation.shares.size() == 1) victim = s->job;
          c.apply(sched::JobPlaced{s->job, s->partition, s->allocation, now, now + s->time_limit, nullptr});
        }
  };
  commit(plan);
  const uint32_t from_empty = started;
  begin = Clock::now();
  commit(sched::plan(c.view, now, whole));
  const double full = since(begin);
  double next = 0;
  constexpr int kRounds = 20;
  for (int i = 0; i < kRounds; ++i) {
    now = now + base::seconds(1);
    for (base::NodeId n : std::vector<base::NodeId>(c.view.capacity().holdings().at(victim).nodes))
      c.apply(sched::ShareReleased{victim, n});
    begin = Clock::now();
    sched::Plan p = sched::plan(c.view, now, whole);
    next += since(begin) / kRounds;
    commit(p);
  }
  std::printf(
      "pass nodes=%u jobs=%u shapes=%u started=%u first=%.3fs full=%.3fs next=%.4fs reservations=%zu memory=%.0fMB\n",
      nodes, jobs, shapes, from_empty, first, full, next, plan.reservations.size(), peak_mb());
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  const auto n = [&](int i, uint32_t otherwise) {
    return argc > i ? static_cast<uint32_t>(std::stoul(argv[i])) : otherwise;
  };
  if (what == "place") {
    place(n(2, 1000), argc > 3 && std::strcmp(argv[3], "mix") == 0);
  } else if (what == "pass") {
    pass(n(2, 10'000), n(3, 100'000), n(4, 200));
  } else if (what == "snapshot") {
    snapshot_of(n(2, 10'000), n(3, 100'000), n(4, 200));
  } else {
    std::fprintf(stderr, "usage: scheduler place NODES [mix] | pass NODES JOBS SHAPES | snapshot NODES JOBS SHAPES\n");
    return 2;
  }
  return 0;
}
