// Where tasks go on a node with two sockets: GPUs, cores and memory as one unit.
#include "noded/core/places.h"

#include <gtest/gtest.h>

namespace gw::noded {
namespace {

/// Two sockets of 8 cores with 2 threads, a NUMA node each (numbered 0 and 8 by the system), 4 GPUs each; GPUs 0 to 3
/// lie at the socket that `first_socket` says.
wire::NodeTopology dgx(uint32_t first_socket = 0) {
  wire::NodeTopology node;
  node.set_sockets(2);
  for (const uint32_t os : {0U, 8U}) node.add_numa_nodes()->set_os_index(os);
  for (uint32_t i = 0; i < 16; ++i) {
    wire::Core& core = *node.add_cores();
    core.set_socket(i / 8);
    core.set_numa(i / 8);
    core.add_pus(i);
    core.add_pus(i + 16);
  }
  for (uint32_t i = 0; i < 8; ++i) {
    const uint32_t socket = i < 4 ? first_socket : 1 - first_socket;
    wire::Gpu& gpu = *node.add_gpus();
    gpu.set_socket(socket);
    gpu.set_numa(socket);
    for (uint32_t c = 0; c < 8; ++c) gpu.add_near_cores(socket * 8 + c);
  }
  return node;
}

struct Case {
  std::string name;
  std::string cores, gpus;
  uint32_t tasks, cpus_per_task, gpus_per_task;
  std::string want;  ///< "PUs/NUMA/GPUs" of each place
  uint32_t first_socket = 0;
};

class Places : public ::testing::TestWithParam<Case> {};

TEST_P(Places, AreThese) {
  const Case& c = GetParam();
  wire::NodeShare share;
  share.set_tasks(c.tasks);
  share.set_cores(c.cores);
  share.set_gpus(c.gpus);
  std::string text;
  for (const Place& place : make_places(dgx(c.first_socket), share, c.cpus_per_task, c.gpus_per_task))
    text += (text.empty() ? "" : " ") + place.pus.text() + "/" + place.mems.text() + "/" + place.gpus.text();
  EXPECT_EQ(text, c.want);
}

const std::vector<Case> kCases = {
    {"cores_in_order", "0-3", "", 2, 4, 0, "0-1,16-17/0/ 2-3,18-19/0/"},
    {"one_core_a_task_by_default", "2-15", "0-7", 2, 0, 0, "2,18/0/ 3,19/0/"},
    {"odd_numbers_take_whole_cores", "0-3", "", 2, 3, 0, "0-1,16-17/0/ 2-3,18-19/0/"},
    {"processors_where_cores_are_too_few", "0-1", "", 4, 1, 0, "0/0/ 16/0/ 1/0/ 17/0/"},
    {"what_there_is_where_more_was_asked", "0-3", "", 2, 9, 0, "0-1,16-17/0/ 2-3,18-19/0/"},
    {"more_tasks_than_processors_share_all", "0,8", "", 5, 1, 0,
     "0,8,16,24/0,8/ 0,8,16,24/0,8/ 0,8,16,24/0,8/ 0,8,16,24/0,8/ 0,8,16,24/0,8/"},
    {"a_task_across_sockets", "7-8", "", 1, 4, 0, "7-8,23-24/0,8/"},
    {"gpus_with_their_cores", "0-15", "0,4", 2, 2, 1, "0,16/0/0 8,24/8/4"},
    {"gpus_of_the_other_socket_come_first", "0-15", "0,4", 2, 2, 1, "8,24/8/0 0,16/0/4", 1},
    {"every_gpu", "0-15", "0-7", 8, 4, 1,
     "0-1,16-17/0/0 2-3,18-19/0/1 4-5,20-21/0/2 6-7,22-23/0/3 8-9,24-25/8/4 10-11,26-27/8/5 12-13,28-29/8/6 "
     "14-15,30-31/8/7"},
    {"pairs_at_one_numa_node", "0,1,8", "0-2,4-6", 3, 2, 2, "0,16/0/0-1 1,17/0,8/2,6 8,24/8/4-5"},
    {"cores_of_one_socket_only", "0-3", "0,4-5", 3, 2, 1, "0,16/0/0 1,17/0,8/4 2,18/0,8/5"},
    {"nobody_takes_what_is_near_to_another", "6-9", "0,1,4", 3, 2, 1, "6,22/0/0 7,23/0/1 8,24/8/4"},
    {"fewer_gpus_than_asked", "0-3", "0-1", 3, 2, 1, "0,16/0/0 1,17/0/1 2,18/0/0"},
    {"no_cores_known", "", "0-1", 2, 1, 1, "/0/0 /0/1"},
};

INSTANTIATE_TEST_SUITE_P(Table, Places, ::testing::ValuesIn(kCases), [](const auto& c) { return c.param.name; });

}  // namespace
}  // namespace gw::noded
