// Collective operations of many nodes, whose messages arrive in any order between pairs of nodes.
#include "noded/pmix/fences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <random>

namespace gw::noded::pmix {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

constexpr int kLost = -7;

/// Nodes joined by queues: one from each to each other.
struct Net {
  struct Node {
    std::unique_ptr<Fences> fences;
    std::vector<std::string> answers;  // "status:data"
    bool is_dead = false;
  };
  std::vector<Node> nodes;
  std::map<std::pair<uint32_t, uint32_t>, std::deque<wire::PmixFence>> queues;
  std::mt19937 dice{1};
  base::Status problem;

  explicit Net(uint32_t count, uint32_t width = 2, size_t max_bytes = 1 << 20) : nodes(count) {
    for (uint32_t i = 0; i < count; ++i)
      nodes[i].fences = std::make_unique<Fences>(Fences::Options{i, kLost, width, max_bytes},
                                                 [this, i](uint32_t to, const wire::PmixFence& message) {
                                                   queues[{i, to}].push_back(message);
                                                 });
  }
  std::vector<uint32_t> all() const {
    std::vector<uint32_t> list(nodes.size());
    for (uint32_t i = 0; i < list.size(); ++i) list[i] = i;
    return list;
  }
  void join(uint32_t node, const std::string& group, const std::vector<uint32_t>& members, const std::string& data) {
    nodes[node].fences->join(group, members, data, [this, node](int status, std::string got) {
      nodes[node].answers.push_back(std::to_string(status) + ":" + got);
    });
  }
  bool deliver_one() {
    std::vector<std::pair<uint32_t, uint32_t>> full;
    for (const auto& [ends, queue] : queues)
      if (!queue.empty()) full.push_back(ends);
    if (full.empty()) return false;
    const auto ends = full[dice() % full.size()];
    wire::PmixFence message = queues[ends].front();
    queues[ends].pop_front();
    if (nodes[ends.second].is_dead || nodes[ends.first].is_dead) return true;
    if (auto done = nodes[ends.second].fences->on_message(ends.first, std::move(message)); !done) problem = done;
    return true;
  }
  void settle() {
    while (deliver_one()) {
    }
  }
  void kill(uint32_t node) {
    nodes[node].is_dead = true;
    for (Node& other : nodes)
      if (!other.is_dead) other.fences->on_lost(node);
  }
  size_t under_way() const {
    size_t count = 0;
    for (const Node& node : nodes) count += node.is_dead ? 0 : node.fences->under_way();
    return count;
  }
};

std::string sorted(std::string text) {
  std::sort(text.begin(), text.end());
  return text;
}

TEST(Fences, AllGetWhatAllHave) {
  for (const uint32_t count : {1u, 2u, 3u, 7u, 26u}) {
    Net net(count);
    std::string letters;
    for (uint32_t i = 0; i < count; ++i) {
      letters += static_cast<char>('a' + i);
      net.join(i, "g", net.all(), std::string(1, static_cast<char>('a' + i)));
    }
    net.settle();
    for (const auto& node : net.nodes) {
      ASSERT_EQ(node.answers.size(), 1u);
      EXPECT_EQ(node.answers[0].substr(0, 2), "0:");
      EXPECT_EQ(sorted(node.answers[0].substr(2)), letters);
    }
    EXPECT_EQ(net.under_way(), 0u);
  }
}

TEST(Fences, ManyRoundsAndGroupsAtOnceInAnyOrder) {
  Net net(9);
  const std::vector<uint32_t> odd{1, 3, 5, 7};
  std::vector<std::pair<uint32_t, bool>> steps;  // who joins next, of which group
  for (uint32_t i = 0; i < 9; ++i)
    for (int round = 0; round < 5; ++round) {
      steps.emplace_back(i, false);
      if (i % 2 == 1) steps.emplace_back(i, true);
    }
  std::shuffle(steps.begin(), steps.end(), net.dice);
  for (const auto& [node, is_odd] : steps) {
    net.join(node, is_odd ? "odd" : "all", is_odd ? odd : net.all(), is_odd ? "o" : "x");
    for (uint32_t i = net.dice() % 6; i > 0; --i) net.deliver_one();
  }
  net.settle();
  EXPECT_TRUE(net.problem);
  EXPECT_EQ(net.under_way(), 0u);
  for (uint32_t i = 0; i < 9; ++i) {
    EXPECT_EQ(std::count(net.nodes[i].answers.begin(), net.nodes[i].answers.end(), "0:xxxxxxxxx"), 5);
    EXPECT_EQ(std::count(net.nodes[i].answers.begin(), net.nodes[i].answers.end(), "0:oooo"), i % 2 == 1 ? 5 : 0);
  }
}

TEST(Fences, ALostNodeEndsItForAll) {
  for (uint32_t victim = 0; victim < 7; ++victim) {
    Net net(7);
    for (uint32_t i = 0; i < 7; ++i)
      if (i != victim) net.join(i, "g", net.all(), "d");
    net.settle();
    net.kill(victim);
    net.settle();
    for (uint32_t i = 0; i < 7; ++i) {
      if (i == victim) continue;
      ASSERT_EQ(net.nodes[i].answers.size(), 1u) << "node " << i << " without " << victim;
      EXPECT_EQ(net.nodes[i].answers[0].substr(0, 3), "-7:");
    }
    EXPECT_EQ(net.under_way(), 0u);
  }
}

TEST(Fences, ANodeThatWasLostBeforeIsMissed) {
  Net net(3);
  net.kill(2);
  net.join(0, "g", net.all(), "d");
  net.join(1, "g", net.all(), "d");
  net.settle();
  EXPECT_EQ(net.nodes[0].answers[0].substr(0, 3), "-7:");
  EXPECT_EQ(net.nodes[1].answers[0].substr(0, 3), "-7:");
}

TEST(Fences, WhoTakesPartTwiceOrSendsTooMuchIsRefused) {
  Net net(3, 2, 100);
  wire::PmixFence message;
  message.set_group("g");
  message.set_data("x");
  Fences& root = *net.nodes[0].fences;
  EXPECT_TRUE(root.on_message(1, message));
  EXPECT_FALSE(root.on_message(1, message));
  message.set_round(1);
  message.set_data(std::string(100, 'x'));
  const auto refused = root.on_message(1, message);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, HasSubstr("100 bytes"));
}

