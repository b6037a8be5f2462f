// What a node says of its hardware is known from one registration to the next, and from its row.
#include <gtest/gtest.h>

#include "wire/convert.h"
#include "world.h"

namespace gw::ctld {
namespace {

using testing::eight_gpus;
using testing::World;

TEST(TopologiesOfNodes, ANodeThatComesBackAsItWasHasTheTopologyThatItHad) {
  World w(2);
  w.connect_all();
  const auto had = w.core->nodes().begin()->second.topology;
  w.cut("n0");
  w.connect("n0");
  EXPECT_EQ(w.core->nodes().begin()->second.topology, had);
  w.restart();
  const auto restored = w.core->nodes().begin()->second.topology;
  ASSERT_TRUE(restored);
  const std::string bytes = wire::to_wire(eight_gpus()).SerializeAsString();
  EXPECT_EQ(w.core->topologies().find(bytes), restored);
  w.connect("n0");
  EXPECT_EQ(w.core->nodes().begin()->second.topology, restored);
}

/// Written by an earlier version, say: it reads the same, in other bytes.
TEST(TopologiesOfNodes, ATopologyInOtherBytesIsKnownFromThenOn) {
  World w(1);
  const auto mine = std::make_shared<const model::NodeTopology>(eight_gpus());
  wire::NodeToController m;
  m.mutable_register_node()->set_name("n0");
  w.connect("n0");
  w.cut("n0");
  w.core->topologies().add("other bytes", mine);
  w.core->on_node_message(w.now, ++w.last_link, NodePeer{0, "127.0.0.1", mine}, m);
  EXPECT_EQ(w.core->nodes().begin()->second.topology, mine) << "it must live to be known";
}

}  // namespace
}  // namespace gw::ctld
