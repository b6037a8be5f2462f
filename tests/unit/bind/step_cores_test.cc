// What steps leave to each other.
#include "bind/step_cores.h"

#include <gtest/gtest.h>

namespace gw::bind {
namespace {

base::IndexSet set(const std::string& text) { return *base::IndexSet::parse(text); }

TEST(Claims, AreReadFromShareAndRequest) {
  wire::NodeShare share;
  share.set_cores("2-3");
  wire::StepRequest request;
  EXPECT_EQ(step_cores_of(share, request).cores.text(), "2-3");
  EXPECT_TRUE(step_cores_of(share, request).is_open);
  request.set_cpus_per_task(1);
  request.set_overlap(true);
  EXPECT_FALSE(step_cores_of(share, request).is_open);
  EXPECT_TRUE(step_cores_of(share, request).overlaps);
  share.set_cores("nonsense");
  EXPECT_TRUE(step_cores_of(share, request).cores.empty());
}

TEST(Claims, WhatNobodyHasClaimedIsFree) {
  const StepCores open{set("0"), false, true};
  EXPECT_EQ(unclaimed_cores(set("0-7"), open, {}).text(), "1-7");
  EXPECT_EQ(unclaimed_cores(set("0-7"), open, {{set("1-2"), false, true}, {set("7"), false, false}}).text(), "3-6");
  EXPECT_EQ(unclaimed_cores(set("0-7"), open, {{set("1-5"), true, true}}).text(), "1-7")
      << "who overlaps takes nothing";
  EXPECT_EQ(unclaimed_cores(set("0-7"), {set("0"), true, true}, {{set("1-5"), false, false}}).text(), "1-7")
      << "and nothing is taken from it";
  EXPECT_EQ(unclaimed_cores(set("0-7"), {set("0"), false, false}, {}).text(), "") << "with -c: those and no others";
}

}  // namespace
}  // namespace gw::bind
