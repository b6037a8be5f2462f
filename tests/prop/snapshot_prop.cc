// A snapshot of a random cluster in the middle of its work: what is read back from the bytes decides the same, to the
// core and GPU, as the scheduler that it was taken from; and looking ahead from both gives the same.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "forecast/forward.h"
#include "snapshot/snapshot.h"
#include "tests/unit/sched/cluster_builder.h"

namespace gw::snapshot {
namespace {

using base::JobId;
using base::NodeId;
using base::Time;
using sched::PendingJob;

int pick(int from, int to) { return *rc::gen::inRange(from, to + 1); }
bool one_in(int n) { return pick(1, n) == 1; }
Time at(int64_t s) { return Time{1'000'000 * (1'000 + s)}; }

model::Request random_request() {
  model::Request r = sched::testing::gang(static_cast<uint32_t>(pick(1, 3)), static_cast<uint32_t>(pick(0, 4)));
  if (r.gpus == 0) r.gpu_counting = model::GpuCounting::kNone;
  r.cpus_per_task = static_cast<uint32_t>(pick(1, 6));
  r.mem_per_node_mb = static_cast<uint64_t>(pick(0, 12)) * 1'000;
  if (one_in(4)) r.mem_none = true;
  if (one_in(4)) r.mem_per_task_mb = 500;
  if (one_in(4)) r.locality = {{model::Locality::kNvlink, base::seconds(pick(1, 40))}};
  if (one_in(5)) r.features = {{"ib"}};
  if (one_in(4)) r.gres.add("disk", static_cast<uint64_t>(pick(1, 3)));
  if (one_in(5)) r.tmp_mb = 1'000;
  if (one_in(5)) r.max_switches = 1, r.switches_wait = base::seconds(30);
  if (one_in(6)) r.exclude = {"n2"};
  if (one_in(6)) r.fit = model::Fit::kWorst;
  if (r.min_nodes == 1 && one_in(4)) r.gpus = 1, r.gpu_counting = model::GpuCounting::kPerNode, r.gpu_milli = 300;
  return r;
}

PendingJob random_job(uint32_t id, Time now) {
  PendingJob job = sched::testing::pending(id, random_request(), pick(0, 2));
  job.uid = 1000 + static_cast<uint32_t>(pick(0, 2));
  job.qos = one_in(2) ? "normal" : "high";
  job.qos_priority = job.qos == "high" ? 10 : 0;
  job.nice = pick(-2, 2);
  job.attained = base::seconds(pick(0, 3) * 60);
  if (one_in(4)) job.overruns = base::Time{1} + base::minutes(pick(0, 9));
  job.scaling = 5 * static_cast<uint32_t>(pick(0, 20));
  if (one_in(3)) job.counted_at = now;
  job.submitted = at(-pick(0, 50));
  job.eligible = now;
  if (!one_in(6)) job.time_limit = base::seconds(pick(1, 8) * 10);
  if (job.time_limit != base::kUnlimited && one_in(4)) job.time_min = base::seconds(5);
  if (one_in(6)) job.deadline = now + base::seconds(pick(5, 60));
  if (one_in(6)) job.reservation = "r";
  if (one_in(3)) job.partitions = {"other", "main"};
  job.suspends = static_cast<sched::Suspends>(pick(0, 2));
  job.between_turns = static_cast<sched::Suspends>(pick(0, 2));
  job.saves_work = one_in(3);
  if (one_in(10)) {  // a suspended one
    model::NodeShare& share = job.request.exactly.emplace_back();
    share.node = base::NodeId(static_cast<uint32_t>(pick(1, 5)));
    share.name = "n" + std::to_string(share.node.value);
    share.cores = base::IndexSet::first(2);
    share.gpus = base::IndexSet::first(static_cast<uint32_t>(pick(0, 2)));
    job.suspended = JobId(static_cast<uint32_t>(pick(0, 1)));
  }
  if (one_in(8)) job.components = {{JobId(1'000 + id), sched::testing::gang(1, 1), {"main"}}};
  if (one_in(3)) job.licenses = {{"soft", static_cast<uint32_t>(pick(1, 2))}};
  if (!job.components.empty() && one_in(2)) job.components[0].licenses = {{"soft", 1}};
  return job;
}

/// Orders with and without classes by user, with and without preemption.
sched::Policy random_policy() {
  static const std::vector<std::string> kOrders = sched::order_names();
  sched::Policy policy;
  const auto any = [] { return kOrders[static_cast<size_t>(pick(0, static_cast<int>(kOrders.size()) - 1))]; };
  const std::string name = any();
  if (name == "multifactor") policy.order_weights = {{"age", 0.1 * pick(0, 9)}, {"fair_share", pick(0, 1) * 1000.5}};
  policy.order = *sched::make_order(name, policy.order_weights);
  policy.order_version = "v";
  for (const char* partition : {"main", "other"}) {
    if (one_in(2)) continue;
    sched::ChosenOrder& own = policy.pool_orders[partition];
    own = {any(), {}, "w", {}};
    if (own.name == "las2d") own.weights = {{"queue_1", 0.01 * pick(1, 5)}, {"promote", pick(0, 2)}};
    own.order = *sched::make_order(own.name, own.weights);
  }
  if (one_in(2)) {
    sched::ChosenOrder& own = policy.qos_orders["a"];
    own = {one_in(2) ? "srsf" : "lifo", {}, "x", {}};
    own.order = *sched::make_order(own.name, own.weights);
  }
  if (one_in(2)) {
    policy.share = {"capacity", {{"dead_zone", 0.1 * pick(0, 5)}, {"round_seconds", pick(0, 1) * 30}}, "s", {}};
    policy.share.policy = *sched::make_share(policy.share.name, policy.share.weights);
  }
  policy.quantum = base::seconds(pick(1, 30));
  for (int i = pick(0, 4); i > 0; --i)
    policy.services.push_back((policy.services.empty() ? 0 : policy.services.back()) + 0.5 * pick(1, 9));
  policy.fit = static_cast<model::Fit>(pick(1, 3));
  policy.max_planned_starts = static_cast<uint32_t>(pick(0, 4));
  policy.candidates = static_cast<uint32_t>(pick(0, 3));
  policy.grace = base::seconds(pick(0, 1) * 5);
  policy.fairness_over_time = 0.7 * pick(0, 2);
  policy.patience = base::hours(pick(0, 2));
  policy.preemptions_per_hour = static_cast<uint32_t>(pick(0, 2));
  policy.reclaim_delay_max = base::minutes(pick(0, 2));
  if (one_in(2)) policy.licenses = {{"soft", static_cast<uint32_t>(pick(1, 3))}};
  return policy;
}

std::vector<model::Qos> random_tree() {
  std::vector<model::Qos> tree(2);
  tree[0].name = "high";
  tree[1].name = "normal";
  for (model::Qos& q : tree) {
    q.weight = static_cast<uint32_t>(pick(0, 2));
    if (one_in(2)) q.guaranteed["gpu"] = static_cast<uint64_t>(pick(0, 8)) * model::kWholeGpu;
  }
  return tree;
}

/// A cluster of two makes, two partitions and two switches.
class Scene {
 public:
  Scene() {
    const model::NodeTopology small = sched::testing::machine(8, 4, 32'000);
    const model::NodeTopology large = sched::testing::machine(16, 8, 64'000, "a100");
    for (uint32_t id = 5; id >= 1; --id) {  // the makes get their numbers in another order than the nodes
      sched::NodeFacts facts = sched::testing::node_facts(id, id % 2 == 0 ? large : small);
      if (one_in(3)) facts.features = {"ib"};
      if (!one_in(4)) facts.gres.add("disk", static_cast<uint64_t>(pick(1, 4)));
      if (one_in(2)) facts.tmp_mb = static_cast<uint64_t>(pick(1, 2)) * 700;
      if (one_in(6)) facts.gpus.erase(0);
      if (one_in(2)) facts.version = static_cast<uint32_t>(pick(0, 2));
      if (one_in(8)) facts.usable = false, facts.unusable_why = "drained: \xff";
      apply(sched::NodeSet{facts});
    }
    sched::PartitionFacts main;
    main.name = "main";
    main.nodes = {"n1", "n2", "n3", "n4", "n5"};
    main.allow_shared_gpus = true;
    main.share_suspended_gpus = one_in(2);
    sched::PartitionFacts other = main;
    other.name = "other";
    other.nodes = {"n4", "n2"};
    other.tier = pick(0, 2);
    if (one_in(2)) other.quantum = base::seconds(pick(1, 20));
    if (one_in(2)) {
      other.filter = {"least_part", {{"gpus", 0.25 * pick(1, 4)}}, "f", {}};
      other.filter.policy = *sched::make_filter(other.filter.name, other.filter.weights);
    }
    apply(sched::PartitionSet{main});
    apply(sched::PartitionSet{other});
    apply(sched::NetworkSet{*model::build_network({{"s0", {"n5", "n1", "n2"}, {}}, {"s1", {"n3", "n4"}, {}}}, {})});
    apply(sched::PolicySet{random_policy()});
    if (one_in(2)) apply(sched::ReservationSet{{"r", {"n3"}, at(0), at(pick(10, 60)), {1000}, false, {}}});
    if (one_in(2)) apply(sched::QosSet{random_tree()});
    apply(sched::UsageSet{{{1000, 1.5 * pick(0, 9)}, {1001, 0.1}}, {{"normal", 2.5 * pick(0, 3)}, {"high", 0.3}}});
    work();
  }

  sched::ClusterView view;
  Time now = at(0);

 private:
  void apply(sched::DeltaKind kind) { view.apply(sched::Delta{view.epoch() + 1, std::move(kind)}); }

  /// Jobs come, start, end and give back a part of their nodes, for a few passes.
  void work() {
    uint32_t id = 0;
    for (int round = pick(1, 4); round > 0; --round) {
      for (int n = pick(1, 6); n > 0; --n) apply(sched::JobQueued{random_job(++id, now)});
      const sched::Plan plan = sched::plan(view, now, {});
      for (const sched::Group& group : plan.groups)
        for (const sched::Decision& d : group.decisions) carry_out(d);
      now = now + base::seconds(pick(1, 20));
      release_some();
    }
  }
  void carry_out(const sched::Decision& d) {
    if (const auto* r = std::get_if<sched::Reject>(&d)) apply(sched::JobUnqueued{r->job});
    const auto* s = std::get_if<sched::Start>(&d);
    if (s == nullptr || !view.capacity().check_free(s->allocation.shares.front())) return;
    for (const model::NodeShare& share : s->allocation.shares)
      if (!view.capacity().check_free(share)) return;  // its victim is still there
    const PendingJob* queued = view.queue().find(s->job);
    const auto job = queued == nullptr ? nullptr : std::make_shared<const PendingJob>(*queued);
    apply(sched::JobPlaced{s->job, s->partition, s->allocation, now, now + s->time_limit, job});
  }
  void release_some() {
    std::vector<std::pair<JobId, NodeId>> shares;
    for (const auto& [job, holding] : view.capacity().holdings())
      for (const NodeId node : holding.nodes) shares.emplace_back(job, node);
    std::sort(shares.begin(), shares.end());
    for (const auto& [job, node] : shares)
      if (one_in(4)) apply(sched::ShareReleased{job, node});
  }
};

struct Taken {
  std::string bytes;
  sched::Plan plan;
};
/// Also after a pass that had not budget enough, with such a budget.
Taken take(Scene& scene) {
  sched::Budget budget;
  if (one_in(2)) budget = {static_cast<uint64_t>(pick(1, 10)), 1'000, static_cast<uint64_t>(pick(1, 3))};
  sched::plan(scene.view, scene.now, budget);
  scene.view.queue().forget();
  const sched::PassInput input = sched::take_input(scene.view, scene.now, budget);
  sched::Plan plan = sched::plan(scene.view, scene.now, budget);
  return {*encode(input, plan, "0.0", "test"), std::move(plan)};
}

std::unique_ptr<sched::ClusterView> restore(Snapshot& snapshot) {
  snapshot.input.policy.order = *sched::make_order(snapshot.input.order, snapshot.input.policy.order_weights);
  if (sched::ChosenShare& share = snapshot.input.policy.share; !share.name.empty())
    share.policy = *sched::make_share(share.name, share.weights);
  for (sched::PoolOrders* all : {&snapshot.input.policy.pool_orders, &snapshot.input.policy.qos_orders})
    for (auto& [name, own] : *all) own.order = *sched::make_order(own.name, own.weights);
  for (sched::PartitionFacts& p : snapshot.input.partitions)
    if (!p.filter.name.empty()) p.filter.policy = *sched::make_filter(p.filter.name, p.filter.weights);
  auto view = sched::restore_view(snapshot.input);
  RC_ASSERT(view.has_value());
  return std::move(*view);
}

RC_GTEST_PROP(Snapshot, WhatIsReadBackDecidesTheSame, ()) {
  Scene scene;
  const Taken taken = take(scene);
  auto snapshot = decode(taken.bytes);
  RC_ASSERT(snapshot.has_value());
  const auto view = restore(*snapshot);
  const sched::Plan again = sched::plan(*view, snapshot->input.now, snapshot->input.budget);
  RC_ASSERT(decision_lines(snapshot->input, again) == decision_lines(snapshot->input, taken.plan));
  RC_ASSERT(plan_hash(again) == snapshot->plan_hash);
  RC_ASSERT(plan_hash(taken.plan) == snapshot->plan_hash);
}

RC_GTEST_PROP(Snapshot, ASnapshotOfWhatIsReadBackIsTheSameToTheByte, ()) {
  Scene scene;
  const Taken taken = take(scene);
  auto snapshot = decode(taken.bytes);
  RC_ASSERT(snapshot.has_value());
  const auto view = restore(*snapshot);
  sched::PassInput again = sched::take_input(*view, snapshot->input.now, snapshot->input.budget);
  again.epoch = snapshot->input.epoch;
  RC_ASSERT(*encode(again, snapshot->plan, "0.0", "test") == taken.bytes);
}

RC_GTEST_PROP(Snapshot, LookingAheadGivesTheSameFromBoth, ()) {
  Scene scene;
  const Taken taken = take(scene);
  auto snapshot = decode(taken.bytes);
  RC_ASSERT(snapshot.has_value());
  const auto view = restore(*snapshot);
  // The pass that take() has made since has moved the cursor of the scene.
  sched::plan(*view, snapshot->input.now, snapshot->input.budget);
  view->queue().forget();
  forecast::Assumptions assumed;
  assumed.most_passes = 2'000;  // jobs that take each other's place at every quantum, from zero each time, never end
  const auto far = forecast::look_ahead(snapshot->input, *view, assumed);
  scene.view.queue().forget();
  const auto near = forecast::look_ahead(snapshot->input, scene.view, assumed);
  RC_ASSERT(far.has_value() && near.has_value());
  RC_ASSERT(*far == *near);
}

}  // namespace
}  // namespace gw::snapshot
