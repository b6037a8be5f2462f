// What must hold of any world: fair shares use up what there is, in order and in proportion; sets of victims are
// allowed and irreducible; no answer hangs on the order in which the world is written down.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "tests/unit/quota_oracle/worlds.h"

namespace gw::oracle {
namespace {

class Dice {
 public:
  explicit Dice(unsigned seed) : engine_(seed) {}
  int64_t up_to(int64_t most) { return static_cast<int64_t>(engine_() % static_cast<uint64_t>(most + 1)); }
  bool one_in(int64_t count) { return up_to(count - 1) == 0; }
  template <typename T>
  void shuffle(std::vector<T>& values) {
    for (size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[up_to(static_cast<int64_t>(i) - 1)]);
  }

 private:
  std::mt19937 engine_;
};

void add_random_qos(Dice& dice, World& world) {
  const int64_t count = dice.up_to(6);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t above = dice.up_to(i);
    const std::string parent = above == 0 ? "" : world.qos[above - 1].name;
    Qos& qos = add_qos(world, std::string(1, static_cast<char>('a' + i)), parent, gpus(dice.up_to(8)));
    if (dice.one_in(3)) qos.guaranteed["cpu"] = dice.up_to(8);
    qos.weight = dice.up_to(3);
    qos.priority = dice.up_to(1);
    qos.preempt_children = dice.one_in(3);
    qos.min_runtime_s = dice.one_in(3) ? dice.up_to(500) : 0;
  }
}

// Starts the job on the first nodes with room; leaves it waiting if there is too little.
void start(std::vector<Amounts>& free, Job& job) {
  std::vector<Amounts> left = free;
  for (size_t node = 0; node < left.size(); ++node) {
    const auto has_room = [&](const auto& need) { return left[node][need.first] >= need.second; };
    while (std::ssize(job.at) < job.tasks && std::all_of(job.per_task.begin(), job.per_task.end(), has_room)) {
      for (const auto& [resource, amount] : job.per_task) left[node][resource] -= amount;
      job.at.push_back(static_cast<int>(node));
    }
  }
  job.running = std::ssize(job.at) == job.tasks;
  job.running ? free.swap(left) : job.at.clear();
}

World random_world(unsigned seed) {
  Dice dice(seed);
  World world = cluster(1 + static_cast<int>(dice.up_to(3)), 8);
  for (Amounts& node : world.nodes) node["cpu"] = 8;
  add_random_qos(dice, world);
  world.reclaim = static_cast<Reclaim>(dice.up_to(2));
  world.preempt = dice.one_in(2);
  std::vector<Amounts> free = world.nodes;
  const int64_t count = 1 + dice.up_to(9);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t place = dice.up_to(static_cast<int64_t>(world.qos.size()));
    const std::string qos = place == 0 ? "" : world.qos[place - 1].name;
    Job& job = add_job(world, qos, {{"gpu", dice.up_to(4) * kGpu}, {"cpu", dice.up_to(3)}},
                       1 + static_cast<int>(dice.up_to(2)));
    job.priority = dice.up_to(3);
    job.preemptible = !dice.one_in(5);
    job.started_s = dice.up_to(1000);
    if (!dice.one_in(3)) start(free, job);
  }
  return world;
}

World shuffled(World world, unsigned seed) {
  Dice dice(seed);
  dice.shuffle(world.qos);
  dice.shuffle(world.jobs);
  return world;
}

bool can_start(const World& world, int id) { return fits(world, id) && may_start(world, id); }

World with_running(World world, const std::vector<int>& ids, bool running) {
  for (Job& job : world.jobs) {
    if (std::find(ids.begin(), ids.end(), job.id) != ids.end()) job.running = running;
  }
  return world;
}

void check_victims(const World& world, int preemptor, const std::vector<int>& taken) {
  const World gone = with_running(world, taken, false);
  EXPECT_TRUE(can_start(gone, preemptor));
  EXPECT_TRUE(may_take_all(world, preemptor, taken));
  for (const int id : taken) {
    std::vector<int> others = taken;
    std::erase(others, id);
    const bool suffices = can_start(with_running(gone, {id}, true), preemptor);
    EXPECT_FALSE(suffices && may_take_all(world, preemptor, others)) << "job " << id << " is not needed";
    const Job& victim = world.jobs.at(id - 1);
    EXPECT_TRUE(victim.running && victim.preemptible);
  }
}

