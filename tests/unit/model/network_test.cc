// The forest of switches: order, ranges and levels; every mistake, named and placed.
#include "model/network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/hostlist.h"

namespace gw::model {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> hosts(const char* text) {
  return *text == 0 ? std::vector<std::string>() : *base::expand_hostlist(text);
}
SwitchConfig leaf(const char* name, const char* nodes) { return {name, hosts(nodes), {}}; }
SwitchConfig above(const char* name, const char* switches) { return {name, {}, hosts(switches)}; }

std::vector<std::string> drawn(const Network& network) {
  std::vector<std::string> lines;
  for (const Switch& s : network.switches)
    lines.push_back(s.name + " " + std::to_string(s.level) + " [" + std::to_string(s.first) + "," +
                    std::to_string(s.last) + ")" +
                    (s.parent == UINT32_MAX ? "" : " < " + network.switches[s.parent].name));
  return lines;
}

TEST(Network, NothingConfiguredIsEmpty) {
  const auto network = build_network({}, {"n0"});
  ASSERT_TRUE(network.has_value());
  EXPECT_TRUE(network->empty());
  EXPECT_TRUE(network->order.empty());
}

TEST(Network, IsOrderedDepthFirst) {
  const auto network = build_network({leaf("leaf2", "n[4-5]"), leaf("leaf0", "n[1,0]"), above("spine", "block[1,0]"),
                                      leaf("leaf1", "n[2-3]"), above("block0", "leaf[0-1]"), above("block1", "leaf2")},
                                     hosts("n[0-9]"));
  ASSERT_TRUE(network.has_value()) << network.error().text();
  EXPECT_THAT(network->order, ElementsAre("n4", "n5", "n1", "n0", "n2", "n3"));
  EXPECT_THAT(drawn(*network), ElementsAre("leaf2 0 [0,2) < block1", "leaf0 0 [2,4) < block0", "leaf1 0 [4,6) < block0",
                                           "block1 1 [0,2) < spine", "block0 1 [2,6) < spine", "spine 2 [0,6)"));
}

TEST(Network, IslandsStandSideBySide) {
  const auto network = build_network({leaf("a", "n0"), leaf("b", "n1")}, {});
  ASSERT_TRUE(network.has_value());
  EXPECT_THAT(drawn(*network), ElementsAre("a 0 [0,1)", "b 0 [1,2)"));
}

TEST(Network, NodesAndSwitchesMayShareNames) {
  const auto network = build_network({leaf("n0", "n0"), above("n1", "n0")}, {"n0"});
  ASSERT_TRUE(network.has_value()) << network.error().text();
  EXPECT_THAT(drawn(*network), ElementsAre("n0 0 [0,1) < n1", "n1 1 [0,1)"));
}

TEST(Network, ALongChainIsWalked) {
  std::vector<SwitchConfig> lines = {leaf("s0", "n0")};
  for (int i = 1; i < 20'000; ++i) lines.push_back({"s" + std::to_string(i), {}, {"s" + std::to_string(i - 1)}});
  const auto network = build_network(lines, {});
  ASSERT_TRUE(network.has_value());
  EXPECT_EQ(network->switches.back().level, 19'999u);
}

struct Mistake {
  const char* title;
  std::vector<SwitchConfig> lines;
  size_t entry;
  std::string_view key;
  const char* says;
  const char* hint;
};

const Mistake kMistakes[] = {
    {"a name twice",
     {leaf("a", "n0"), leaf("b", "n1"), leaf("a", "n2")},
     2,
     "switch",
     "switch a is described twice",
     "one entry"},
    {"empty", {leaf("a", "n0"), leaf("b", "")}, 1, "switch", "switch b is empty", "give it"},
    {"both", {leaf("a", "n0"), {"b", {"n1"}, {"a"}}}, 1, "nodes", "switch b has both nodes and switches", "own"},
    {"unknown node", {leaf("a", "n0,nn1")}, 0, "nodes", "switch a names the unknown node nn1", "did you mean \"n1\"?"},
    {"unknown switch",
     {leaf("leaf0", "n0"), above("b", "leaf0,laef0")},
     1,
     "switches",
     "switch b names the unknown switch laef0",
     "did you mean \"leaf0\"?"},
    {"a node as a switch", {above("b", "n0")}, 0, "switches", "unknown switch n0", ""},
    {"two parents",
     {leaf("a", "n0"), above("b", "a"), above("c", "a")},
     2,
     "switches",
     "switch a is under two switches: b and c",
     "one of them"},
    {"a child twice",
     {leaf("a", "n0"), above("b", "a,a")},
     1,
     "switches",
     "switch a is named twice under switch b",
     ""},
    {"two leaves", {leaf("a", "n0"), leaf("b", "n[0-1]")}, 1, "nodes", "node n0 is under two switches: a and b", ""},
    {"a node twice", {leaf("a", "n0,n0")}, 0, "nodes", "node n0 is named twice under switch a", ""},
    {"itself", {above("a", "a")}, 0, "switch", "form a loop: a under a", "tree"},
    {"a loop",
     {leaf("l", "n0"), above("a", "b"), above("b", "c"), above("c", "a")},
     1,
     "switch",
     "form a loop: a under c under b under a",
     ""},
    {"a loop beside",
     {leaf("l", "n0"), above("a", "b,l"), above("b", "a")},
     1,
     "switch",
     "form a loop: a under b under a",
     ""},
    {"unequal depth",
     {leaf("a", "n0"), leaf("b", "n1"), above("c", "b"), above("d", "a,c")},
     3,
     "switches",
     "leaves at unequal depth: under switch d, a is a leaf but c has 1 level below it",
     "same number of switches"},
    {"out of reach",
     {leaf("a", "n0"), leaf("b", "n1"), above("c", "a")},
     1,
     "switch",
     "switch b is out of reach: no switch has it below it, while c has 1 level below it",
     "`switches`"},
};

TEST(Network, MistakesAreNamedAndPlaced) {
  for (const Mistake& m : kMistakes) {
    SCOPED_TRACE(m.title);
    const auto made = try_network(m.lines, hosts("n[0-3]"));
    ASSERT_FALSE(made.has_value());
    ASSERT_EQ(made.error().size(), 1u);
    EXPECT_EQ(made.error()[0].entry, m.entry);
    EXPECT_EQ(made.error()[0].key, m.key);
    EXPECT_THAT(made.error()[0].error.what, HasSubstr(m.says));
    EXPECT_THAT(made.error()[0].error.hint, HasSubstr(m.hint));
    EXPECT_EQ(build_network(m.lines, hosts("n[0-3]")).error().what, made.error()[0].error.what);
  }
}

TEST(Network, ALongLoopIsCutShort) {
  std::vector<SwitchConfig> lines;
  for (int i = 0; i < 1'000; ++i)
    lines.push_back({"s" + std::to_string(i), {}, {"s" + std::to_string((i + 1) % 1'000)}});
  const auto made = build_network(lines, {});
  ASSERT_FALSE(made.has_value());
  EXPECT_LT(made.error().what.size(), 400u);
}

TEST(Network, AllMistakesOfAKindAreTold) {
  const auto made = try_network({leaf("a", "n0,x1"), above("b", "a,x2"), above("b2", "x3,x4")}, {"n0"});
  ASSERT_FALSE(made.has_value());
  std::vector<std::string> told;
  for (const NetworkFault& f : made.error()) told.push_back(f.error.what);
  EXPECT_THAT(
      told, ElementsAre(HasSubstr("node x1"), HasSubstr("switch x2"), HasSubstr("switch x3"), HasSubstr("switch x4")));
  std::vector<SwitchConfig> many;
  for (int i = 0; i < 1'000; ++i) many.push_back(leaf("a", "n0"));
  EXPECT_EQ(try_network(many, {}).error().size(), 100u);
}

TEST(Network, NodesAreNotCheckedWithoutAList) { EXPECT_TRUE(build_network({leaf("a", "x9")}, {}).has_value()); }

}  // namespace
}  // namespace gw::model
