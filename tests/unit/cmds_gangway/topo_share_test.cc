// A job's part of a node in units: GPUs, cores near them, NICs, NUMA nodes.
#include "cmds/gangway/topo/topo_share.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "topo/load.h"

namespace gw::cmds {
namespace {

wire::NodeShare share(const std::string& gpus, const std::string& cores) {
  wire::NodeShare s;
  s.set_node("n0");
  s.set_tasks(1);
  s.set_cpus(8);
  s.set_gpus(gpus);
  s.set_cores(cores);
  s.set_mem_mb(1024);
  return s;
}

TEST(TopoShare, UnitsOfADgxHaveTheNicsOfTheirSwitches) {
  const auto dgx = topo::load("dgx-h100");
  ASSERT_TRUE(dgx.has_value());
  const auto view = share_of(*dgx, 7, share("2-4", "0-7,56-59"));
  ASSERT_TRUE(view.has_value());
  ASSERT_EQ(view->units.size(), 2U);
  const std::string text = share_text(*dgx, *view);
  EXPECT_NE(text.find("job 7 here: 1 task, 8 CPUs, 1G memory on NUMA nodes 0-1"), std::string::npos) << text;
  EXPECT_NE(text.find("GPUs 2-3  cores 0-7  NICs mlx5_2,mlx5_3  NUMA node 0"), std::string::npos) << text;
  EXPECT_NE(text.find("GPU 4  cores 56-59  NIC mlx5_4  NUMA node 1"), std::string::npos) << text;
  const auto json = share_json(*dgx, *view);
  EXPECT_EQ(json["units"][1]["nics"][0], "mlx5_4");
}

TEST(TopoShare, CoresFarFromTheGpusAreNamed) {
  const auto dgx = topo::load("dgx-h100");
  ASSERT_TRUE(dgx.has_value());
  const std::string text = share_text(*dgx, *share_of(*dgx, 7, share("0", "56")));
  EXPECT_NE(text.find("GPU 0  no core near it  NIC mlx5_0"), std::string::npos) << text;
  EXPECT_NE(text.find("core 56  near none of its GPUs"), std::string::npos) << text;
  EXPECT_EQ(share_text(*dgx, *share_of(*dgx, 7, share("", "56"))).find("near"), std::string::npos);
}

TEST(TopoShare, RefusesWhatTheMachineHasNot) {
  const auto dgx = topo::load("dgx-h100");
  ASSERT_TRUE(dgx.has_value());
  EXPECT_FALSE(share_of(*dgx, 7, share("8", "")).has_value());
  EXPECT_FALSE(share_of(*dgx, 7, share("", "4000")).has_value());
  EXPECT_FALSE(share_of(*dgx, 7, share("x", "")).has_value());
}

}  // namespace
}  // namespace gw::cmds
