// Trials: whatever was tried in whatever order, rolling back restores the ledger and the sums of the quotas.
#include "sched/cycle/trial.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <sstream>

#include "cluster_builder.h"
#include "model/suspension.h"

namespace gw::sched {
namespace {

using testing::Cluster;
using testing::gang;
using testing::machine;
using testing::pending;

constexpr uint32_t kElastic = 3, kHetjob = 4, kComponent = 5, kLeaving = 6;
const JobId kExtension(kFirstHoldingId);

model::Allocation gpus_of(uint32_t node, uint32_t first, uint32_t count) {
  model::NodeShare share{NodeId(node), "n" + std::to_string(node), 1, 2, {}, {}, model::kWholeGpu, 1000};
  for (uint32_t i = first; i < first + count; ++i) {
    share.gpus.insert(i);
    share.cores.insert(i);
  }
  return {{share}};
}

/// Four nodes of eight GPUs and two QOS. Single jobs 1 and 2; an elastic gang with an extension; a heterogeneous job;
/// one that was told to go. Each node has GPUs left.
struct Running : Cluster {
  Running() : Cluster(4, machine(16, 8, 64'000)) {
    std::vector<model::Qos> tree(2);
    tree[0].name = "lender";
    tree[0].limit_per_user["gpu"] = 30'000;
    tree[1].name = "owner";
    tree[1].guaranteed["gpu"] = 16'000;
    apply(QosSet{tree});
    run(job(1), gpus_of(1, 0, 2));
    run(job(2), gpus_of(1, 2, 2), base::Time{5'000'000});
    PendingJob elastic = job(kElastic);
    elastic.most_tasks = 4;
    run(elastic, gpus_of(2, 0, 2));
    run(extension_of(elastic, kExtension, 1), gpus_of(3, 0, 2));
    PendingJob whole = job(kHetjob);
    whole.components.push_back({JobId(kComponent), gang(1, 2), {"main"}});
    run(whole, gpus_of(3, 2, 2));
    run(component_of(whole, JobId(kComponent)), gpus_of(4, 0, 2));
    run(job(kLeaving), gpus_of(4, 2, 2));
    apply(EndExpected{JobId(kLeaving), base::Time{9'000'000}, true});
  }
  static PendingJob job(uint32_t id) {
    PendingJob j = pending(id, gang(1, 2));
    j.qos = id % 2 == 0 ? "owner" : "lender";
    j.uid = 1000 + id % 2;
    return j;
  }
  void run(const PendingJob& j, const model::Allocation& allocation, base::Time end = base::Time::never()) {
    apply(JobPlaced{j.id, "main", allocation, base::Time{1}, end, std::make_shared<const PendingJob>(j)});
  }
};

void write(std::ostream& out, const std::vector<Quantities>& sums) {
  for (const Quantities& q : sums)
    for (uint64_t n : q) out << n << ' ';
}

/// Everything that a trial may change, as text.
std::string state_of(const Trial& trial) {
  std::ostringstream out;
  const Capacity& capacity = trial.capacity();
  std::map<uint32_t, std::string> held;
  for (const auto& [id, holding] : capacity.holdings()) {
    std::ostringstream one;
    one << holding.partition << ' ' << holding.started.us << ' ' << holding.expected_end.us;
    for (const model::NodeShare& s : capacity.allocation_of(id).shares)
      one << ' ' << s.name << ':' << s.cores.text() << ':' << s.gpus.text() << ':' << s.mem_mb;
    held[id.value] = one.str();
  }
  for (const auto& [id, text] : held) out << id << '=' << text << '\n';
  for (NodeId id : capacity.partition_nodes("main")) {
    const FreeResources& free = capacity.node(id)->free;
    out << id.value << ": " << free.cores.text() << ' ' << free.gpus.text() << ' ' << free.mem_mb << '\n';
  }
  const Tally& tally = trial.quotas().tally();
  write(out, tally.held);
  write(out, tally.counted);
  write(out, tally.firm);
  for (const auto& [key, amounts] : tally.of_users)
    if (std::any_of(amounts.begin(), amounts.end(), [](uint64_t n) { return n > 0; })) {
      out << key.first << '/' << key.second << ' ';
      write(out, {amounts});
    }
  return out.str();
}

/// Random steps that are allowed at the moment.
class Steps {
 public:
  Steps(const ClusterView& view, Trial& trial, uint32_t seed) : view_(view), trial_(trial), random_(seed) {}

  void take_one() {
    switch (random_() % 8) {
      case 0:
        return place();
      case 1:
        return set_end();
      case 2:
        return trial_.count(*view_.quota().holder(JobId(1)));
      case 3:  // once more than it was counted, nobody is sent off
        trial_.count(*view_.quota().holder(JobId(2)));
        return trial_.send_off(*view_.quota().holder(JobId(2)));
      case 4:
      case 5:
        return evict();
      case 6:
        return spare();
      default:
        if (!trial_.is_evicted(JobId(kLeaving))) trial_.let_leave(JobId(kLeaving));
    }
  }
  void forget_after(Trial::Mark mark) {
    std::erase_if(evicted_, [this](JobId id) { return !trial_.is_evicted(id); });
    std::erase_if(placed_, [this](JobId id) { return !trial_.capacity().holdings().contains(id); });
    EXPECT_EQ(trial_.mark(), mark);
  }

