// What the requests of one user may hold while the disk is slow.
#include "ctld/shell/held_memory.h"

#include <gtest/gtest.h>

namespace gw::ctld {
namespace {

TEST(HeldMemory, OneUserIsBoundedAndTheOthersAreServed) {
  HeldMemory held({.per_user = 100, .total = 1000});
  HeldMemory::Charge first = held.charge(1000, 60), second = held.charge(1000, 60);
  ASSERT_FALSE(held.admit(1000));
  EXPECT_EQ(held.admit(1000).error().code, base::ErrorCode::kUnavailable) << "a client tries again by itself";
  EXPECT_TRUE(held.admit(1001));
  second.reset();
  EXPECT_TRUE(held.admit(1000));
  EXPECT_EQ(held.used(), 60U);
}

TEST(HeldMemory, AllTogetherAreBoundedToo) {
  HeldMemory held({.per_user = 100, .total = 150});
  const HeldMemory::Charge first = held.charge(1000, 90), second = held.charge(1001, 90);
  EXPECT_FALSE(held.admit(1002));
}

TEST(HeldMemory, AChargeMayOutliveTheSums) {
  HeldMemory::Charge charge;
  {
    HeldMemory held({.per_user = 100, .total = 150});
    charge = held.charge(1000, 90);
  }
  charge.reset();
}

}  // namespace
}  // namespace gw::ctld
