// Binding of tasks: what the kernel has, what is said of it, and what cannot be.
#include "noded/step/start/binding.h"

#include <gmock/gmock.h>
#include <sched.h>

#include "scene.h"

namespace gw::noded::step {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using Phase = stream::StepState::Phase;

uint32_t first_cpu() {
  cpu_set_t own;
  CPU_ZERO(&own);
  EXPECT_EQ(::sched_getaffinity(0, sizeof own, &own), 0);
  for (uint32_t cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &own)) return cpu;
  return 0;
}

const std::vector<std::string> kCpus = {"sh", "-c", "grep Cpus_allowed_list /proc/self/status"};

TEST(Binding, TheKernelHasWhatIsSaid) {
  const std::string cpu = std::to_string(first_cpu());
  Scene s(1, [&](wire::StepSpec& spec) {
    spec.mutable_access()->mutable_places(0)->set_cpus(cpu);
    spec.mutable_access()->mutable_binding()->set_cpu_kind("MAP");
    spec.mutable_access()->mutable_binding()->set_says_cpus(true);
  });
  TestClient& client = s.run(launch_of({kCpus}));
  EXPECT_TRUE(client.wait_over());
  EXPECT_EQ(client.out(), "Cpus_allowed_list:\t" + cpu + "\n");
  EXPECT_THAT(client.err(), ContainsRegex("^cpu-bind=MAP - [^,]+, task  0  0 \\[[0-9]+\\]: mask 0x[0-9a-f]+ set\n$"));
  s.leave();
}

TEST(Binding, AnEmulatedNodeOnlyRecordsIt) {
  Scene s(1, [](wire::StepSpec& spec) {
    wire::TaskPlace& place = *spec.mutable_access()->mutable_places(0);
    place.set_cpus("4000-4001");
    place.set_mems("7");
    place.set_gpus("3");
    place.set_nics("mlx5_3");
    spec.mutable_access()->set_gpu_variable("CUDA_VISIBLE_DEVICES");
    wire::BindingManner& manner = *spec.mutable_access()->mutable_binding();
    manner.set_only_records(true);
    manner.set_cpu_kind("MASK");
    manner.set_says_cpus(true);
    manner.set_says_memory(true);
    manner.set_says_gpus(true);
  });
  TestClient& client = s.run(launch_of({{"sh", "-c", "echo $CUDA_VISIBLE_DEVICES $GANGWAY_NIC"}}));
  EXPECT_TRUE(client.wait_over());
  EXPECT_EQ(client.out(), "3 mlx5_3\n");
  EXPECT_THAT(client.err(), HasSubstr(": mask 0x3" + std::string(1000, '0') + " would be set (emulated node)\n"));
  EXPECT_THAT(client.err(), HasSubstr("mem-bind=MASK - "));
  EXPECT_THAT(client.err(), HasSubstr("mask 0x80 would be set"));
  EXPECT_THAT(client.err(), HasSubstr("CUDA_VISIBLE_DEVICES=3\n"));
  s.leave();
}

TEST(Binding, WhatCannotBeEndsTheStep) {
  Scene s(2, [](wire::StepSpec& spec) { spec.mutable_access()->mutable_places(1)->set_problem("no such core"); });
  wire::LaunchTasks launch = launch_of({{"true"}, {"true"}});
  launch.mutable_tasks(1)->set_rank(5);
  TestClient& client = s.run(launch);
  EXPECT_TRUE(client.wait_over());
  EXPECT_EQ(client.state(Phase::kEnding), "task 5: no such core");
  EXPECT_TRUE(s.leave().never_started());
}

TEST(Binding, WhatIsNotThereIsPassedOver) {
  Scene s(1, [](wire::StepSpec& spec) { spec.mutable_access()->mutable_places(0)->set_cpus("7000"); });
  TestClient& client = s.run(launch_of({{"true"}}));
  EXPECT_TRUE(client.wait_over());
  EXPECT_TRUE(client.ended(0));
  s.leave();
}

}  // namespace
}  // namespace gw::noded::step
