// Speed of the scheduler's core alone: `scheduler place` fills an empty cluster one job after the other; `scheduler
// pass` times whole plans over a long queue; `scheduler snapshot` what `gcontrol snapshot` adds to one. One thread, no
// daemon, no disk. Prints one line a case: what, how many, seconds.
#include <sys/resource.h>

#include <cstdio>
#include <cstring>
#include <ctime>
#include <random>
#include <string>

#include "sched/place.h"
#include "sched/plan.h"
#include "sched/snapshot.h"
#include "snapshot/snapshot.h"
#include "topo/load.h"

namespace {

using namespace gw;
/// Processor time of this thread: what else runs on the machine does not count.
struct Clock {
  static double now() {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
  }
};

double since(double t) { return Clock::now() - t; }

double peak_mb() {
  rusage r{};
  getrusage(RUSAGE_SELF, &r);
  return static_cast<double>(r.ru_maxrss) / 1024;
}

class Cluster {
 public:
  explicit Cluster(uint32_t nodes) {
    const auto topology = std::make_shared<const model::NodeTopology>(*topo::load("dgx-h100"));
    sched::PartitionFacts p;
    p.name = "main";
    p.cores_per_gpu_kept = 1;
    std::vector<model::SwitchConfig> switches;
    for (uint32_t i = 0; i < nodes; ++i) {
      sched::NodeFacts f;
      f.id = base::NodeId(i + 1);
      f.name = "n" + std::to_string(i);
      f.topology = topology;
      f.cores = base::IndexSet::first(static_cast<uint32_t>(topology->cores.size()));
      f.gpus = base::IndexSet::first(8);
      f.mem_mb = topology->memory_mb;
      f.usable = true;
      apply(sched::NodeSet{f});
      p.nodes.push_back(f.name);
      if (i % 32 == 0) switches.push_back({"leaf" + std::to_string(i / 32), {}, {}});
      switches.back().nodes.push_back(f.name);
    }
    apply(sched::PartitionSet{p});
    apply(sched::NetworkSet{*model::build_network(switches, p.nodes)});
  }
  void apply(sched::DeltaKind kind) { view.apply({view.epoch() + 1, std::move(kind)}); }

  sched::ClusterView view;
};

model::Request gpus(uint32_t n) {
  model::Request r;
  r.nodes_given = true;
  r.min_nodes = r.max_nodes = n <= 8 ? 1 : n / 8;
  r.tasks = r.min_nodes;
  r.gpu_counting = model::GpuCounting::kPerNode;
  r.gpus = n <= 8 ? n : 8;
  r.cpus_per_task = 4 * r.gpus;
  r.mem_per_node_mb = 16'000ULL * r.gpus;
  return r;
}

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

sched::Budget unbounded() {
  sched::Budget whole;
  whole.starts = UINT64_MAX;
  whole.placements = UINT64_MAX;
  return whole;
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
