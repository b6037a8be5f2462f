// Speed of the scheduler's core alone: `scheduler place` fills an empty cluster one job after the other; `scheduler
// pass` times whole plans over a long queue; `scheduler crowd` passes over one user's many classes beside somebody
// else's small job; `scheduler snapshot` what `gcontrol snapshot` adds to one. One thread, no daemon, no disk. Prints
// one line a case: what, how many, seconds.
#include <cstdio>
#include <cstring>
#include <random>
#include <string>

#include "bench/cluster.h"
#include "sched/cycle/plan.h"
#include "sched/cycle/snapshot.h"
#include "sched/place/place.h"
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
  sched::PlacementOptions options;
  options.workload = &c.view.workload();
  while (failures < 64) {
    const uint32_t n = mixed ? sizes[random() % std::size(sizes)] : 1;
    const model::Request r = gpus(n);
    c.view.workload().add(sched::Workload::shape_of(r));
    auto p = sched::place(c.view.capacity(), *c.view.capacity().partition("main"), r, options);
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

/// Jobs of so many different requests, of so many users.
void fill_queue(Cluster& c, uint32_t jobs, uint32_t shapes, uint32_t users = 1) {
  std::mt19937 random(1);
  const uint32_t sizes[] = {1, 1, 2, 4, 8, 8, 16, 32, 64};
  for (uint32_t id = 1; id <= jobs; ++id) {
    sched::PendingJob job;
    job.id = base::JobId(id);
    job.uid = id % users;
    const uint32_t shape = random() % shapes;
    job.request = gpus(sizes[shape % std::size(sizes)]);
    job.request.mem_per_node_mb += shape;
    job.partitions = {"main"};
    job.submitted = job.eligible = base::Time{id};
    job.time_limit = base::minutes(10 + shape);
    job.between_turns = sched::Suspends::kAtOnce;
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

/// With an order of its own: of twenty users, each job with what it is, so that it can yield; the rounds are ten
/// minutes apart, so that turns and quanta end between them.
void pass(uint32_t nodes, uint32_t jobs, uint32_t shapes, const std::string& order) {
  Cluster c(nodes);
  if (!order.empty()) {
    sched::Policy policy = c.view.policy();
    policy.order = *sched::make_order(order);
    c.apply(sched::PolicySet{policy});
  }
  fill_queue(c, jobs, shapes, order.empty() ? 1 : 20);
  base::Time now{1'000'000'000};
  const sched::Budget whole = order.empty() ? unbounded() : sched::Budget();
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
          auto job = order.empty() ? nullptr : std::make_shared<const sched::PendingJob>(*c.view.queue().find(s->job));
          c.apply(sched::JobPlaced{s->job, s->partition, s->allocation, now, now + s->time_limit, std::move(job)});
        }
  };
  commit(plan);
  const uint32_t from_empty = started;
  begin = Clock::now();
  commit(sched::plan(c.view, now, whole));
  const double full = since(begin);
  double next = 0, longest = 0;
  constexpr int kRounds = 20;
  for (int i = 0; i < kRounds; ++i) {
    now = now + (order.empty() ? base::seconds(1) : base::minutes(10));
    if (const auto held = c.view.capacity().holdings().find(victim); held != c.view.capacity().holdings().end())
      for (base::NodeId n : std::vector<base::NodeId>(held->second.nodes)) c.apply(sched::ShareReleased{victim, n});
    begin = Clock::now();
    sched::Plan p = sched::plan(c.view, now, whole);
    const double seconds = since(begin);
    next += seconds / kRounds;
    longest = std::max(longest, seconds);
    commit(p);
  }
  std::printf(
      "pass nodes=%u jobs=%u shapes=%u order=%s started=%u first=%.3fs full=%.3fs next=%.4fs longest=%.4fs "
      "reservations=%zu memory=%.0fMB\n",
      nodes, jobs, shapes, order.empty() ? "-" : order.c_str(), from_empty, first, full, next, longest,
      plan.planned_starts.size(), peak_mb());
}

sched::PendingJob job_of(uint32_t uid, uint32_t id, const model::Request& request, base::Duration limit) {
  sched::PendingJob job;
  job.id = base::JobId(id);
  job.uid = uid;
  job.request = request;
  job.partitions = {"main"};
  job.submitted = job.eligible = base::Time{id};
  job.time_limit = limit;
  return job;
}

/// A user's gangs that want to be close together, each a class of its own, and none of which there is room for: of each
/// leaf one node is free.
void fill_with_crowd(Cluster& c, uint32_t nodes, uint32_t jobs, bool by_switches) {
  model::Request busy = gpus(8);
  for (uint32_t n = 0; n < nodes; n += 32) busy.exclude.push_back("n" + std::to_string(n));
  for (uint32_t id = 1; id <= nodes - busy.exclude.size(); ++id) {
    const auto job = std::make_shared<const sched::PendingJob>(job_of(3, id, busy, base::hours(24)));
    const auto placed = sched::place(c.view.capacity(), *c.view.capacity().partition("main"), busy, {});
    c.apply(sched::JobQueued{*job});
    c.apply(sched::JobPlaced{job->id, "main", *placed.allocation, base::Time{1}, base::Time{1} + base::hours(24), job});
  }
  std::mt19937 random(1);
  for (uint32_t i = 0; i < jobs; ++i) {
    model::Request r = gpus(8 * (2 + random() % 7));
    if (by_switches) r.max_switches = 1;
    if (!by_switches) r.locality = {{model::Locality::kLeaf, base::hours(300)}};
    c.apply(sched::JobQueued{job_of(1, nodes + 1 + i, r, base::hours(1) + base::seconds(i))});
  }
}

/// One pass with the budget that the controller has, and what it starts carried out; in seconds.
double one_pass(Cluster& c, base::Time now, bool& is_whole, base::JobId wanted, bool& has_started) {
  const auto begin = Clock::now();
  const sched::Plan plan = sched::plan(c.view, now, sched::Budget());
  const double seconds = since(begin);
  is_whole = plan.is_whole();
  for (const auto& g : plan.groups)
    for (const auto& d : g.decisions)
      if (const auto* s = std::get_if<sched::Start>(&d)) {
        has_started |= s->job == wanted;
        c.apply(sched::JobPlaced{s->job, s->partition, s->allocation, now, now + s->time_limit, nullptr});
      }
  return seconds;
}

/// The other user's job comes when a pass over the crowd has just begun, and is looked at in the one after. `beside`: a
/// third user waits all the while, for all nodes; else nobody but the crowd does, and that pass looks at all of it.
void crowd(uint32_t nodes, uint32_t jobs, bool by_switches, bool beside) {
  Cluster c(nodes);
  fill_with_crowd(c, nodes, jobs, by_switches);
  const base::Time now{1'000'000'000};
  const base::JobId small(nodes + jobs + 2);
  if (beside) c.apply(sched::JobQueued{job_of(4, nodes + jobs + 1, gpus(8 * nodes), base::hours(1))});
  bool is_whole = false, has_started = false;
  const double first = one_pass(c, now, is_whole, small, has_started);
  c.apply(sched::JobQueued{job_of(2, small.value, gpus(1), base::minutes(10))});
  double until_start = first, all = 0, longest = 0;
  uint32_t passes = 0;
  for (is_whole = false; !is_whole && passes < 1000; ++passes) {
    const bool is_waiting = !has_started;
    const double seconds = one_pass(c, now, is_whole, small, has_started);
    all += seconds;
    longest = std::max(longest, seconds);
    if (is_waiting) until_start += seconds;
  }
  std::printf(
      "crowd nodes=%u jobs=%u classes=%zu wish=%s others=%s started=%s after=%.3fs first=%.3fs passes=%u mean=%.4fs "
      "longest=%.4fs memory=%.0fMB\n",
      nodes, jobs, c.view.queue().classes().size(), by_switches ? "switches" : "locality", beside ? "wait" : "none",
      has_started ? "yes" : "no", until_start, first, passes, all / passes, longest, peak_mb());
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
    pass(n(2, 10'000), n(3, 100'000), n(4, 200), argc > 5 ? argv[5] : "");
  } else if (what == "crowd") {
    crowd(n(2, 1'000), n(3, 100'000), argc > 4 && std::strcmp(argv[4], "switches") == 0,
          argc > 5 && std::strcmp(argv[5], "beside") == 0);
  } else if (what == "snapshot") {
    snapshot_of(n(2, 10'000), n(3, 100'000), n(4, 200));
  } else {
    std::fprintf(
        stderr,
        "usage: scheduler place NODES [mix] | pass NODES JOBS SHAPES [ORDER] | crowd NODES JOBS locality|switches "
        "[beside] | snapshot NODES JOBS SHAPES\n");
    return 2;
  }
  return 0;
}
