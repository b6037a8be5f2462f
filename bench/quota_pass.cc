// Speed of quotas in the scheduler's core: `quota_pass reclaim` times the pass in which many QOS take back what was
// lent; `quota_pass idle` the passes of a full cluster in which nobody may take, with a tree of quotas and without;
// `quota_pass labels` what the scheduler's thread takes to say of running jobs whether they are covered and who could
// take them. One thread, no daemon, no disk.
#include <algorithm>
#include <cstdio>
#include <string>

#include "bench/cluster.h"
#include "sched/view/labels.h"
#include "sched/view/quota_report.h"

namespace {

using namespace gw;
using bench::Clock;
using bench::Cluster;
using bench::since;

constexpr uint32_t kGangNodes = 2;        // of eight GPUs
constexpr uint32_t kWaiting = 1'000'000;  // ids of those that are submitted to the full cluster

std::string team(uint32_t i) { return "t" + std::to_string(i); }

uint32_t departments_of(uint32_t qos) { return std::max(qos / 25, 1U); }

/// `count` QOS: a department for every 24 teams, each of which is guaranteed so many GPUs.
std::vector<model::Qos> tree(uint32_t count, uint64_t each_gpus) {
  constexpr uint32_t kTeams = 24;
  const uint32_t departments = departments_of(count);
  std::vector<model::Qos> out;
  const uint64_t each = each_gpus * model::kWholeGpu;
  for (uint32_t d = 0; d < departments; ++d) {
    model::Qos dept;
    dept.name = "d" + std::to_string(d);
    dept.guaranteed["gpu"] = each * kTeams;
    out.push_back(dept);
    for (uint32_t t = 0; t < kTeams; ++t) {
      model::Qos q;
      q.name = team(d * kTeams + t);
      q.parent = dept.name;
      q.guaranteed["gpu"] = each;
      out.push_back(q);
    }
  }
  return out;
}

uint32_t teams_of(const std::vector<model::Qos>& list) {
  uint32_t n = 0;
  for (const model::Qos& q : list) n += !q.parent.empty();
  return n;
}

sched::PendingJob gang(uint32_t id, const std::string& qos, uint32_t nodes, int64_t submitted) {
  sched::PendingJob job;
  job.id = base::JobId(id);
  job.request = bench::gpus(8 * nodes);
  job.partitions = {"main"};
  job.qos = qos;
  job.uid = 1000 + id % 50;
  job.submitted = job.eligible = base::Time{submitted};
  // The ends of those that run are spread, as they are in a cluster at work.
  job.time_limit = base::minutes(id < kWaiting ? 60 + id % 600 : 120);
  job.preemptible = true;
  return job;
}

void commit(Cluster& c, const sched::Plan& plan, base::Time now, uint32_t& started, uint32_t& taken) {
  for (const auto& group : plan.groups)
    for (const auto& decision : group.decisions) {
      if (std::holds_alternative<sched::Preempt>(decision)) ++taken;
      const auto* s = std::get_if<sched::Start>(&decision);
      if (s == nullptr) continue;
      ++started;
      auto job = std::make_shared<const sched::PendingJob>(*c.view.queue().find(s->job));
      c.apply(sched::JobPlaced{s->job, s->partition, s->allocation, now, now + s->time_limit, job});
    }
}

/// A full cluster: gangs of two nodes, by the first `users` teams in turn.
Cluster full_cluster(uint32_t nodes, const std::vector<model::Qos>& list, uint32_t users, base::Time now) {
  Cluster c(nodes);
  if (!list.empty()) c.apply(sched::QosSet{list});
  for (uint32_t i = 0; i < nodes / kGangNodes; ++i)
    c.apply(sched::JobQueued{gang(i + 1, team(i % users), kGangNodes, 1'000 + i)});
  uint32_t started = 0, taken = 0;
  commit(c, sched::plan(c.view, now, bench::unbounded()), now, started, taken);
  std::fprintf(stderr, "%u gangs run\n", started);
  return c;
}

void reclaim(uint32_t nodes, uint32_t qos, base::Duration grace) {
  const base::Time now{1'000'000'000};
  const std::vector<model::Qos> list = tree(qos, uint64_t{8} * nodes / (departments_of(qos) * 24));
  const uint32_t teams = teams_of(list);
  Cluster c = full_cluster(nodes, list, teams / 2, now);
  sched::Policy policy;
  policy.grace = grace;
  c.apply(sched::PolicySet{policy});
  // Each of the others wants a gang of four nodes: more than any one victim leaves.
  for (uint32_t i = teams / 2; i < teams; ++i)
    c.apply(sched::JobQueued{gang(kWaiting + i, team(i), 2 * kGangNodes, 2'000'000)});
  const double begin = Clock::now();
  const sched::Plan plan = sched::plan(c.view, now + base::seconds(60), bench::unbounded());
  const double pass = since(begin);
  uint32_t started = 0, taken = 0, nominations = 0;
  for (const auto& group : plan.groups)
    for (const auto& d : group.decisions) nominations += std::holds_alternative<sched::Nomination>(d);
  commit(c, plan, now, started, taken);
  std::printf("reclaim nodes=%u gangs=%u qos=%zu preemptors=%u taken=%u started=%u nominations=%u pass=%.3fs\n", nodes,
              nodes / kGangNodes, list.size(), teams - teams / 2, taken, started, nominations, pass);
}

/// Passes over a queue for which there is no room, all of it in QOS that have what they are due.
double idle_pass(uint32_t nodes, const std::vector<model::Qos>& list, uint32_t teams, double& next) {
  base::Time now{1'000'000'000};
  Cluster c = full_cluster(nodes, list, teams, now);
  uint32_t id = kWaiting;
  for (uint32_t k = 0; k < 20; ++k)
    for (uint32_t i = 0; i < teams; ++i) c.apply(sched::JobQueued{gang(++id, team(i), 1 + k % 4, 2'000'000 + k)});
  const double begin = Clock::now();
  (void)sched::plan(c.view, now, bench::unbounded());
  const double full = since(begin);
  constexpr int kRounds = 20;
  next = 0;
  for (int i = 0; i < kRounds; ++i) {
    now = now + base::seconds(1);
    const base::JobId ended(static_cast<uint32_t>(i) * 7 + 1);
    for (base::NodeId n : std::vector<base::NodeId>(c.view.capacity().holdings().at(ended).nodes))
      c.apply(sched::ShareReleased{ended, n});
    const double from = Clock::now();
    const sched::Plan plan = sched::plan(c.view, now, bench::unbounded());
    next += since(from) / kRounds;
    uint32_t started = 0, taken = 0;
    commit(c, plan, now, started, taken);
    if (taken > 0) std::fprintf(stderr, "%u taken\n", taken);
  }
  return full;
}

void idle(uint32_t nodes, uint32_t qos) {
  // Rounded up to whole gangs, so that nobody stands above its guarantee.
  const uint32_t gangs = nodes / kGangNodes / (departments_of(qos) * 24) + 1;
  const std::vector<model::Qos> list = tree(qos, uint64_t{8} * kGangNodes * gangs);
  const uint32_t teams = teams_of(list);
  // In turn, so that what else the machine does hits both; the best of each.
  constexpr int kRuns = 5;
  double with = 1e9, without = 1e9, with_next = 1e9, without_next = 1e9, next = 0;
  for (int i = 0; i < kRuns; ++i) {
    with = std::min(with, idle_pass(nodes, list, teams, next));
    with_next = std::min(with_next, next);
    without = std::min(without, idle_pass(nodes, {}, teams, next));
    without_next = std::min(without_next, next);
  }
  std::printf(
      "idle nodes=%u gangs=%u qos=%zu full=%.3fs without=%.3fs ratio=%.2f next=%.4fs without=%.4fs ratio=%.2f\n", nodes,
      nodes / kGangNodes, list.size(), with, without, with / without, with_next, without_next,
      with_next / without_next);
}

/// The best of some runs, in milliseconds.
template <typename What>
double best_ms(const What& what) {
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    const double begin = Clock::now();
    what();
    best = std::min(best, since(begin) * 1e3);
  }
  return best;
}

/// A full cluster of jobs of one to eight GPUs, of which the first half of the teams have all, each half of it lent by
/// the others. `waits`: everybody has more waiting; else the others want nothing.
void labels(uint32_t jobs, uint32_t qos, bool waits) {
  const base::Time now{1'000'000'000};
  const uint32_t nodes = jobs * 15 / 32;  // 3.75 GPUs each
  const std::vector<model::Qos> list = tree(qos, uint64_t{8} * nodes / (departments_of(qos) * 24));
  const uint32_t teams = teams_of(list);
  Cluster c(nodes);
  c.apply(sched::QosSet{list});
  const auto put = [&](uint32_t id, const std::string& name) {
    sched::PendingJob job = gang(id, name, 1, 1'000 + id);
    job.request = bench::gpus(1U << (id / teams % 4));
    c.apply(sched::JobQueued{job});
  };
  for (uint32_t i = 0; i < jobs; ++i) put(i + 1, team(i % (teams / 2)));
  uint32_t started = 0, taken = 0;
  commit(c, sched::plan(c.view, now, bench::unbounded()), now, started, taken);
  for (uint32_t i = 0; waits && i < 40 * teams; ++i) put(kWaiting + i, team(i % teams));
  const base::Time then = now + base::seconds(60);
  std::vector<sched::JobLabel> all;
  const double list_all = best_ms([&] { all = sched::Labels(c.view).list({}, true, then); });
  size_t borrowed = 0, cut = 0, preemptors = 0;
  for (const sched::JobLabel& label : all) {
    borrowed += label.borrowed_at != sched::kNoQos;
    cut += label.preemptors.is_cut && label.preemptors.some.size() < sched::kMostPreemptors;
    preemptors += label.preemptors.some.size();
  }
  const double label_all = best_ms([&] { sched::Labels(c.view).covers().guaranteed.covered(0); });
  const double list_one = best_ms([&] { (void)sched::Labels(c.view).list({base::JobId(1)}, false, then); });
  const double report = best_ms([&] { (void)sched::report_quotas(c.view); });
  const double explain = best_ms([&] { (void)sched::explain_taking(c.view, team(teams - 1), team(0), then); });
  std::printf(
      "labels jobs=%u qos=%zu waits=%d borrowed=%zu preemptors=%.1f cut=%zu label=%.1fms all=%.1fms one=%.1fms "
      "report=%.1fms explain=%.1fms\n",
      started, list.size(), waits, borrowed, static_cast<double>(preemptors) / static_cast<double>(all.size()), cut,
      label_all, list_all, list_one, report, explain);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  const auto n = [&](int i, uint32_t otherwise) {
    return argc > i ? static_cast<uint32_t>(std::stoul(argv[i])) : otherwise;
  };
  if (what == "reclaim") {
    reclaim(n(2, 10'000), n(3, 500), base::seconds(n(4, 30)));
  } else if (what == "idle") {
    idle(n(2, 10'000), n(3, 500));
  } else if (what == "labels") {
    for (const bool waits : {false, true}) labels(n(2, 10'000), n(3, 500), waits);
  } else {
    std::fprintf(stderr,
                 "usage: quota_pass reclaim [NODES QOS GRACE_SECONDS] | idle [NODES QOS] | labels [JOBS QOS]\n");
    return 2;
  }
  return 0;
}