 private:
  const ClusterView& view_;
  Trial& trial_;
  std::mt19937 random_;
  std::vector<JobId> evicted_, placed_;
  uint32_t next_ = 100;

  void place() {
    const uint32_t first = random_() % 8;
    const JobId id(next_++);
    if (trial_.place(id, "main", gpus_of(1 + random_() % 4, first, 1), base::Time{1}, base::Time{2'000'000}))
      placed_.push_back(id);
  }
  void set_end() {
    if (!placed_.empty())
      trial_.set_end(placed_[random_() % placed_.size()], base::Time{static_cast<int64_t>(random_())});
  }
  void evict() {
    const JobId ids[] = {JobId(1), JobId(2), JobId(kElastic), JobId(kHetjob), kExtension};
    const JobId id = ids[random_() % 5];
    if (trial_.is_evicted(id)) return;
    trial_.evict(id);
    std::erase(evicted_, id);
    evicted_.push_back(id);
    const bool stays_suspended = id == JobId(1) && random_() % 2 == 0;
    if (stays_suspended && trial_.suspend(id, model::kept_in_suspension(trial_.evicted_allocation(id), true)))
      evicted_.pop_back();  // a search that suspends one rolls back, and never spares it
  }
  void spare() {
    if (evicted_.empty()) return;
    const size_t at = random_() % evicted_.size();
    const JobId id = evicted_[at];
    if (!trial_.may_stay(id)) return;
    // What it held may have been given away since, and a gang that is spared takes its extensions along.
    for (JobId part : trial_.evicted_with(id))
      for (const model::NodeShare& share : trial_.evicted_allocation(part).shares)
        if (!trial_.capacity().check_free(share)) return;
    trial_.spare(id);
    evicted_.erase(evicted_.begin() + static_cast<ptrdiff_t>(at));
  }
};

TEST(Trial, RestoresWhatWasWhateverWasTried) {
  for (uint32_t seed = 1; seed <= 300; ++seed) {
    Running cluster;
    {
      Trial trial(cluster.view);
      Steps steps(cluster.view, trial, seed);
      std::vector<std::pair<Trial::Mark, std::string>> states = {{trial.mark(), state_of(trial)}};
      std::mt19937 random(seed);
      for (int i = 0; i < 40; ++i) {
        for (uint32_t n = random() % 4; n > 0; --n) steps.take_one();
        if (random() % 3 > 0) {
          states.emplace_back(trial.mark(), state_of(trial));
          continue;
        }
        states.resize(1 + random() % states.size());
        trial.rollback(states.back().first);
        ASSERT_EQ(state_of(trial), states.back().second) << "seed " << seed << ", step " << i;
        steps.forget_after(states.back().first);
      }
    }
    ASSERT_EQ(state_of(Trial(cluster.view)), state_of(Trial(Running().view))) << "seed " << seed;
    ASSERT_TRUE(cluster.view.capacity().audit());
  }
}

TEST(Trial, EvictsAGangWithItsExtensionsAndAHetjobWithItsComponents) {
  Running cluster;
  Trial trial(cluster.view);
  trial.evict(kExtension);
  trial.evict(JobId(kElastic));
  trial.evict(JobId(kHetjob));
  EXPECT_EQ(trial.evicted_with(JobId(kElastic)), (std::vector{JobId(kElastic)}));
  EXPECT_EQ(trial.evicted_with(JobId(kHetjob)), (std::vector{JobId(kHetjob), JobId(kComponent)}));
  EXPECT_FALSE(trial.may_stay(kExtension));
  trial.spare(JobId(kElastic));
  EXPECT_TRUE(trial.may_stay(kExtension));
  EXPECT_TRUE(trial.is_evicted(kExtension));
}

TEST(Trial, NamesTheLeavesWhoseSumsHaveChanged) {
  Running cluster;
  Trial trial(cluster.view);
  const QuotaTree& tree = trial.quotas().tree();
  EXPECT_TRUE(trial.take_changed_leaves().empty());
  trial.evict(JobId(2));
  EXPECT_EQ(trial.take_changed_leaves(), std::set{tree.leaf_of("owner")});
  trial.rollback(0);
  EXPECT_EQ(trial.take_changed_leaves(), std::set{tree.leaf_of("owner")});
  EXPECT_TRUE(trial.take_changed_leaves().empty());
}

TEST(Trial, OfAConstViewWorksOnACopy) {
  Running cluster;
  const ClusterView& view = cluster.view;
  const std::string before = state_of(Trial(view));
  Trial trial(view);
  trial.evict(JobId(1));
  ASSERT_TRUE(trial.place(JobId(200), "main", gpus_of(1, 0, 2), base::Time{1}, base::Time::never()));
  EXPECT_TRUE(trial.capacity().audit());
  EXPECT_TRUE(view.capacity().holdings().contains(JobId(1)));
  EXPECT_FALSE(view.capacity().holdings().contains(JobId(200)));
  EXPECT_EQ(state_of(Trial(view)), before);
}

}  // namespace
}  // namespace gw::sched
