// Where tasks go on a node with two sockets: GPUs, cores and memory as one unit.
#include "bind/places.h"

#include <gtest/gtest.h>

namespace gw::bind {
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
  wire::StepRequest request;
  request.set_cpus_per_task(c.cpus_per_task);
  request.set_gpus_per_task(c.gpus_per_task);
  for (const Place& place : bind_tasks(dgx(c.first_socket), share, request).places)
    text += (text.empty() ? "" : " ") + place.pus.text() + "/" + place.mems.text() + "/" + place.gpus.text();
  EXPECT_EQ(text, c.want);
}

const std::vector<Case> kCases = {
    {"cores_in_order", "0-3", "", 2, 4, 0, "0-1,16-17/0/ 2-3,18-19/0/"},
    {"all_cores_where_nobody_said", "2-15", "0-7", 2, 0, 0, "2-8,18-24/0,8/ 9-15,25-31/8/"},
    {"the_first_have_one_more", "0-7", "", 3, 0, 0, "0-2,16-18/0/ 3-5,19-21/0/ 6-7,22-23/0/"},
    {"shared_out_by_threads_where_cores_are_too_few", "0-1", "", 3, 0, 0, "0,16/0/ 1/0/ 17/0/"},
    {"near_to_the_gpus_alone", "0-15", "0,4", 2, 0, 1, "0-7,16-23/0/0 8-15,24-31/8/4"},
    {"no_more_than_what_is_near", "0-15", "0-3", 4, 0, 1, "0-1,16-17/0/0 2-3,18-19/0/1 4-5,20-21/0/2 6-7,22-23/0/3"},
    {"not_less_for_who_has_nothing_near", "0-5", "0,4", 2, 0, 1, "0-2,16-18/0/0 3-5,19-21/0,8/4"},
    {"tasks_with_the_same_gpus", "0-15", "0,1,4", 2, 0, 2, "0-3,16-19/0/0-1 4-7,20-23/0/0-1"},
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

struct WordCase {
  std::string name;
  std::string cores, gpus;
  uint32_t tasks, cpus_per_task;
  std::string cpu, gpu, mem;
  std::string want;  ///< "PUs/NUMA/GPUs" of each place
};

class Worded : public ::testing::TestWithParam<WordCase> {};

TEST_P(Worded, AreThese) {
  const WordCase& c = GetParam();
  wire::NodeShare share;
  share.set_tasks(c.tasks);
  share.set_cores(c.cores);
  share.set_gpus(c.gpus);
  wire::StepRequest request;
  request.set_cpus_per_task(c.cpus_per_task);
  request.set_cpu_bind(c.cpu);
  request.set_gpu_bind(c.gpu);
  request.set_mem_bind(c.mem);
  std::string text;
  for (const Place& place : bind_tasks(dgx(), share, request).places) {
    EXPECT_EQ(place.problem, "");
    text += (text.empty() ? "" : " ") + place.pus.text() + "/" + place.mems.text() + "/" + place.gpus.text();
  }
  EXPECT_EQ(text, c.want);
}

// Cores 0 to 7 are at socket 0 (NUMA 0) with the threads 0-7 and 16-23, the others at socket 1 (NUMA 8).
const std::vector<WordCase> kWordCases = {
    {"none_is_all", "0-1", "", 2, 1, "none", "", "", "0-1,16-17/0/ 0-1,16-17/0/"},
    {"threads_split_cores", "0-1", "", 2, 1, "threads", "", "", "0/0/ 16/0/"},
    {"cores", "0-1", "", 2, 1, "cores", "", "", "0,16/0/ 1,17/0/"},
    {"sockets", "6-9", "", 4, 1, "sockets", "", "", "6-7,22-23/0/ 6-7,22-23/0/ 8-9,24-25/8/ 8-9,24-25/8/"},
    {"ldoms", "7-8", "", 2, 1, "ldoms", "", "", "7,23/0/ 8,24/8/"},
    {"rank_goes_round", "4-5", "", 3, 1, "rank", "", "", "4,20/0/ 5,21/0/ 4,20/0/"},
    {"rank_passes_over_gpus", "7-8", "0,4", 2, 1, "rank", "map_gpu:1,0", "", "7,23/0/4 8,24/8/0"},
    {"map", "0-3", "", 3, 1, "map_cpu:3,17", "", "", "3/0/ 17/0/ 3/0/"},
    {"mask", "0-3,8", "", 2, 1, "mask_cpu:0x3*1,0x0100000c", "", "", "0-1/0/ 2-3,24/0,8/"},
    {"rank_ldom", "7-9", "", 3, 1, "rank_ldom", "", "", "7,23/0/ 8-9,24-25/8/ 7,23/0/"},
    {"map_ldom", "7-9", "", 2, 1, "map_ldom:8,0", "", "", "8-9,24-25/8/ 7,23/0/"},
    {"mask_ldom", "7-9", "", 1, 1, "mask_ldom:0x101", "", "", "7-9,23-25/0,8/"},
    {"single", "0-3", "0-1", 4, 1, "", "single:2", "", "0,16/0/0 1,17/0/0 2,18/0/1 3,19/0/1"},
    {"per_task", "0,8", "0,1,4,5", 2, 1, "", "per_task:2", "", "0,16/0/0-1 8,24/8/4-5"},
    {"map_gpu_counts_within_the_step", "0,8", "3,5", 2, 1, "", "map_gpu:1,0", "", "8,24/8/5 0,16/0/3"},
    {"mask_gpu", "0-1", "0-2", 2, 1, "", "mask_gpu:0x6,1", "", "0,16/0/1-2 1,17/0/0"},
    {"closest", "0,8", "2,4-5", 2, 1, "", "closest", "", "0,16/0/2 8,24/8/4-5"},
    {"closest_where_none_is_near", "0", "4-5", 1, 1, "", "closest", "", "0,16/0,8/4-5"},
    {"no_gpus_of_their_own", "0-1", "0-1", 2, 1, "", "none", "", "0,16/0/ 1,17/0/"},
    {"memory_by_rank", "0-1,8", "", 3, 1, "", "", "rank", "0,16/0/ 1,17/8/ 8,24/0/"},
    {"memory_by_list", "0-1", "", 2, 1, "", "", "map_mem:8,0", "0,16/8/ 1,17/0/"},
    {"local_memory_of_other_cores", "0,8", "", 1, 1, "map_cpu:8", "", "local", "8/8/"},
};

INSTANTIATE_TEST_SUITE_P(Table, Worded, ::testing::ValuesIn(kWordCases), [](const auto& c) { return c.param.name; });

TEST(Places, NoTaskHasCoresOfTwoSocketsWhereItSaysHowManyASocketTakes) {
  const auto places = [](uint32_t tasks, uint32_t cpus, uint32_t per_socket, const std::string& cores,
                         const std::string& gpus = "") {
    wire::NodeShare share;
    share.set_tasks(tasks);
    share.set_cores(cores);
    share.set_gpus(gpus);
    wire::StepRequest request;
    request.set_cpus_per_task(cpus);
    request.set_tasks_per_socket(per_socket);
    request.set_gpus_per_task(gpus.empty() ? 0 : 1);
    std::string text;
    for (const Place& place : bind_tasks(dgx(), share, request).places)
      text += (text.empty() ? "" : " ") + place.pus.text();
    return text;
  };
  EXPECT_EQ(places(2, 4, 1, "0-15"), "0-1,16-17 8-9,24-25");
  EXPECT_EQ(places(3, 2, 2, "6-9"), "6,22 7,23 8,24");
  EXPECT_EQ(places(3, 0, 2, "0-15"), "0-3,16-19 4-7,20-23 8-15,24-31") << "what is there is shared out on each socket";
  EXPECT_EQ(places(2, 4, 1, "7-15"), "7-8,23-24 9-10,25-26") << "no room so: as without";
  {
    wire::NodeShare share;  // cores 8 and 9 claimed, and another step has left 0 and 1
    share.set_tasks(2);
    share.set_cores("8-9");
    wire::StepRequest request;
    request.set_tasks_per_socket(2);
    const Binding b = bind_tasks(dgx(), share, request, base::IndexSet::of({0, 1, 10, 11}));
    EXPECT_EQ(b.places[0].pus.text() + " " + b.places[1].pus.text(), "8-9,24-25 10-11,26-27") << "they stay";
  }
  EXPECT_EQ(places(2, 2, 1, "0-15", "4,5"), "8,24 0,16") << "the first where its GPU is";
  EXPECT_EQ(places(2, 2, 2, "0-15", "0,4"), "0,16 8,24");
}

TEST(Places, EachCpuIsACoreWhereThatIsAsked) {
  wire::NodeShare share;
  share.set_tasks(2);
  share.set_cores("0-5");
  wire::StepRequest request;
  request.set_cpus_per_task(3);
  const auto places = [&] {
    const Binding b = bind_tasks(dgx(), share, request);
    return b.places[0].pus.text() + " " + b.places[1].pus.text();
  };
  EXPECT_EQ(places(), "0-1,16-17 2-3,18-19");
  request.set_whole_cores(true);
  EXPECT_EQ(places(), "0-2,16-18 3-5,19-21");
}

/// Cores 4 to 7 claimed, 0 to 3 left over by others.
std::string beside(const std::string& cpu, uint32_t cpus_per_task, bool is_begun,
                   const std::string& unclaimed = "0-3") {
  wire::NodeShare share;
  share.set_tasks(2);
  share.set_cores("4-5");
  wire::StepRequest request;
  request.set_cpu_bind(cpu);
  request.set_cpus_per_task(cpus_per_task);
  std::string text;
  for (const Place& place : bind_tasks(dgx(), share, request, *base::IndexSet::parse(unclaimed), is_begun).places)
    text += (text.empty() ? "" : " ") + (place.problem.empty() ? place.pus.text() : place.problem.substr(0, 11));
  return text;
}

TEST(Places, TasksRunOnWhatNobodyHasClaimedBesideWhatTheirStepHas) {
  EXPECT_EQ(beside("", 0, false), "0-2,16-18 3-5,19-21");
  EXPECT_EQ(beside("sockets", 0, false), "0-5,16-21 0-5,16-21");
  EXPECT_EQ(beside("map_cpu:0,5", 0, false), "0 5");
  EXPECT_EQ(beside("rank", 0, false), "4,20 5,21") << "in order of what is claimed";
  EXPECT_EQ(beside("threads", 0, false), "4 20");
  EXPECT_EQ(beside("", 0, true, ""), "4,20 5,21");
  EXPECT_EQ(beside("map_cpu:0,5", 0, false, ""), "--cpu-bind: 5");
  EXPECT_EQ(beside("map_cpu:0,5", 0, true, ""), "4-5,20-21 5") << "it runs: what it was bound to is another step's now";
  EXPECT_EQ(beside("mask_cpu:0x21,0x20", 0, true, ""), "5 5") << "what is left of it";
}

struct Problem {
  std::string cpu, gpu, mem, want;
};

TEST(Places, WhatTheStepHasNotGotIsAProblemOfThatTask) {
  wire::NodeShare share;
  share.set_tasks(2);
  share.set_cores("0-1");
  share.set_gpus("0,4");
  const Problem kProblems[] = {
      {"map_cpu:0,5", "", "",
       "--cpu-bind: mask 0x20 (CPUs 5) is not within the CPUs of the step on this node: 0-1,16-17 (mask 0x30003)"},
      {"mask_cpu:1,0xf", "", "",
       "--cpu-bind: mask 0xf (CPUs 0-3) is not within the CPUs of the step on this node: 0-1,16-17 (mask 0x30003)"},
      {"map_ldom:0,8", "", "",
       "--cpu-bind: mask 0x100 names NUMA node 8, where the step has no CPUs on this node: it has them in 0"},
      {"", "map_gpu:0,2", "", "--gpu-bind: there is no GPU 2: the step has 2 on this node, counted from 0 (mask 0x4)"},
      {"", "", "map_mem:0,1", "--mem-bind: mask 0x2 names NUMA nodes 1, but this node has 0,8"}};
  for (const Problem& p : kProblems) {
    wire::StepRequest request;
    request.set_cpu_bind(p.cpu);
    request.set_gpu_bind(p.gpu);
    request.set_mem_bind(p.mem);
    const Binding binding = bind_tasks(dgx(), share, request);
    EXPECT_EQ(binding.places[0].problem, "");
    EXPECT_EQ(binding.places[1].problem, p.want);
  }
  wire::StepRequest request;
  request.set_cpu_bind("what");
  for (const Place& place : bind_tasks(dgx(), share, request).places)
    EXPECT_NE(place.problem.find("--cpu-bind"), std::string::npos);
}

TEST(Places, WhatIsBound) {
  wire::NodeShare share;
  share.set_tasks(1);
  share.set_cores("0");
  share.set_gpus("0");
  wire::StepRequest request;
  const auto bound = [&] {
    const Binding b = bind_tasks(dgx(), share, request);
    return std::string(b.binds_cpus ? "c" : "") + (b.binds_gpus ? "g" : "") + (b.binds_memory ? "m" : "");
  };
  EXPECT_EQ(bound(), "c");
  request.set_gpus_per_task(1);
  EXPECT_EQ(bound(), "cg");
  request.set_gpu_bind("verbose,none");
  request.set_overcommit(true);
  EXPECT_EQ(bound(), "");
  request.set_cpu_bind("cores");
  request.set_mem_bind("local");
  EXPECT_EQ(bound(), "cm");
}

TEST(Places, TheAdapterIsThatOfTheGpus) {
  wire::NodeTopology node = dgx();
  for (uint32_t i = 0; i < 8; ++i) node.mutable_gpus(static_cast<int>(i))->set_pcie_switch(i);
  for (uint32_t i = 0; i < 8; ++i) {
    wire::Nic& nic = *node.add_nics();
    nic.set_kind("infiniband");
    nic.set_numa(i / 4);
    nic.set_socket(i / 4);
    nic.set_pcie_switch(7 - i);
  }
  node.add_nics()->set_kind("ethernet");
  wire::NodeShare share;
  share.set_tasks(2);
  share.set_cores("0,8");
  share.set_gpus("1,6");
  wire::StepRequest request;
  request.set_gpus_per_task(1);
  const Binding near = bind_tasks(node, share, request);
  EXPECT_EQ(near.places[0].nics, std::vector<uint32_t>{6});
  EXPECT_EQ(near.places[1].nics, std::vector<uint32_t>{1});
  request.set_gpus_per_task(0);
  EXPECT_EQ(bind_tasks(node, share, request).places[1].nics, (std::vector<uint32_t>{4, 5, 6, 7}));
}

}  // namespace
}  // namespace gw::bind
