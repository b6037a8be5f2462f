// Gangs whose nodes are neighbours: which stretch they get, what is said where there is none, and a plain reckoning of
// the same beside it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "cluster_builder.h"
#include "model/network.h"
#include "sched/cycle/plan.h"
#include "sched/place/place.h"

namespace gw::sched {
namespace {

using testing::Cluster;
using ::testing::HasSubstr;
using testing::machine;
using testing::pending;

/// Nodes of eight GPUs; a word of '.' (free) and 'x' (down) says how they are.
struct Street : Cluster {
  explicit Street(const std::string& houses) : Cluster(static_cast<uint32_t>(houses.size()), machine(16, 8, 64'000)) {
    for (uint32_t i = 0; i < houses.size(); ++i)
      if (houses[i] == 'x') set(i + 1, [](NodeFacts& facts) { facts.usable = false; });
  }
  template <typename Change>
  void set(uint32_t id, const Change& change) {
    NodeFacts facts = testing::node_facts(id, machine(16, 8, 64'000));
    change(facts);
    apply(NodeSet{facts});
  }
  static model::Request gang(uint32_t nodes) {
    model::Request r = testing::gang(nodes, 1);
    r.contiguous = true;
    return r;
  }
  std::string place_of(const model::Request& r, const PlacementOptions& options = {}) const {
    const Placement p = place(view.capacity(), partition(), r, options);
    if (!p.allocation) return "none: " + explain(p.diagnosis, "main");
    std::string names;
    for (const model::NodeShare& share : p.allocation->shares) names += (names.empty() ? "" : " ") + share.name;
    return names;
  }
  void use_network(const std::vector<model::SwitchConfig>& switches) {
    apply(NetworkSet{*model::build_network(switches, partition().nodes)});
  }
};

TEST(Neighbours, TheShortestStretchThatHoldsThemIsTaken) {
  EXPECT_EQ(Street("....x..x...").place_of(Street::gang(2)), "n6 n7");
  EXPECT_EQ(Street("....x..x...").place_of(Street::gang(3)), "n9 n10 n11");
  EXPECT_EQ(Street("....x..x...").place_of(Street::gang(4)), "n1 n2 n3 n4");
  EXPECT_THAT(Street("....x..x...").place_of(Street::gang(5)),
              HasSubstr("9 have too few neighbours that could hold a part, too"));
  EXPECT_EQ(Street("x.x").place_of(Street::gang(1)), "n2");
}

TEST(Neighbours, WhoDoesNotAskForThemGetsAnyNodes) {
  model::Request r = Street::gang(3);
  r.contiguous = false;
  EXPECT_EQ(Street(".x.x.").place_of(r), "n1 n3 n5");
}

TEST(Neighbours, LighterNodesComeFirstAndNamedOnesAreAmongThem) {
  Street street("......");
  street.set(2, [](NodeFacts& facts) { facts.weight = 9; });
  EXPECT_EQ(street.place_of(Street::gang(2)), "n3 n4");
  model::Request r = Street::gang(3);
  r.nodelist = {"n2"};
  EXPECT_EQ(street.place_of(r), "n1 n2 n3");
  r.nodelist = {"n1", "n5"};
  EXPECT_THAT(street.place_of(r), HasSubstr("none"));
  r.nodelist = {};
  r.exclude = {"n4"};
  EXPECT_EQ(street.place_of(r), "n1 n2 n3") << "the excluded one ends a stretch";
}

TEST(Neighbours, AsManyNodesAsHoldTheTasksOrGpus) {
  Street street("..x...");
  model::Request r = testing::tasks(40, 2);
  r.mem_per_node_mb = 100;
  r.contiguous = true;
  EXPECT_EQ(street.place_of(r), "n4 n5 n6") << "16 tasks on a node";
  r = Street::gang(2);
  r.min_nodes = 1;
  r.max_nodes = 4;
  EXPECT_EQ(street.place_of(r), "n4 n5 n6") << "as many as there are";
}

TEST(Neighbours, AreThoseOfTheNetwork) {
  Street street("xx....");
  street.use_network({{"l0", {"n1", "n3", "n5"}, {}}, {"l1", {"n2", "n4", "n6"}, {}}, {"top", {}, {"l0", "l1"}}});
  EXPECT_EQ(street.place_of(Street::gang(2)), "n3 n5");
  EXPECT_THAT(street.place_of(Street::gang(3)), HasSubstr("none")) << "n2 stands between the two pairs";
  Street whole("......");
  whole.use_network(
      {{"l0", {"n1", "n2"}, {}}, {"l1", {"n3", "n4"}, {}}, {"l2", {"n5", "n6"}, {}}, {"top", {}, {"l0", "l1", "l2"}}});
  EXPECT_EQ(whole.place_of(Street::gang(3)), "n1 n2 n3");
  PlacementOptions options;
  options.switches = 2;
  EXPECT_EQ(whole.place_of(Street::gang(4), options), "n1 n2 n3 n4");
  EXPECT_THAT(whole.place_of(Street::gang(5), options), HasSubstr("none"));
}

TEST(Neighbours, AJobThatCanNeverHaveThemIsRefused) {
  Street street("....");
  model::Request r = Street::gang(3);
  r.exclude = {"n2"};
  const base::Status may = could_ever_run(street.view.capacity(), street.partition(), r);
  ASSERT_FALSE(may);
  EXPECT_EQ(may.error().what, "--contiguous: nowhere in partition main are 3 neighbours that could hold this job");
  EXPECT_TRUE(could_ever_run(street.view.capacity(), street.partition(), Street::gang(4)));
  const base::Status many = could_ever_run(street.view.capacity(), street.partition(), Street::gang(5));
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().what, "5 nodes asked; partition main has 4 that can hold a part of this job");
}

// n2 and n4 are held: until the first of them is free there are no two neighbours.
TEST(Neighbours, AStartIsPlannedForWhenTheyAreFree) {
  Street street(".....");
  const base::Time now{1};
  const auto hold = [&](uint32_t id, base::Duration limit) {
    PendingJob job = pending(id, testing::gang(1, 8));
    job.request.nodelist = {"n" + std::to_string(id)};
    job.time_limit = limit;
    street.apply(JobQueued{job});
    const Placement p = place(street.view.capacity(), street.partition(), job.request);
    street.apply(JobPlaced{job.id, "main", *p.allocation, now, now + limit, std::make_shared<const PendingJob>(job)});
  };
  hold(2, base::hours(5));
  hold(4, base::hours(2));
  PendingJob job = pending(9, testing::gang(3, 8));
  job.request.contiguous = true;
  job.time_limit = base::hours(1);
  street.apply(JobQueued{job});
  const Plan made = plan(street.view, now, {});
  ASSERT_EQ(made.planned_starts.size(), 1U);
  EXPECT_EQ(made.planned_starts.front().start, now + base::hours(2));
  EXPECT_THAT(made.planned_starts.front().nodes, ::testing::ElementsAre("n3", "n4", "n5"));
}

// Of 2,000 nodes each is held until another moment, in an order without rhyme: two neighbours are free at the same time
// late. Moment by moment this would take minutes.
TEST(Neighbours, ThePlannedStartIsTheFirstThereIs) {
  constexpr uint32_t kNodes = 2'000, kGang = 12;
  Street street(std::string(kNodes, '.'));
  const base::Time now{1};
  std::vector<base::Time> free_at;
  for (uint32_t id = 1; id <= kNodes; ++id) {
    PendingJob job = pending(id, testing::gang(1, 8));
    job.request.nodelist = {"n" + std::to_string(id)};
    job.time_limit = base::minutes(10 + int64_t{id} * 7'919 % kNodes);
    free_at.push_back(now + job.time_limit);
    street.apply(JobQueued{job});
    const Placement p = place(street.view.capacity(), street.partition(), job.request);
    street.apply(
        JobPlaced{job.id, "main", *p.allocation, now, free_at.back(), std::make_shared<const PendingJob>(job)});
  }
  base::Time first = base::Time::never();
  for (uint32_t i = 0; i + kGang <= kNodes; ++i)
    first = std::min(first, *std::max_element(free_at.begin() + i, free_at.begin() + i + kGang));
  PendingJob job = pending(9'999, testing::gang(kGang, 8));
  job.request.contiguous = true;
  job.time_limit = base::hours(1);
  street.apply(JobQueued{job});
  const Plan made = plan(street.view, now, {});
  ASSERT_EQ(made.planned_starts.size(), 1U);
  EXPECT_EQ(made.planned_starts.front().start, first);
}

// Its neighbours were free all the time, and could take no part for want of the node between them.
TEST(Neighbours, AJobThatWaitedForTheNodeBetweenStartsWhenThatIsFree) {
  Street street("..x..");
  const base::Time now{1};
  PendingJob job = pending(9, Street::gang(3));
  job.time_limit = base::hours(1);
  street.apply(JobQueued{job});
  for (const Group& group : plan(street.view, now, {}).groups)
    for (const Decision& d : group.decisions) ASSERT_FALSE(std::holds_alternative<Start>(d));
  street.set(3, [](NodeFacts&) {});
  size_t starts = 0;
  for (const Group& group : plan(street.view, now, {}).groups)
    for (const Decision& d : group.decisions) starts += std::holds_alternative<Start>(d);
  EXPECT_EQ(starts, 1U);
}

/// Of nodes with so many cores each; 'a' has one, 'b' two, and so on: two tasks on each core.
struct Mixed : Cluster {
  explicit Mixed(const std::string& sizes) : Cluster(static_cast<uint32_t>(sizes.size()), machine(16, 0, 64'000)) {
    for (uint32_t i = 0; i < sizes.size(); ++i) {
      NodeFacts facts = testing::node_facts(i + 1, machine(16, 0, 64'000));
      facts.cores = base::IndexSet::first(static_cast<uint32_t>(sizes[i] - 'a' + 1));
      facts.usable = sizes[i] != 'x';
      apply(NodeSet{facts});
    }
  }
  /// First node and number of nodes; "": nowhere.
  std::string place_of(const model::Request& r, const PlacementOptions& options = {}) const {
    const Placement p = place(view.capacity(), partition(), r, options);
    if (!p.allocation) return "";
    return p.allocation->shares.front().name + "+" + std::to_string(p.allocation->shares.size());
  }
};

TEST(Neighbours, AsFewNodesAsHoldTheTasksWhereTheyAreNeighbours) {
  model::Request r = testing::tasks(12);
  r.mem_per_node_mb = 10;
  r.contiguous = true;
  EXPECT_EQ(Mixed("dxaaaaaaxd").place_of(r), "n3+6") << "the two large ones are apart";
  EXPECT_EQ(Mixed("dxaaaaabxd").place_of(r), "n4+5");
  EXPECT_EQ(Mixed("dxaaaacbxd").place_of(r), "n6+3") << "2, 6 and 4 tasks";
  EXPECT_TRUE(could_ever_run(Mixed("dxaaaaaaxd").view.capacity(), Mixed("dxaaaaaaxd").partition(), r));
  r.tasks = 13;
  r.exclude = {"n2", "n9"};
  const Mixed street("dxaaaaaaxd");
  EXPECT_EQ(street.place_of(r), "");
  EXPECT_EQ(could_ever_run(street.view.capacity(), street.partition(), r).error().what,
            "--contiguous: nowhere in partition main are neighbours that could hold this job");
  PlacementOptions spread;
  spread.fit = model::Fit::kSpread;
  r.tasks = 9;
  EXPECT_EQ(street.place_of(r, spread), "n3+6") << "as many as stand side by side";
}

TEST(Neighbours, OfARangeOfSizesTheLargestThatThereIs) {
  model::Request r = Street::gang(2);
  r.max_nodes = 40;
  Street street("....x..x...");
  EXPECT_EQ(street.place_of(r), "n1 n2 n3 n4");
  r.nodelist = {"n6"};
  EXPECT_EQ(street.place_of(r), "n6 n7");
  r.nodelist = {"n6", "n9"};
  EXPECT_THAT(street.place_of(r), HasSubstr("none"));
  const base::Status may = could_ever_run(street.view.capacity(), street.partition(), r);
  EXPECT_TRUE(may) << "that n8 is down now does not matter: " << may.error().text();
  r.exclude = {"n8"};
  EXPECT_EQ(could_ever_run(street.view.capacity(), street.partition(), r).error().what,
            "--contiguous: nowhere in partition main are 2 neighbours that could hold this job");
  r = Street::gang(1);
  r.max_nodes = 3;
  PlacementOptions near;
  near.level = model::Locality::kLeaf;
  street.use_network({{"l0", {"n1", "n2"}, {}}, {"l1", {"n3", "n4"}, {}}});
  EXPECT_EQ(street.place_of(r, near), "n1 n2");
}

// Every second node is free: with a range each size used to be tried with all nodes, and that at every moment.
TEST(Neighbours, ALargeRangeCostsNoMoreThanOneSize) {
  std::string houses(4'000, '.');
  for (size_t i = 1; i < houses.size(); i += 2) houses[i] = 'x';
  const Street street(houses);
  model::Request r = Street::gang(1);
  r.min_nodes = 1;
  r.max_nodes = 4'000;
  EXPECT_EQ(street.place_of(r), "n1");
  r.nodelist = {"n1", "n3999"};
  r.min_nodes = 2;
  EXPECT_THAT(street.place_of(r), HasSubstr("none"));
}

/// First positions of all runs of `nodes` that are free.
std::vector<size_t> runs_in(const std::string& houses, uint32_t nodes) {
  std::vector<size_t> out;
  for (size_t i = 0; i + nodes <= houses.size(); ++i)
    if (houses.substr(i, nodes).find('x') == std::string::npos) out.push_back(i);
  return out;
}

TEST(Neighbours, APlainReckoningFindsThemWhereThePlacementDoes) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::string houses(1 + random() % 40, '.');
    for (char& house : houses)
      if (random() % 3 == 0) house = 'x';
    const auto nodes = static_cast<uint32_t>(2 + random() % 5);
    const Street street(houses);
    const Placement p = place(street.view.capacity(), street.partition(), Street::gang(nodes));
    const std::vector<size_t> runs = runs_in(houses, nodes);
    ASSERT_EQ(p.allocation.has_value(), !runs.empty()) << houses << " " << nodes;
    if (!p.allocation) continue;
    const size_t first = p.allocation->shares.front().node.value - 1;
    EXPECT_THAT(runs, ::testing::Contains(first)) << houses << " " << nodes;
    for (size_t i = 0; i < nodes; ++i) EXPECT_EQ(p.allocation->shares[i].node.value, first + 1 + i);
  }
}

}  // namespace
}  // namespace gw::sched
