// Rows of equal messages are equal, whatever the maps in them have been through.
#include "wire/row_bytes.h"

#include <gtest/gtest.h>

#include "wire/cluster.pb.h"

namespace gw::wire {
namespace {

TEST(RowBytes, OrderOfAMapIsThatOfItsKeys) {
  Node node;
  std::string first;
  for (int round = 0; round < 50; ++round) {
    Node again;  // each map hashes in a way of its own
    for (uint32_t k = 0; k < 8; ++k) {
      const uint32_t gpu = round % 2 == 0 ? k : 7 - k;
      (*again.mutable_offline_gpus())[gpu] = "seen to " + std::to_string(gpu);
    }
    const std::string bytes = row_bytes(again);
    if (round == 0) first = bytes;
    ASSERT_EQ(bytes, first);
    ASSERT_TRUE(node.ParseFromString(bytes));
    EXPECT_EQ(node.offline_gpus().at(5), "seen to 5");
  }
}

}  // namespace
}  // namespace gw::wire