TEST(Fences, WhatWasKeptIsGivenBack) {
  Net net(2, 2, 1000);
  for (int round = 0; round < 50; ++round) {
    net.join(0, "g", net.all(), std::string(300, 'a'));
    net.join(1, "g", net.all(), std::string(300, 'b'));
    net.settle();
  }
  EXPECT_TRUE(net.problem);
  EXPECT_EQ(net.nodes[1].answers.size(), 50u);
}

TEST(Fences, WhoIsAwaited) {
  Net net(4);  // 0 above 1 and 2, 1 above 3
  using ::testing::ElementsAre;
  using ::testing::IsEmpty;
  EXPECT_THAT(net.nodes[1].fences->awaited(), IsEmpty());
  net.join(1, "g", net.all(), "b");
  EXPECT_THAT(net.nodes[1].fences->awaited(), ElementsAre(3));
  net.join(3, "g", net.all(), "d");
  EXPECT_THAT(net.nodes[3].fences->awaited(), ElementsAre(1));
  net.settle();
  EXPECT_THAT(net.nodes[1].fences->awaited(), ElementsAre(0));
  EXPECT_THAT(net.nodes[0].fences->awaited(), IsEmpty()) << "it has not joined: nothing is said to it yet";
  net.join(0, "g", net.all(), "a");
  EXPECT_THAT(net.nodes[0].fences->awaited(), ElementsAre(2));
  net.join(2, "g", net.all(), "c");
  net.settle();
  for (const auto& node : net.nodes) EXPECT_THAT(node.fences->awaited(), IsEmpty());
}

}  // namespace
}  // namespace gw::noded::pmix
