// What look_ahead() foretells of a change is what comes of making it: over random clusters with quotas, orders and
// queues, a job is told that it would start exactly if the next pass after the change starts it, and asking changes
// nothing.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "sched/cycle/outlook.h"
#include "sched/cycle/plan.h"
#include "sched/queue/order.h"
#include "tests/unit/sched/cluster_builder.h"

namespace gw::sched {
namespace {

using testing::Cluster;

constexpr uint32_t kNodes = 4;

model::NodeTopology small() { return testing::machine(8, 4, 32'000); }
Time at(int64_t s) { return Time{1'000'000 * (1'000 + s)}; }
uint32_t draw(uint32_t first, uint32_t last) { return *rc::gen::inRange<uint32_t>(first, last + 1); }

model::Request random_request() {
  model::Request r = draw(0, 3) == 0 ? testing::tasks(draw(1, 8), draw(1, 4)) : testing::gang(draw(1, 4), draw(1, 4));
  r.mem_per_node_mb = draw(1, 20) * 1'000;
  if (draw(0, 4) == 0) r.nodelist = {"n" + std::to_string(draw(1, kNodes))};
  if (draw(0, 4) == 0) r.exclude = {"n" + std::to_string(draw(1, kNodes))};
  if (!r.nodelist.empty() && r.nodelist == r.exclude) r.exclude.clear();
  r.exclusive = draw(0, 6) == 0;
  return r;
}

PendingJob random_job(uint32_t id, bool has_tree) {
  PendingJob job = testing::pending(id, random_request(), draw(0, 2));
  job.submitted = job.eligible = at(0);
  job.time_limit = base::seconds(draw(1, 8) * 10);
  if (has_tree) job.qos = draw(0, 1) == 0 ? "a" : "b";
  job.uid = draw(1, 2);
  return job;
}

/// The same job, asking for something else.
PendingJob changed(PendingJob job, bool has_tree) {
  switch (draw(0, 4)) {
    case 0:
      job.request = random_request();
      break;
    case 1:
      job.time_limit = base::seconds(draw(1, 60));
      break;
    case 2:
      job.request.nodelist.clear();
      job.request.exclude.clear();
      job.request.exclusive = false;
      break;
    case 3:
      job.priority = draw(0, 3);
      break;
    default:
      if (has_tree) job.qos = job.qos == "a" ? "b" : "a";
  }
  return job;
}

std::vector<model::Qos> random_tree() {
  model::Qos a, b;
  a.name = "a";
  b.name = "b";
  if (draw(0, 1) == 0) a.guaranteed["gpu"] = draw(0, 12) * 1'000;
  if (draw(0, 2) == 0) a.limit["gpu"] = draw(4, 16) * 1'000;
  if (draw(0, 2) == 0) b.limit["cpu"] = draw(8, 64);
  return {a, b};
}

/// A cluster in which everything that can start has started.
class World {
 public:
  World() : cluster_(kNodes, small()), has_tree_(draw(0, 2) > 0) {
    Policy policy;
    const char* const orders[] = {"fifo_skip", "fifo", "shortest"};
    policy.order = make_order(orders[draw(0, 2)], {}).value();
    policy.max_planned_starts = draw(0, 3) == 0 ? draw(0, 2) : 16;
    policy.preempts = draw(0, 2) == 0;
    feed(PolicySet{policy});
    if (has_tree_) feed(QosSet{random_tree()});
    const uint32_t jobs = draw(1, 12);
    for (uint32_t id = 1; id <= jobs; ++id) {
      waiting_[JobId(id)] = random_job(id, has_tree_);
      feed(JobQueued{waiting_.at(JobId(id))});
      if (draw(0, 3) == 0) RC_PRE(rest());
    }
    RC_PRE(rest());
  }

  bool has_tree() const { return has_tree_; }
  const std::map<JobId, PendingJob>& waiting() const { return waiting_; }
  ClusterView& view() { return cluster_.view; }
  Time now() const { return at(0); }
  /// The first pass after this job was changed: does it start?
  bool starts_after(const PendingJob& job) const {
    Cluster twin(kNodes, small());
    for (const DeltaKind& d : deltas_) twin.apply(d);
    (void)plan(twin.view, now(), {});  // at rest, as here
    twin.apply(JobQueued{job});
    const Plan decided = plan(twin.view, now(), {});
    for (const Group& group : decided.groups)
      for (const Decision& d : group.decisions)
        if (const auto* start = std::get_if<Start>(&d); start != nullptr && start->job == job.id) return true;
    return false;
  }

 private:
  Cluster cluster_;
  bool has_tree_;
  std::map<JobId, PendingJob> waiting_;
  std::vector<DeltaKind> deltas_;

  void feed(DeltaKind kind) {
    deltas_.push_back(kind);
    cluster_.apply(std::move(kind));
  }
  /// False: jobs preempt each other for too long.
  bool rest() {
    for (int pass = 0; pass < 30; ++pass) {
      const Plan decided = plan(cluster_.view, now(), {});
      bool is_at_rest = true;
      for (const Group& group : decided.groups)
        for (const Decision& d : group.decisions) is_at_rest &= !carry_out(d);
      if (is_at_rest) return true;
    }
    return false;
  }
  bool carry_out(const Decision& decision) {
    if (const auto* preempt = std::get_if<Preempt>(&decision)) {
      const auto held = cluster_.view.capacity().holdings().find(preempt->job);
      RC_ASSERT(held != cluster_.view.capacity().holdings().end());
      const std::vector<NodeId> nodes = held->second.nodes;
      for (const NodeId node : nodes) feed(ShareReleased{preempt->job, node});  // and it was cancelled
      return true;
    }
    const auto* start = std::get_if<Start>(&decision);
    if (start == nullptr) return false;
    RC_PRE(waiting_.contains(start->job));  // else one that was preempted runs elsewhere
    const PendingJob job = waiting_.at(start->job);
    waiting_.erase(start->job);
    feed(JobPlaced{start->job, start->partition, start->allocation, now(), now() + start->time_limit,
                   std::make_shared<const PendingJob>(job)});
    return true;
  }
};

RC_GTEST_PROP(Outlook, IsWhatThePassAfterTheChangeDoes, ()) {
  World world;
  RC_PRE(!world.waiting().empty());
  const std::vector<PlannedStart> before = plan(world.view(), world.now(), {}).planned_starts;
  for (const auto& [id, job] : world.waiting()) {
    const PendingJob other = changed(job, world.has_tree());
    const Outlook outlook = look_ahead(world.view(), other, world.now());
    RC_ASSERT((outlook.when == When::kNow) == world.starts_after(other));
  }
  const Plan after = plan(world.view(), world.now(), {});
  RC_ASSERT(after.planned_starts == before);
  for (const Group& group : after.groups)  // why they wait may be worded anew
    for (const Decision& d : group.decisions) RC_ASSERT(std::holds_alternative<Wait>(d));
  RC_ASSERT(world.view().capacity().audit().has_value());
}

RC_GTEST_PROP(Outlook, OfAJobAsItIsIsItsPlannedStart, ()) {
  World world;
  RC_PRE(!world.waiting().empty());
  const std::vector<PlannedStart> planned = plan(world.view(), world.now(), {}).planned_starts;
  for (const auto& [id, job] : world.waiting()) {
    const Outlook outlook = look_ahead(world.view(), job, world.now());
    const auto own =
        std::find_if(planned.begin(), planned.end(), [&id = id](const PlannedStart& p) { return p.job == id; });
    RC_ASSERT(outlook.when != When::kNow);
    if (world.has_tree()) continue;  // who is limited may decide whose turn is next, and is not asked here
    RC_ASSERT((outlook.when == When::kPlanned) == (own != planned.end()));
    RC_ASSERT(!outlook.blockers.empty());
    if (own == planned.end()) continue;
    RC_ASSERT(outlook.start == own->start);
    RC_ASSERT(outlook.nodes == own->nodes);
    for (const Ahead& ahead : outlook.ahead) RC_ASSERT(world.waiting().contains(ahead.job));
  }
}

}  // namespace
}  // namespace gw::sched