TEST(RandomWorlds, VictimsAreIrreducible) {
  int sets = 0;
  for (unsigned seed = 0; seed < 600; ++seed) {
    const World world = random_world(seed);
    for (const Job& job : world.jobs) {
      if (job.running) continue;
      SCOPED_TRACE("seed " + std::to_string(seed) + ", job " + std::to_string(job.id));
      const auto taken = victims(world, job.id);
      if (!taken) continue;
      EXPECT_EQ(taken->empty(), can_start(world, job.id));
      check_victims(world, job.id, *taken);
      sets += taken->empty() ? 0 : 1;
    }
  }
  EXPECT_GT(sets, 100);
}

TEST(RandomWorlds, OrderOfWritingSaysNothing) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const World world = random_world(seed);
    const World other = shuffled(world, seed);
    EXPECT_EQ(fair_shares(world), fair_shares(other));
    EXPECT_EQ(next_job(world, {}), next_job(other, {}));
    for (const Job& job : world.jobs) {
      if (job.running) continue;
      EXPECT_EQ(bars_of(world, job.id), bars_of(other, job.id));
      EXPECT_EQ(victims(world, job.id), victims(other, job.id));
    }
  }
}

// A tree of one level, of which the test can say everything by itself.
struct Flat {
  World world;
  std::vector<int64_t> demand;
  std::vector<int64_t> least;  // of the guarantee what is asked for
};

Flat random_flat(unsigned seed) {
  Dice dice(seed);
  Flat flat;
  flat.world = cluster(1, 10 + dice.up_to(90));
  const int64_t count = 1 + dice.up_to(7);
  for (int64_t i = 0; i < count; ++i) {
    Qos& qos = add_qos(flat.world, std::string(1, static_cast<char>('a' + i)), "", gpus(dice.up_to(10)));
    qos.weight = dice.up_to(5);
    qos.priority = dice.up_to(2);
    flat.demand.push_back(dice.up_to(60));
    flat.least.push_back(std::min(flat.demand.back(), qos.guaranteed["gpu"] / kGpu));
    for (int64_t left = flat.demand.back(); left > 0; left -= 10) {
      add_job(flat.world, qos.name, gpus(1), static_cast<int>(std::min<int64_t>(10, left)));
    }
  }
  return flat;
}

// What `i` has beyond its least, measured against what `j` has, who would like more.
void check_pair(const Flat& flat, const std::vector<int64_t>& share, size_t i, size_t j) {
  const Qos& one = flat.world.qos[i];
  const Qos& other = flat.world.qos[j];
  const int64_t extra = share[i] - flat.least[i];
  if (other.weight == 0 || share[j] == flat.demand[j]) return;
  if (one.weight == 0 || one.priority < other.priority) {
    EXPECT_EQ(extra, 0) << one.name << " before " << other.name;
  } else if (one.priority == other.priority) {
    // Both are within one GPU of what their weights say.
    EXPECT_LT((extra - 1) * other.weight, (share[j] - flat.least[j] + 1) * one.weight) << one.name << other.name;
  }
}

TEST(RandomWorlds, SharesUseUpWhatThereIsInOrder) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Flat flat = random_flat(seed);
    std::vector<int64_t> share;
    int64_t used = 0;
    bool wants_more = false;
    for (size_t i = 0; i < flat.demand.size(); ++i) {
      share.push_back(gpu_share(flat.world, flat.world.qos[i].name));
      used += share[i];
      wants_more = wants_more || (flat.world.qos[i].weight > 0 && share[i] < flat.demand[i]);
      EXPECT_GE(share[i], flat.least[i]);
      EXPECT_LE(share[i], flat.demand[i]);
    }
    const int64_t least = std::accumulate(flat.least.begin(), flat.least.end(), int64_t{0});
    const int64_t amount = std::max(least, flat.world.nodes[0].at("gpu") / kGpu);
    EXPECT_LE(used, amount);
    EXPECT_TRUE(used == amount || !wants_more);
    for (size_t i = 0; i < share.size(); ++i) {
      for (size_t j = 0; j < share.size(); ++j) check_pair(flat, share, i, j);
    }
  }
}

}  // namespace
}  // namespace gw::oracle
