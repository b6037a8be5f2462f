// What is counted by name: generic resources as text, and their arithmetic.
#include "model/named_counts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gw::model {
namespace {

using ::testing::HasSubstr;

Gres gres(const char* text) { return parse_gres(text).value(); }
std::string wrong(const std::string& text) {
  const auto read = parse_gres(text);
  return read ? "taken" : read.error().sentence + ": " + read.error().what;
}

TEST(Gres, IsReadAndShown) {
  EXPECT_EQ(format_gres(gres("")), "");
  EXPECT_EQ(format_gres(gres("nvme")), "nvme:1");
  EXPECT_EQ(format_gres(gres("nvme:2,lscratch:3,nvme")), "lscratch:3,nvme:3");
  EXPECT_EQ(format_gres(gres("gres/nvme=2, gres:fpga:xilinx")), "fpga:xilinx:1,nvme:2");
  EXPECT_EQ(format_gres(gres("fpga:2,fpga:intel:1")), "fpga:2,fpga:intel:1");
  EXPECT_EQ(gres("disk:1K").count("disk"), 1024u);
  EXPECT_EQ(gres("disk:2g").count("disk"), uint64_t{2} << 30);
  EXPECT_EQ(gres("disk:1P").count("disk"), kMostOfAGres);
  EXPECT_TRUE(gres("unknown:0").empty()) << "none of one is none";
}

TEST(Gres, OfATypeCountsUnderItsKindToo) {
  const Gres node = gres("fpga:xilinx:2,fpga:intel:1");
  EXPECT_EQ(node.count("fpga"), 3u);
  EXPECT_TRUE(node.covers(gres("fpga:3")));
  EXPECT_FALSE(node.covers(gres("fpga:4")));
  EXPECT_FALSE(node.covers(gres("fpga:intel:2")));
  Gres left = node;
  left.take(gres("fpga:2"));
  EXPECT_TRUE(left.covers(gres("fpga:xilinx:1"))) << "the two can be an Intel and a Xilinx";
  EXPECT_FALSE(left.covers(gres("fpga:xilinx:2")));
}

TEST(Gres, UnitsAreShownWhereTheyAreExact) {
  EXPECT_EQ(format_gres(gres("a:1023,b:1024,c:1500,d:2048,e:800G,f:1P")), "a:1023,b:1K,c:1500,d:2K,e:800G,f:1P");
  EXPECT_EQ(gres(format_gres(gres("e:800G,x:y:3M")).c_str()), gres("e:800G,x:y:3M"));
}

TEST(Gres, OfAKindThereAreAsManyAsOfItsTypes) {
  EXPECT_TRUE(is_consistent(gres("fpga:x:2,fpga:1,nvme:3")));
  Gres bad;
  bad.add("fpga:x", 2);
  EXPECT_FALSE(is_consistent(bad));
  bad.add("fpga", 1);
  EXPECT_FALSE(is_consistent(bad));
  bad.add("fpga", 1);
  EXPECT_TRUE(is_consistent(bad));
  bad.add("nvme", kMostOfAGres + 1);
  EXPECT_FALSE(is_consistent(bad));
}

TEST(Gres, IsTakenAndGivenBack) {
  Gres free = gres("nvme:4,disk:10");
  free.take(gres("nvme:3,disk:10"));
  EXPECT_EQ(format_gres(free), "nvme:1");
  free.take(gres("nvme:3,other:1"));
  EXPECT_TRUE(free.empty()) << "never below none";
  free.add(gres("nvme:2"));
  EXPECT_EQ(free, gres("nvme:2"));
  Gres bounded = gres("a:5,b:2,c:1");
  bounded.keep_at_most(gres("a:3,b:9"));
  EXPECT_EQ(bounded, gres("a:3,b:2"));
  EXPECT_TRUE(gres("").covers(Gres()));
  EXPECT_FALSE(gres("").covers(gres("a")));
}

TEST(Gres, WhatIsNoneIsRefused) {
  for (const char* text :
       {"gpu:2", "shard:100", "mps:50", "none", "a b:1", ":2", "nvme:", "nvme:x:y:2", "@:1", ",", "a,"})
    EXPECT_THAT(wrong(text), HasSubstr("Invalid generic resource (gres) specification: --gres")) << text;
  EXPECT_THAT(wrong("nvme:2x"), HasSubstr("bad count"));
  EXPECT_THAT(wrong("nvme:2P"), HasSubstr("bad count"));
  EXPECT_THAT(wrong("nvme:99999999999999999999"), HasSubstr("bad count"));
  EXPECT_THAT(wrong("nvme:1P,nvme:1"), HasSubstr("too many of nvme"));
  EXPECT_THAT(wrong(std::string(200, 'x')), HasSubstr("is not NAME"));
  std::string many = "k0";
  for (int i = 1; i < 40; ++i) many += ",k" + std::to_string(i);
  EXPECT_THAT(wrong(many), HasSubstr("more than 32"));
}

}  // namespace
}  // namespace gw::model
