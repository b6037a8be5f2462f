// A world of the oracle as the scheduler's view sees it, kept alike: what a plan decides happens in both.
// Invariant: between two calls the running jobs of the world hold in the view what they hold in the world.
#pragma once

#include <rapidcheck.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sched/cycle/plan.h"
#include "tests/prop/quota_world.h"
#include "tests/unit/sched/cluster_builder.h"

namespace gw::prop {

using base::JobId;
using base::NodeId;
using base::Time;

inline Time at(int64_t s) { return Time{1'000'000 * (1'000 + s)}; }

/// One group of a plan, waits aside: who was taken, who was moved, and who starts (or will, after the grace).
struct Step {
  std::vector<int> taken;
  int starts = 0;
  std::vector<int> moved = {};
  bool operator==(const Step&) const = default;
};

inline std::string show(const Step& step) {
  if (step.taken.empty() && step.moved.empty()) return fmt::format("start {}", step.starts);
  return fmt::format("take {} and move {} for {}", fmt::join(step.taken, ","), fmt::join(step.moved, ","), step.starts);
}

inline std::vector<Step> steps_of(const sched::Plan& plan) {
  std::vector<Step> out;
  for (const sched::Group& group : plan.groups) {
    Step step;
    const auto add_start = [&step](base::JobId job) {
      const auto id = static_cast<int>(job.value);
      if (std::find(step.moved.begin(), step.moved.end(), id) == step.moved.end()) step.starts = id;
    };
    for (const sched::Decision& d : group.decisions) {
      if (const auto* p = std::get_if<sched::Preempt>(&d))
        (p->is_move ? step.moved : step.taken).push_back(static_cast<int>(p->job.value));
      if (const auto* s = std::get_if<sched::Start>(&d)) add_start(s->job);
      if (const auto* c = std::get_if<sched::Nomination>(&d)) add_start(c->job);
    }
    if (step != Step{}) out.push_back(step);
  }
  return out;
}

class Twin {
 public:
  /// `threads`: of each core. `all_name_type`: which type of GPU they want; else only each second job does.
  struct Options {
    base::Duration grace = {};
    uint32_t threads = 1;
    bool all_name_type = true;
    bool tree_comes_last = false;
    double fairness_over_time = 0;
    std::map<std::string, double> use = {};  ///< Of each QOS before.
  };
  Twin(const World& world, const Options& options)
      : world_(world), options_(options), cluster_(node_count(), topology(world, options)) {
    sched::Policy policy;
    policy.max_planned_starts = 0;
    policy.grace = options.grace;
    policy.reclaim = world.reclaim == oracle::Reclaim::kNone         ? model::Reclaim::kNone
                     : world.reclaim == oracle::Reclaim::kGuaranteed ? model::Reclaim::kGuaranteed
                                                                     : model::Reclaim::kFairShare;
    policy.preempts = world.preempt;
    policy.fairness_over_time = options.fairness_over_time;
    cluster_.apply(sched::PolicySet{policy});
    tell_use(options.use);
    if (!options.tree_comes_last) cluster_.apply(sched::QosSet{tree_of(world)});
    for (const oracle::Job& job : world_.jobs) job.running ? place_as_drawn(job) : queue(job.id);
    if (options.tree_comes_last) cluster_.apply(sched::QosSet{tree_of(world)});
  }

  const World& world() const { return world_; }
  sched::ClusterView& view() { return cluster_.view; }
  Time now() const { return at(world_.now_s); }
  void let_pass(int64_t seconds) { world_.now_s += seconds; }
  sched::Plan plan() { return sched::plan(cluster_.view, now(), {}); }

  void tell_use(const std::map<std::string, double>& use) { cluster_.apply(sched::UsageSet{{}, use}); }
  void queue(int id) {
    oracle::Job& job = job_of(world_, id);
    job.running = false;
    job.at.clear();
    cluster_.apply(sched::JobQueued{pending_of(job)});
  }
  void start(const sched::Start& start) {
    oracle::Job& job = job_of(world_, static_cast<int>(start.job.value));
    RC_ASSERT(!job.running);
    take_over(start.allocation, job);
    job.running = true;
    job.started_s = world_.now_s;
    place(job.id, start.allocation);
  }
  /// All of it is free from now on; the job waits again.
  void take_off(int id) {
    for (NodeId node : nodes_of(id)) release(id, node);
    queue(id);
  }
  std::vector<NodeId> nodes_of(int id) const {
    return cluster_.view.capacity().holdings().at(JobId(static_cast<uint32_t>(id))).nodes;
  }
  void release(int id, NodeId node) {
    std::erase(job_of(world_, id).at, static_cast<int>(node.value) - 1);
    cluster_.apply(sched::ShareReleased{JobId(static_cast<uint32_t>(id)), node});
  }
  void send_off(int id, Time until) {
    cluster_.apply(sched::EndExpected{JobId(static_cast<uint32_t>(id)), until, true});
  }
  void nominate(const sched::Nomination& nomination) { cluster_.apply(sched::NominationSet{nomination}); }

  sched::PendingJob pending_of(const oracle::Job& job) const {
    model::Request r =
        sched::testing::tasks(static_cast<uint32_t>(job.tasks), static_cast<uint32_t>(amount_of(job.per_task, "cpu")));
    r.gpus = static_cast<uint32_t>(amount_of(job.per_task, "gpu") / 1000);
    r.gpu_counting = r.gpus > 0 ? model::GpuCounting::kPerTask : model::GpuCounting::kNone;
    const bool names_type = options_.all_name_type || job.id % 2 == 0;
    if (r.gpus > 0 && names_type && job.per_task.contains("gpu:a")) r.gpu_type = "a";
    r.mem_per_task_mb = static_cast<uint64_t>(amount_of(job.per_task, "mem"));
    r.mem_none = r.mem_per_task_mb == 0;
    sched::PendingJob out = sched::testing::pending(static_cast<uint32_t>(job.id), r, job.priority);
    out.qos = job.qos;
    out.submitted = out.eligible = at(job.submitted_s);
    out.preemptible = job.preemptible;
    out.saves_work = job.saves_work;
    return out;
  }

  static std::vector<model::Qos> tree_of(const World& world) {
    std::vector<model::Qos> out;
    for (const oracle::Qos& q : world.qos) {
      model::Qos copy;
      copy.name = q.name;
      copy.parent = q.parent;
      copy.guaranteed = {q.guaranteed.begin(), q.guaranteed.end()};
      copy.limit = {q.limit.begin(), q.limit.end()};
      copy.weight = static_cast<uint32_t>(q.weight);
      copy.priority = q.priority;
      copy.preempt_children = q.preempt_children;
      copy.min_runtime = base::seconds(q.min_runtime_s);
      out.push_back(std::move(copy));
    }
    return out;
  }

 private:
  World world_;
  Options options_;
  sched::testing::Cluster cluster_;

  uint32_t node_count() const { return static_cast<uint32_t>(world_.nodes.size()); }

  static model::NodeTopology topology(const World& world, const Options& options) {
    const Amounts& node = world.nodes.front();
    const auto cpus = static_cast<uint32_t>(amount_of(node, "cpu"));
    model::NodeTopology t = model::flat_topology(cpus, static_cast<uint64_t>(amount_of(node, "mem")),
                                                 static_cast<uint32_t>(amount_of(node, "gpu") / 1000), "a");
    for (uint32_t thread = 1; thread < options.threads; ++thread)
      for (uint32_t c = 0; c < cpus; ++c) t.cores[c].pus.push_back(thread * cpus + c);
    return t;
  }

  void place(int id, const model::Allocation& allocation) {
    const oracle::Job& job = job_of(world_, id);
    cluster_.apply(sched::JobPlaced{JobId(static_cast<uint32_t>(id)), "main", allocation, at(job.started_s),
                                    Time::never(), std::make_shared<const sched::PendingJob>(pending_of(job))});
  }

  /// The first free cores and GPUs of the nodes that were drawn.
  void place_as_drawn(const oracle::Job& job) {
    model::Allocation allocation;
    for (uint32_t n = 0; n < node_count(); ++n) {
      const auto tasks = static_cast<uint32_t>(std::count(job.at.begin(), job.at.end(), static_cast<int>(n)));
      if (tasks == 0) continue;
      const sched::NodeAccount& account = *cluster_.view.capacity().node(NodeId(n + 1));
      model::NodeShare share;
      share.node = account.facts.id;
      share.name = account.facts.name;
      share.tasks = tasks;
      const auto threads = tasks * static_cast<uint32_t>(amount_of(job.per_task, "cpu"));
      const uint32_t cores = (threads + options_.threads - 1) / options_.threads;
      for (uint32_t i = 0, c = account.free.cores.next(0); i < cores; ++i, c = account.free.cores.next(c + 1))
        share.cores.insert(c);
      share.cpus = cores * options_.threads;
      const auto gpus = tasks * static_cast<uint32_t>(amount_of(job.per_task, "gpu") / 1000);
      for (uint32_t i = 0, g = account.free.gpus.next(0); i < gpus; ++i, g = account.free.gpus.next(g + 1))
        share.gpus.insert(g);
      share.mem_mb = tasks * static_cast<uint64_t>(amount_of(job.per_task, "mem"));
      allocation.shares.push_back(std::move(share));
    }
    place(job.id, allocation);
  }

  /// Where the plan puts the job, and whether that is what it asked for.
  void take_over(const model::Allocation& allocation, oracle::Job& job) const {
    for (const model::NodeShare& share : allocation.shares) {
      RC_ASSERT(share.gpus.size() * 1000 == share.tasks * amount_of(job.per_task, "gpu"));
      RC_ASSERT(share.cpus >= share.tasks * amount_of(job.per_task, "cpu"));
      RC_ASSERT(static_cast<int64_t>(share.mem_mb) == share.tasks * amount_of(job.per_task, "mem"));
      job.at.insert(job.at.end(), share.tasks, static_cast<int>(share.node.value) - 1);
    }
    RC_ASSERT(std::ssize(job.at) == job.tasks);
  }
};

}  // namespace gw::prop
