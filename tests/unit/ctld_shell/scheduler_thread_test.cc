// The scheduler's thread continues by itself where a pass could not look at everybody.
#include "ctld/shell/scheduler_thread.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/unit/sched/cluster_builder.h"

namespace gw::ctld {
namespace {

using base::JobId;
using sched::testing::gang;
using sched::testing::machine;

constexpr uint32_t kFlooder = 1000, kVictim = 1001, kOther = 1002;

/// What the core would do: every start is carried out, and fed back.
class Cluster {
 public:
  explicit Cluster(uint32_t nodes = 1)
      : thread_(loop, std::make_unique<base::SystemClock>(), [this](const auto& plan, const auto&) { on(plan); }) {
    main_.name = "main";
    sched::Policy policy;
    policy.patience = {};  // the jobs wait since 1970
    add(sched::PolicySet{policy});
    for (uint32_t n = 1; n <= nodes; ++n) {
      main_.nodes.push_back("n" + std::to_string(n));
      add(sched::NodeSet{sched::testing::node_facts(n, machine(16, 8, 64'000))});
    }
    consolidate(model::Consolidate::kOff);
  }
  /// It registers once more.
  void node_again() { add(sched::NodeSet{sched::testing::node_facts(1, machine(16, 8, 64'000))}); }
  void consolidate(model::Consolidate how) {
    main_.consolidate = how;
    add(sched::PartitionSet{main_});
  }
  /// Each job a class of its own; where it begins it need not stay.
  JobId queue(uint32_t uid, uint32_t gpus, const std::vector<std::string>& nodes = {}) {
    sched::PendingJob job = sched::testing::pending(++last_, gang(1, gpus));
    job.uid = uid;
    job.preemptible = true;
    job.request.nodelist = nodes;
    job.eligible = base::Time{1};
    job.time_limit = base::seconds(3'600 + last_);
    job.request.locality = {{model::Locality::kLeaf, base::kUnlimited}};
    jobs_[job.id] = std::make_shared<const sched::PendingJob>(job);
    add(sched::JobQueued{job});
    return job.id;
  }
  void end(JobId id) {
    add(sched::ShareReleased{id, base::NodeId(1)});
    feed();
  }
  void feed() { thread_.feed(std::exchange(deltas_, {})); }
  bool runs(JobId id) const { return running_.contains(id); }
  bool would_start_if_moved(JobId id) const { return would_move_.contains(id); }
  /// Classes of which it was said that they wait.
  size_t waits() const { return waits_; }
  uint64_t wakes() const { return thread_.wakes(); }
  uint64_t passes() const { return thread_.counts().passes; }
  io::Loop loop;

 private:
  void add(sched::DeltaKind kind) { deltas_.push_back({++epoch_, std::move(kind)}); }
  void on(const sched::Plan& plan) {
    would_move_.clear();  // the last word counts
    for (const sched::WouldMove& moves : plan.would_move) would_move_.insert(moves.job);
    for (const sched::Group& group : plan.groups)
      for (const sched::Decision& decision : group.decisions) {
        waits_ += std::holds_alternative<sched::Wait>(decision) ? 1 : 0;
        const auto* s = std::get_if<sched::Start>(&decision);
        if (s == nullptr) continue;
        running_.insert(s->job);
        sched::PendingJob job = *jobs_.at(s->job);
        job.request.nodelist.clear();
        add(sched::JobPlaced{s->job, s->partition, s->allocation, plan.at, base::Time::never(),
                             std::make_shared<const sched::PendingJob>(std::move(job))});
      }
    if (!deltas_.empty()) feed();
  }
  uint64_t epoch_ = 0;
  uint32_t last_ = 0;
  std::vector<sched::Delta> deltas_;
  std::map<JobId, std::shared_ptr<const sched::PendingJob>> jobs_;
  std::set<JobId> running_, would_move_;
  size_t waits_ = 0;
  sched::PartitionFacts main_;
  SchedulerThread thread_;  // last: it ends first
};

TEST(SchedulerThread, GoesOnUntilEverybodyWasLookedAtThoughNothingComesIn) {
  Cluster cluster;
  const JobId first = cluster.queue(kOther, 6);
  cluster.feed();
  ASSERT_TRUE(cluster.loop.run_until([&] { return cluster.runs(first); }, base::seconds(60)));
  const auto allowance = static_cast<uint32_t>(sched::Budget{}.per_user);
  for (uint32_t i = 0; i < allowance + 50; ++i) cluster.queue(kFlooder, 3);
  cluster.queue(kVictim, 3);
  const JobId fits = cluster.queue(kFlooder, 2);
  const uint64_t before = cluster.passes();
  cluster.feed();
  EXPECT_TRUE(cluster.loop.run_until([&] { return cluster.runs(fits); }, base::seconds(60)));
  EXPECT_GE(cluster.passes(), before + 2) << "the first pass was to leave it to the next";

  // Nor where a pass that could not look at everybody has nothing to say.
  const JobId next = cluster.queue(kFlooder, 2);
  cluster.feed();
  cluster.end(fits);
  EXPECT_TRUE(cluster.loop.run_until([&] { return cluster.runs(next); }, base::seconds(60)));
}

TEST(SchedulerThread, IsWokenOnceForAllThatComesInARound) {
  Cluster cluster;
  cluster.feed();
  const JobId first = cluster.queue(kOther, 1);
  cluster.feed();
  ASSERT_TRUE(cluster.loop.run_until([&] { return cluster.runs(first); }, base::seconds(60)));
  const uint64_t before = cluster.wakes();
  JobId last;
  for (int i = 0; i < 5; ++i) {
    last = cluster.queue(kOther, 1);
    for (int k = 0; k < 1'000; ++k) {
      cluster.node_again();
      cluster.feed();
    }
  }
  EXPECT_EQ(cluster.wakes(), before) << "the round is not over";
  EXPECT_TRUE(cluster.loop.run_until([&] { return cluster.wakes() > before; }, base::seconds(60)));
  EXPECT_EQ(cluster.wakes(), before + 1);
  EXPECT_TRUE(cluster.loop.run_until([&] { return cluster.runs(last); }, base::seconds(60)));
}

TEST(SchedulerThread, TellsAllMovesOfARoundThoughOnlyItsFirstPassFoundThem) {
  Cluster cluster(2);
  const JobId one = cluster.queue(kOther, 2, {"n1"}), two = cluster.queue(kOther, 2, {"n2"});
  cluster.feed();
  ASSERT_TRUE(cluster.loop.run_until([&] { return cluster.runs(one) && cluster.runs(two); }, base::seconds(60)));
  const JobId blocked = cluster.queue(kVictim, 8);
  const auto allowance = static_cast<uint32_t>(sched::Budget{}.per_user);
  for (uint32_t i = 0; i < allowance + 50; ++i) cluster.queue(kFlooder, 8);
  cluster.feed();
  ASSERT_TRUE(cluster.loop.run_until([&] { return cluster.waits() == allowance + 51; }, base::seconds(60)));

  cluster.consolidate(model::Consolidate::kDryRun);
  const uint64_t before = cluster.passes();
  cluster.feed();
  EXPECT_TRUE(cluster.loop.run_until([&] { return cluster.would_start_if_moved(blocked); }, base::seconds(60)));
  EXPECT_GE(cluster.passes(), before + 2) << "the first pass was to leave somebody to the next";
}

}  // namespace
}  // namespace gw::ctld
