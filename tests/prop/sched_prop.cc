// The scheduler against random clusters and queues: nothing is given twice, gangs are whole, the order of input does
// not matter, planning step by step equals planning from scratch, the planned start of the first blocked job holds, and
// the timeline and the search for the earliest start equal brute force.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "sched/cycle/plan.h"
#include "sched/place/earliest.h"
#include "sched/place/place.h"
#include "tests/unit/sched/cluster_builder.h"

namespace gw::sched {
namespace {

using testing::Cluster;

constexpr uint32_t kNodes = 4;

model::NodeTopology small() { return testing::machine(8, 4, 32'000); }

/// Seconds as a point in time.
Time at(int64_t s) { return Time{1'000'000 * (1'000 + s)}; }

model::Request random_request() {
  model::Request r;
  r.mem_per_node_mb = static_cast<uint64_t>(*rc::gen::inRange(1, 20)) * 1'000;
  r.cpus_per_task = static_cast<uint32_t>(*rc::gen::inRange(1, 6));
  if (*rc::gen::inRange(0, 3) == 0) r.gres.add("disk", static_cast<uint64_t>(*rc::gen::inRange(1, 4)));
  if (*rc::gen::inRange(0, 3) == 0) {
    r.tasks = static_cast<uint32_t>(*rc::gen::inRange(1, 9));
    r.tasks_given = true;
    return r;
  }
  r.nodes_given = true;
  r.min_nodes = static_cast<uint32_t>(*rc::gen::inRange(1, 4));
  r.max_nodes = r.min_nodes + static_cast<uint32_t>(*rc::gen::inRange(0, 2));
  r.tasks = r.min_nodes;
  r.gpu_counting = model::GpuCounting::kPerNode;
  r.gpus = static_cast<uint32_t>(*rc::gen::inRange(1, 5));
  return r;
}

PendingJob random_job(uint32_t id) {
  PendingJob job = testing::pending(id, random_request(), *rc::gen::inRange(0, 3));
  job.submitted = job.eligible = at(0);
  job.time_limit = base::seconds(*rc::gen::inRange(1, 8) * 10);
  return job;
}

std::vector<PendingJob> random_jobs() {
  std::vector<PendingJob> out;
  const auto n = static_cast<uint32_t>(*rc::gen::inRange(1, 14));
  for (uint32_t id = 1; id <= n; ++id) out.push_back(random_job(id));
  return out;
}

std::vector<Start> starts_of(const Plan& plan) {
  std::vector<Start> out;
  for (const Group& g : plan.groups)
    for (const Decision& d : g.decisions)
      if (const auto* s = std::get_if<Start>(&d)) out.push_back(*s);
  return out;
}

/// Of the generic resource "disk" on each node.
constexpr uint64_t kDisks = 3;

/// A cluster whose jobs run exactly to their limits, on a clock of its own.
class Run {
 public:
  explicit Run(const std::vector<PendingJob>& all, uint32_t nodes = kNodes, uint32_t planned = 16)
      : cluster(nodes, small()) {
    Policy policy;
    policy.max_planned_starts = planned;
    feed(PolicySet{policy});
    for (uint32_t id = 1; id <= nodes; ++id) {
      NodeFacts facts = testing::node_facts(id, small());
      facts.gres.add("disk", kDisks);
      feed(NodeSet{facts});
    }
    for (const PendingJob& job : all) {
      jobs[job.id] = job;
      deltas.push_back(JobQueued{job});
      cluster.apply(deltas.back());
    }
  }
  Plan plan_and_start() {
    const Plan p = plan(cluster.view, now, {});
    for (const Start& s : starts_of(p)) {
      check_whole(s);
      feed(JobPlaced{s.job, s.partition, s.allocation, now, now + s.time_limit, nullptr});
      running.emplace(now + s.time_limit, s);
      started[s.job] = now;
    }
    RC_ASSERT(cluster.view.capacity().audit().has_value());
    return p;
  }
  /// Lets the next jobs end. False: none runs.
  bool step() {
    if (running.empty()) return false;
    now = running.begin()->first;
    while (!running.empty() && running.begin()->first == now) {
      for (const model::NodeShare& share : running.begin()->second.allocation.shares)
        feed(ShareReleased{running.begin()->second.job, share.node});
      running.erase(running.begin());
    }
    return true;
  }

  Cluster cluster;
  Time now = at(0);
  std::map<JobId, PendingJob> jobs;
  std::map<JobId, Time> started;
  std::multimap<Time, Start> running;  ///< By end.
  std::vector<DeltaKind> deltas;

 private:
  void feed(DeltaKind kind) {
    deltas.push_back(kind);
    cluster.apply(std::move(kind));
  }
  void check_whole(const Start& s) const {
    const model::Request& r = jobs.at(s.job).request;
    const auto nodes = static_cast<uint32_t>(s.allocation.shares.size());
    RC_ASSERT(nodes >= r.min_nodes);
    if (r.nodes_given) RC_ASSERT(nodes <= r.max_nodes);
    uint32_t tasks = 0;
    for (const model::NodeShare& share : s.allocation.shares) {
      tasks += share.tasks;
      if (r.gpus > 0) RC_ASSERT(share.gpus.size() == r.gpus);
      RC_ASSERT(share.cpus >= share.tasks * r.cpus_per_task);
      RC_ASSERT(share.mem_mb == r.mem_per_node_mb);
      RC_ASSERT(share.gres == r.gres);
    }
    RC_ASSERT(tasks >= r.tasks);
  }
};

RC_GTEST_PROP(Sched, NothingIsGivenTwiceAndGangsAreWhole, ()) {
  Run run(random_jobs());
  do run.plan_and_start();
  while (run.step());
}

RC_GTEST_PROP(Sched, OrderOfInputDoesNotMatter, ()) {
  std::vector<PendingJob> jobs = random_jobs();
  Run one(jobs);
  std::reverse(jobs.begin(), jobs.end());
  Run other(jobs);
  do {
    const Plan a = one.plan_and_start(), b = other.plan_and_start();
    const auto sa = starts_of(a), sb = starts_of(b);
    RC_ASSERT(sa.size() == sb.size());
    for (size_t i = 0; i < sa.size(); ++i) {
      RC_ASSERT(sa[i].job == sb[i].job);
      RC_ASSERT(sa[i].allocation == sb[i].allocation);
    }
    RC_ASSERT(a.planned_starts == b.planned_starts);
  } while (one.step() && other.step());
}

RC_GTEST_PROP(Sched, StepByStepEqualsFromScratch, ()) {
  Run run(random_jobs());
  do {
    Cluster fresh(kNodes, small());
    for (const DeltaKind& d : run.deltas) fresh.apply(d);
    const Plan again = plan(fresh.view, run.now, {});
    const Plan stepped = run.plan_and_start();
    const auto sa = starts_of(stepped), sb = starts_of(again);
    RC_ASSERT(sa.size() == sb.size());
    for (size_t i = 0; i < sa.size(); ++i) RC_ASSERT(sa[i].allocation == sb[i].allocation);
    RC_ASSERT(stepped.planned_starts == again.planned_starts);
  } while (run.step());
}

// ---- Planned starts. Each plan makes them anew, in the order of the queue, and places each job where it likes best.
// Therefore the second and later ones may move when one before them is placed elsewhere than in the plan before, within
// the same time: a part of a node here instead of there, which leaves them less. What holds for all of them is (1) and
// (2), within one plan; and (3) over time, where the place cannot make that difference. Over time and everywhere it
// holds for the first (4).

/// How much of a node is held at a moment, by what runs and by planned starts.
struct Held {
  uint64_t gpus = 0, mem_mb = 0, disks = 0;
};
std::map<std::string, Held> held_at(Time t, const Run& run, const Plan& p) {
  std::map<std::string, Held> out;
  for (const auto& [end, start] : run.running)
    for (const model::NodeShare& share : start.allocation.shares) {
      if (end <= t) continue;
      out[share.name].gpus += share.gpus.size();
      out[share.name].mem_mb += share.mem_mb;
      out[share.name].disks += share.gres.count("disk");
    }
  for (const PlannedStart& r : p.planned_starts) {
    const PendingJob& job = run.jobs.at(r.job);
    if (t < r.start || r.start + job.time_limit <= t) continue;
    for (const std::string& node : r.nodes) {
      out[node].gpus += job.request.gpus;
      out[node].mem_mb += job.request.mem_per_node_mb;
      out[node].disks += job.request.gres.count("disk");
    }
  }
  return out;
}

// (1) Whatever a plan starts leaves room for all planned starts.
RC_GTEST_PROP(Sched, NoStartIsInTheWayOfAPlannedStart, ()) {
  Run run(random_jobs());
  do {
    const Plan p = run.plan_and_start();
    for (const PlannedStart& r : p.planned_starts) {
      RC_ASSERT(r.nodes.size() >= run.jobs.at(r.job).request.min_nodes || run.jobs.at(r.job).request.tasks_given);
      for (const auto& [node, held] : held_at(r.start, run, p)) {  // what is held grows at such moments only
        RC_ASSERT(held.gpus <= small().gpus.size());
        RC_ASSERT(held.mem_mb <= small().memory_mb);
        RC_ASSERT(held.disks <= kDisks);
      }
    }
  } while (run.step());
}

// (2) What a job gets or has planned does not depend on the jobs behind it.
RC_GTEST_PROP(Sched, ThoseBehindChangeNothingForThoseBefore, ()) {
  const std::vector<PendingJob> jobs = random_jobs();
  const PendingJob& last = jobs[static_cast<size_t>(*rc::gen::inRange<int>(0, static_cast<int>(jobs.size())))];
  const auto is_behind = [&last](const PendingJob& job) {
    return std::tuple(-job.priority, job.id) > std::tuple(-last.priority, last.id);
  };
  Run run(jobs, kNodes, *rc::gen::inRange(1U, 17U));
  do {
    Cluster without(kNodes, small());
    for (const DeltaKind& d : run.deltas) without.apply(d);
    for (const PendingJob& job : jobs)
      if (is_behind(job)) without.apply(JobUnqueued{job.id});
    const Plan expected = plan(without.view, run.now, {});
    Plan p = run.plan_and_start();
    std::vector<Start> starts = starts_of(p);
    std::erase_if(starts, [&](const Start& s) { return is_behind(run.jobs.at(s.job)); });
    std::erase_if(p.planned_starts, [&](const PlannedStart& r) { return is_behind(run.jobs.at(r.job)); });
    const std::vector<Start> same = starts_of(expected);
    RC_ASSERT(starts.size() == same.size());
    for (size_t i = 0; i < starts.size(); ++i) {
      RC_ASSERT(starts[i].job == same[i].job);
      RC_ASSERT(starts[i].allocation == same[i].allocation);
    }
    RC_ASSERT(p.planned_starts == expected.planned_starts);
  } while (run.step());
}

// (3) Where only how much is free counts, not where, all planned starts hold to the microsecond, however many are made:
// memory or GPUs of a single node, and gangs of whole nodes.
RC_GTEST_PROP(Sched, EveryPlannedStartHoldsWhereThePlaceDoesNotMatter, ()) {
  std::vector<PendingJob> jobs = random_jobs();
  const int kind = *rc::gen::inRange(0, 3);
  for (PendingJob& job : jobs) {
    model::Request& r = job.request;
    if (kind == 0) {
      r = testing::tasks(1);
      r.mem_per_node_mb = static_cast<uint64_t>(*rc::gen::inRange(1, 33)) * 1'000;
    } else if (kind == 1) {
      r = testing::gang(1, *rc::gen::inRange(1U, 5U));
    } else {
      r = testing::gang(*rc::gen::inRange(1U, kNodes + 1), 4);
      r.max_nodes += *rc::gen::inRange(0U, 2U);
    }
  }
  Run run(jobs, kind == 2 ? kNodes : 1, *rc::gen::inRange(1U, 17U));
  std::map<JobId, Time> planned;
  do
    for (const PlannedStart& r : run.plan_and_start().planned_starts) planned.try_emplace(r.job, r.start);
  while (run.step());
  for (const auto& [job, when] : planned) {
    RC_ASSERT(run.started.contains(job));
    RC_ASSERT(run.started.at(job) == when);
  }
}

// (4)
RC_GTEST_PROP(Sched, NobodyPassesTheFirstBlockedJobToItsHarm, ()) {
  Run run(random_jobs());
  std::map<JobId, Time> planned;
  do {
    const Plan p = run.plan_and_start();
    if (!p.planned_starts.empty()) planned.try_emplace(p.planned_starts.front().job, p.planned_starts.front().start);
  } while (run.step());
  for (const auto& [job, when] : planned) {
    RC_ASSERT(run.started.contains(job));
    RC_ASSERT(run.started.at(job) <= when);
  }
}

/// A node with random jobs and bookings, in ticks of a second.
struct Scene {
  Scene() : cluster(1, small()) {
    NodeFacts facts = testing::node_facts(1, small());
    facts.gres.add("disk", 6);
    cluster.apply(NodeSet{facts});
    base::IndexSet cores, gpus;
    const auto n = static_cast<uint32_t>(*rc::gen::inRange(0, 4));
    for (uint32_t id = 1; id <= n; ++id) {
      model::NodeShare s;
      s.node = NodeId(1);
      s.name = "n1";
      s.cores.insert(id);
      s.gpus.insert(id - 1);
      s.mem_mb = static_cast<uint64_t>(*rc::gen::inRange(0, 9)) * 1'000;
      s.gres.add("disk", static_cast<uint64_t>(*rc::gen::inRange(0, 3)));
      (void)cluster.view.capacity().allocate(JobId(id), "main", model::Allocation{{s}}, at(0),
                                             at(*rc::gen::inRange(1, 12)));
    }
    const auto bookings = *rc::gen::inRange(0, 4);
    for (int i = 0; i < bookings; ++i) {
      Booking b;
      const int from = *rc::gen::inRange(0, 12);
      b.span = {at(from), at(from + *rc::gen::inRange(1, 5))};
      b.job = JobId(100 + static_cast<uint32_t>(i));
      b.cores = base::IndexSet::of({static_cast<uint32_t>(*rc::gen::inRange(0, 8))});
      b.gpus = base::IndexSet::of({static_cast<uint32_t>(*rc::gen::inRange(0, 4))});
      b.mem_mb = static_cast<uint64_t>(*rc::gen::inRange(0, 5)) * 1'000;
      b.gres.add("disk", static_cast<uint64_t>(*rc::gen::inRange(0, 3)));
      timeline.add(NodeId(1), b);
    }
  }
  const NodeAccount& node() const { return *cluster.view.capacity().node(NodeId(1)); }
  /// What is free in the second after `t`.
  FreeResources tick(int t) const {
    FreeResources free{node().facts.cores, node().facts.gpus, {}, node().facts.mem_mb, true, node().facts.gres};
    const auto hold = [&](const base::IndexSet& cores, const base::IndexSet& gpus, uint64_t mem,
                          const model::Gres& gres) {
      free.gres.take(gres);
      free.cores -= cores;
      free.gpus -= gpus;
      free.mem_mb -= std::min(free.mem_mb, mem);
    };
    for (const Occupant& o : node().occupants)
      if (o.end > at(t)) hold(o.cores, o.gpus, o.mem_mb, o.gres);
    if (timeline.on(NodeId(1)) != nullptr)
      for (const Booking& b : *timeline.on(NodeId(1)))
        if (b.span.from <= at(t) && at(t) < b.span.to) hold(b.cores, b.gpus, b.mem_mb, b.gres);
    return free;
  }

  Cluster cluster;
  Timeline timeline;
};

RC_GTEST_PROP(Timeline, EqualsBruteForce, ()) {
  const Scene scene;
  const int from = *rc::gen::inRange(0, 12), length = *rc::gen::inRange(1, 8);
  FreeResources expected = scene.tick(from);
  for (int t = from; t < from + length; ++t) {
    const FreeResources now = scene.tick(t);
    expected.cores &= now.cores;
    expected.gpus &= now.gpus;
    expected.mem_mb = std::min(expected.mem_mb, now.mem_mb);
    expected.gres.keep_at_most(now.gres);
  }
  const FreeResources free = scene.timeline.free_during(scene.node(), {at(from), at(from + length)}, "");
  RC_ASSERT(free.cores == expected.cores);
  RC_ASSERT(free.gpus == expected.gpus);
  RC_ASSERT(free.mem_mb == expected.mem_mb);
  RC_ASSERT(free.gres == expected.gres);
}

RC_GTEST_PROP(Earliest, EqualsBruteForce, ()) {
  const Scene scene;
  model::Request r = testing::gang(1, static_cast<uint32_t>(*rc::gen::inRange(1, 5)));
  r.cpus_per_task = static_cast<uint32_t>(*rc::gen::inRange(1, 14));
  r.mem_per_node_mb = static_cast<uint64_t>(*rc::gen::inRange(1, 32)) * 1'000;
  const int length = *rc::gen::inRange(1, 8);
  const PartitionFacts& partition = scene.cluster.partition();
  PlacementOptions options;
  options.timeline = &scene.timeline;
  const auto found = earliest(scene.cluster.view.capacity(), partition, r, options, at(0), base::seconds(length));
  std::optional<Time> expected;
  const NodeFilter filter(r, partition);
  for (int t = 0; t < 40 && !expected; ++t) {
    bool fits = true;
    base::IndexSet gpus = base::IndexSet::first(4), cores = base::IndexSet::first(8);
    uint64_t mem = UINT64_MAX;
    for (int u = t; u < t + length; ++u) {
      const FreeResources free = scene.tick(u);
      gpus &= free.gpus;
      cores &= free.cores;
      mem = std::min(mem, free.mem_mb);
    }
    fits = gpus.size() >= r.gpus && cores.size() * 2 >= r.cpus_per_task && mem >= r.mem_per_node_mb;
    if (fits) expected = at(t);
  }
  RC_ASSERT(found.has_value() == expected.has_value());
  if (found) RC_ASSERT(found->when == *expected);
}

}  // namespace
}  // namespace gw::sched
