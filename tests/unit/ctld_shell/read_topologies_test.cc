// Topologies of rows that several threads read are those that one would read, and nobody keeps them.
#include "ctld/shell/read_topologies.h"

#include <gtest/gtest.h>

#include "wire/convert.h"
#include "wire/row_bytes.h"

namespace gw::ctld {
namespace {

std::vector<store::NamedBytes> rows(uint32_t count) {
  std::vector<store::NamedBytes> out;
  for (uint32_t i = 0; i < count; ++i) {
    wire::Node node;
    node.set_name("n" + std::to_string(i));
    *node.mutable_topology() = wire::to_wire(model::flat_topology(8, 1'000 + i, 4, "h100"));
    out.push_back({node.name(), wire::row_bytes(node)});
  }
  return out;
}

TEST(ReadTopologies, OfAllRowsByAnyNumberOfThreads) {
  const auto nodes = rows(1'000);
  for (const size_t threads : {0U, 1U, 4U, 100U}) {
    wire::Topologies known;
    const auto kept = read_topologies(nodes, known, threads);
    ASSERT_EQ(kept.size(), nodes.size());
    for (uint32_t i = 0; i < nodes.size(); ++i) {
      model::Node node;
      ASSERT_TRUE(wire::stored_from_row(nodes[i].name, nodes[i].bytes, known, node));
      EXPECT_EQ(node.topology, kept[i]) << "it was read once more";
      EXPECT_EQ(*node.topology, model::flat_topology(8, 1'000 + i, 4, "h100"));
    }
  }
}

TEST(ReadTopologies, WhatCannotBeReadIsLeftToTheCore) {
  auto nodes = rows(3);
  nodes[1].bytes = "no row";
  nodes.push_back({"n9", ""});
  wire::Topologies known;
  EXPECT_EQ(read_topologies(nodes, known, 2).size(), 2U);
  EXPECT_TRUE(read_topologies({}, known, 2).empty());
  EXPECT_EQ(known.find(wire::topology_of_row(nodes[0].bytes).bytes), nullptr) << "nobody has it any more";
}

}  // namespace
}  // namespace gw::ctld
