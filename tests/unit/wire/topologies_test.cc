// What nodes say of their hardware is read once, and nothing else about a message depends on whether it was.
#include "wire/topologies.h"

#include <gtest/gtest.h>

#include "wire/convert.h"
#include "wire/receive.h"

namespace gw::wire {
namespace {

NodeToController registration(uint32_t gpus = 8) {
  NodeToController m;
  Register& r = *m.mutable_register_node();
  r.set_name("n1");
  *r.mutable_topology() = to_wire(model::flat_topology(32, 64'000, gpus, "h100"));
  r.add_runs()->set_job(7);
  r.set_warning("a fan");
  return m;
}

/// Field 1 around some bytes.
std::string framed(const std::string& inside) {
  std::string out("\x0a");
  for (size_t size = inside.size();; size >>= 7) {
    out += static_cast<char>(size < 0x80 ? size : (size & 0x7f) | 0x80);
    if (size < 0x80) return out + inside;
  }
}

TEST(Topologies, AreReadOnce) {
  Topologies known;
  const std::string bytes = registration().SerializeAsString();
  const auto first = receive_node_message(bytes, known);
  ASSERT_TRUE(first && first->topology);
  EXPECT_EQ(*first->topology, model::flat_topology(32, 64'000, 8, "h100"));
  const auto again = receive_node_message(bytes, known);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->topology, first->topology);
  NodeToController rest = registration();
  rest.mutable_register_node()->clear_topology();
  EXPECT_EQ(again->message.SerializeAsString(), rest.SerializeAsString()) << "it was not parsed";
}

TEST(Topologies, AnotherOneIsAnother) {
  Topologies known;
  const auto eight = receive_node_message(registration().SerializeAsString(), known);
  const auto seven = receive_node_message(registration(7).SerializeAsString(), known);
  EXPECT_EQ(eight->topology->gpus.size(), 8U);
  EXPECT_EQ(seven->topology->gpus.size(), 7U);
  NodeToController other = registration();
  other.mutable_register_node()->mutable_topology()->mutable_gpus(3)->set_uuid("GPU-3");
  EXPECT_EQ(receive_node_message(other.SerializeAsString(), known)->topology->gpus[3].uuid, "GPU-3");
}

TEST(Topologies, WhatIsWrongBesidesIsRefusedAsBefore) {
  Topologies known;
  const auto kept = receive_node_message(registration().SerializeAsString(), known);
  NodeToController m = registration();
  m.mutable_register_node()->set_warning(std::string(100'000, 'w'));
  const auto refused = receive_node_message(m.SerializeAsString(), known);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().what, receive_node_message(m.SerializeAsString()).error().what);
  const std::string inside = registration().register_node().SerializeAsString();
  const std::string topology = registration().register_node().topology().SerializeAsString();
  for (const std::string& bytes :
       {framed(inside + '\x22' + '\0'), framed(inside + framed(topology).replace(0, 1, "\x22")),
        registration().SerializeAsString() + registration().SerializeAsString(),
        framed(inside).substr(0, inside.size() - 5)}) {
    EXPECT_FALSE(receive_node_message(bytes)) << "twice, or cut off";
    EXPECT_FALSE(receive_node_message(bytes, known));
  }
}

TEST(Topologies, OneThatCannotBeIsLeftToTheCore) {
  Topologies known;
  NodeToController m = registration();
  m.mutable_register_node()->mutable_topology()->mutable_cores(0)->set_numa(99);
  const auto received = receive_node_message(m.SerializeAsString(), known);
  ASSERT_TRUE(received);
  EXPECT_FALSE(received->topology);
  EXPECT_EQ(received->message.SerializeAsString(), m.SerializeAsString());
  EXPECT_EQ(known.size(), 0U);
}

TEST(Topologies, OtherMessagesAreAsTheyWere) {
  Topologies known;
  NodeToController beat;
  beat.mutable_heartbeat()->set_now_us(4711);
  const auto received = receive_node_message(beat.SerializeAsString(), known);
  ASSERT_TRUE(received);
  EXPECT_FALSE(received->topology);
  EXPECT_EQ(received->message.heartbeat().now_us(), 4711);
  EXPECT_FALSE(receive_node_message("\xff", known));
  EXPECT_FALSE(receive_node_message(framed(""), known)->topology) << "a registration without one";
}

TEST(Topologies, ThoseThatNobodyHasAreForgotten) {
  Topologies known;
  const std::string mine(400'000, 'm');
  const auto kept = std::make_shared<const model::NodeTopology>();
  known.add(mine, kept);
  for (char c = 'a'; c < 'k'; ++c)
    known.add(std::string(700'000, c), std::make_shared<const model::NodeTopology>());  // as of nodes that are refused
  EXPECT_LE(known.size(), 5U);
  EXPECT_EQ(known.find(mine), kept);
  EXPECT_FALSE(known.find(std::string(700'000, 'j')));
}

TEST(Topologies, ARowSaysWhatTheNodeWillSayAgain) {
  model::Node node;
  node.config.name = "n1";
  node.reason = "fan";
  node.topology = std::make_shared<const model::NodeTopology>(model::flat_topology(32, 64'000, 8, "h100"));
  const std::string row = to_wire(node).SerializeAsString();
  Topologies known;
  model::Node read, alike;
  ASSERT_TRUE(stored_from_row("n1", row, known, read));
  EXPECT_EQ(*read.topology, *node.topology);
  EXPECT_EQ(read.reason, "fan");
  ASSERT_TRUE(stored_from_row("n1", row, known, alike));
  EXPECT_EQ(alike.topology, read.topology);
  EXPECT_EQ(alike.reason, "fan");
  EXPECT_EQ(receive_node_message(registration().SerializeAsString(), known)->topology, read.topology);
}

TEST(Topologies, ARowThatIsNoneIsRefused) {
  Topologies known;
  model::Node node, read;
  node.config.name = "n1";
  const std::string row = to_wire(node).SerializeAsString();
  EXPECT_TRUE(stored_from_row("n1", row, known, read)) << "it never registered";
  EXPECT_FALSE(read.topology);
  EXPECT_FALSE(stored_from_row("n2", row, known, read));
  EXPECT_FALSE(stored_from_row("n1", "\xff", known, read));
  EXPECT_EQ(known.size(), 0U);
}

}  // namespace
}  // namespace gw::wire
