// Environment, files and limits of a batch step, from order and node.
#include "noded/core/step_spec.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/text.h"
#include "model/job.h"
#include "model/request.h"
#include "noded/core/job_env.h"
#include "noded/core/node_allocation.h"
#include "tests/unit/noded_core/agent_script.h"

namespace gw::noded::testing {
namespace {

const base::Time kNow{1'700'000'000'000'000};

class StepSpecTest : public ::testing::Test {
 protected:
  StepSpecTest() {
    prepare.set_job(7);
    prepare.set_attempt(2);
    prepare.set_partition("main");
    prepare.set_cluster("c");
    prepare.set_restarts(1);
    prepare.set_time_limit_us(3'600'000'000);
    *prepare.mutable_share() = test_share("n0");
    *prepare.mutable_gang() = test_gang({"n0", "n1"});
    wire::JobSpec& spec = *prepare.mutable_spec();
    spec.set_name("train");
    spec.set_uid(1000);
    spec.set_gid(1000);
    spec.set_submit_host("login");
    spec.mutable_launch()->set_work_dir("/home/ann/w");
    spec.mutable_request()->set_gpu_counting(static_cast<uint32_t>(model::GpuCounting::kPerNode));
    spec.mutable_request()->set_gpus(2);
    using namespace std::string_literals;
    prepare.set_environment("PATH=/opt/bin\0A=1=2\0SLURM_JOB_ID=3\0SLURM_STEP_ID=0\0CUDA_VISIBLE_DEVICES=9\0=x\0junk"s);
  }

  std::map<std::string, std::string> env() const {
    std::map<std::string, std::string> result;
    for (const std::string& line : job_environment(node, prepare, user, kNow)) {
      const size_t equals = line.find('=', 1);
      EXPECT_TRUE(result.emplace(line.substr(0, equals), line.substr(equals + 1)).second) << line << " stands twice";
    }
    return result;
  }
  wire::StepSpec spec() const { return make_step_spec(node, prepare, user, kNow); }

  NodeFacts node = test_node();
  wire::Prepare prepare;
  UserInfo user{"ann", 1000, 1000, {1000, 50}, "/home/ann", "/bin/zsh"};
};

TEST_F(StepSpecTest, SetsEveryVariableUnderBothNames) {
  const std::map<std::string, std::string> want = {{"JOB_ID", "7"},
                                                   {"JOBID", "7"},
                                                   {"JOB_NAME", "train"},
                                                   {"JOB_NODELIST", "n[0-1]"},
                                                   {"NODELIST", "n[0-1]"},
                                                   {"JOB_NUM_NODES", "2"},
                                                   {"NNODES", "2"},
                                                   {"NTASKS", "2"},
                                                   {"NPROCS", "2"},
                                                   {"TASKS_PER_NODE", "1(x2)"},
                                                   {"JOB_CPUS_PER_NODE", "2(x2)"},
                                                   {"CPUS_ON_NODE", "2"},
                                                   {"MEM_PER_NODE", "100"},
                                                   {"JOB_PARTITION", "main"},
                                                   {"JOB_USER", "ann"},
                                                   {"JOB_UID", "1000"},
                                                   {"JOB_GID", "1000"},
                                                   {"JOB_GPUS", "0,1"},
                                                   {"GPUS_ON_NODE", "2"},
                                                   {"GPUS_PER_NODE", "2"},
                                                   {"CLUSTER_NAME", "c"},
                                                   {"SUBMIT_DIR", "/home/ann/w"},
                                                   {"SUBMIT_HOST", "login"},
                                                   {"PROCID", "0"},
                                                   {"LOCALID", "0"},
                                                   {"NODEID", "0"},
                                                   {"GTIDS", "0"},
                                                   {"RESTART_COUNT", "1"},
                                                   {"JOB_START_TIME", "1700000000"},
                                                   {"JOB_END_TIME", "1700003600"},
                                                   {"TOPOLOGY_ADDR", "n0"}};
  auto have = env();
  for (const auto& [name, value] : want) {
    EXPECT_EQ(have["SLURM_" + name], value) << name;
    EXPECT_EQ(have["GANGWAY_" + name], value) << name;
  }
  EXPECT_EQ(have["SLURMD_NODENAME"], "n0");
  EXPECT_EQ(have["ENVIRONMENT"], "BATCH");
}

TEST_F(StepSpecTest, ScriptsWithPbsLinesAreToldInTheirWords) {
  using namespace std::string_literals;
  EXPECT_EQ(env().count("PBS_JOBID"), 0u) << "nobody else is";
  EXPECT_EQ(spec().slots(), "");
  prepare.set_environment("PBS_ENVIRONMENT=PBS_BATCH\0PBS_O_WORKDIR=/w\0PBS_JOBID=3\0PBS_ARRAY_INDEX=9\0"s);
  prepare.mutable_gang()->set_nodes("n[0-2]");
  prepare.mutable_gang()->set_node_count(3);
  prepare.mutable_gang()->set_tasks("2(x2),1");
  prepare.mutable_gang()->set_all_tasks(5);
  auto have = env();
  EXPECT_EQ(have["PBS_JOBID"], "7");
  EXPECT_EQ(have.count("PBS_ARRAY_INDEX"), 0u) << "that was an enclosing job's";
  EXPECT_EQ(have["PBS_O_WORKDIR"], "/w");
  EXPECT_EQ(have["PBS_JOBNAME"], "train");
  EXPECT_EQ(have["PBS_QUEUE"], "main");
  EXPECT_EQ(have["PBS_NP"], "5");
  EXPECT_EQ(have["PBS_NUM_NODES"], "3");
  EXPECT_EQ(have["PBS_NUM_PPN"], "2");
  EXPECT_EQ(have["NCPUS"], "2");
  EXPECT_EQ(have["PBS_WALLTIME"], "3600");
  EXPECT_EQ(have["PBS_NODEFILE"], "/s/steps/7.2/slots");
  EXPECT_EQ(spec().slots(), "n0\nn0\nn1\nn1\nn2\n");
  wire::ArrayPlace& place = *prepare.mutable_spec()->mutable_array();
  place.set_job(5);
  place.set_task(3);
  have = env();
  EXPECT_EQ(have["PBS_JOBID"], "5[3]");
  EXPECT_EQ(have["PBS_ARRAY_INDEX"], "3");
  EXPECT_EQ(have["PBS_ARRAYID"], "3");
  EXPECT_EQ(have["PBS_ARRAY_ID"], "5");
  prepare.set_environment("PBS_ENVIRONMENT=PBS_BATCH\0GANGWAY_SUBMITTED_BY=pbs\0"s);
  have = env();
  EXPECT_EQ(have["PBS_JOBID"], "5[3].c") << "as qsub named it";
  EXPECT_EQ(have.count("GANGWAY_SUBMITTED_BY"), 0u);
}

TEST_F(StepSpecTest, ScriptsOfGridEngineAreToldInItsWords) {
  using namespace std::string_literals;
  prepare.set_environment("PE_HOSTFILE=/tmp/mine\0"s);
  EXPECT_EQ(spec().slots(), "") << "that is the user's";
  EXPECT_EQ(env().count("NSLOTS"), 0u) << "nobody else is";
  prepare.set_environment("GANGWAY_SUBMITTED_BY=sge\0SGE_O_WORKDIR=/w\0PBS_ENVIRONMENT=PBS_BATCH\0"s);
  prepare.mutable_gang()->set_nodes("n[0-2]");
  prepare.mutable_gang()->set_node_count(3);
  prepare.mutable_gang()->set_tasks("2(x2),1");
  prepare.mutable_gang()->set_all_tasks(5);
  prepare.mutable_spec()->mutable_request()->set_cpus_per_task(2);
  auto have = env();
  EXPECT_EQ(have.count("GANGWAY_SUBMITTED_BY"), 0u) << "what the job submits itself may be another's";
  EXPECT_EQ(have.count("PBS_JOBID"), 0u);
  EXPECT_EQ(have["SGE_O_WORKDIR"], "/w");
  EXPECT_EQ(have["JOB_ID"], "7");
  EXPECT_EQ(have["JOB_NAME"], "train");
  EXPECT_EQ(have["QUEUE"], "main");
  EXPECT_EQ(have["NSLOTS"], "10");
  EXPECT_EQ(have["NHOSTS"], "3");
  EXPECT_EQ(have["SGE_TASK_ID"], "undefined");
  EXPECT_EQ(have["PE_HOSTFILE"], "/s/steps/7.2/slots");
  EXPECT_EQ(spec().slots(), "n0 4 main@n0 UNDEFINED\nn1 4 main@n1 UNDEFINED\nn2 2 main@n2 UNDEFINED\n");
  wire::ArrayPlace& place = *prepare.mutable_spec()->mutable_array();
  place.set_job(5);
  place.set_task(3);
  place.set_least(1);
  place.set_most(9);
  place.set_step(2);
  have = env();
  EXPECT_EQ(have["JOB_ID"], "5");
  EXPECT_EQ(have["SGE_TASK_ID"], "3");
  EXPECT_EQ(have["SGE_TASK_FIRST"] + have["SGE_TASK_LAST"] + have["SGE_TASK_STEPSIZE"], "192");
}

TEST_F(StepSpecTest, AJobOutOfAnotherSystemsJobIsNotToldOfThatOne) {
  using namespace std::string_literals;
  const std::string pbs = "PBS_ENVIRONMENT=PBS_BATCH\0PBS_JOBID=3\0PBS_NODEFILE=/x\0PBS_O_WORKDIR=/w\0"s;
  const std::string sge = "SGE_CLUSTER_NAME=c\0JOB_ID=5\0NSLOTS=2\0PE_HOSTFILE=/x\0SGE_TASK_ID=3\0"s;
  prepare.set_environment(pbs + "GANGWAY_SUBMITTED_BY=sge\0"s);
  auto have = env();
  EXPECT_EQ(have.count("PBS_JOBID") + have.count("PBS_NODEFILE"), 0u);
  EXPECT_EQ(have["JOB_ID"], "7");
  prepare.set_environment(sge + pbs + "GANGWAY_SUBMITTED_BY=pbs\0"s);
  have = env();
  EXPECT_EQ(have.count("JOB_ID") + have.count("NSLOTS") + have.count("PE_HOSTFILE"), 0u);
  EXPECT_EQ(have["PBS_JOBID"], "7.c");
  prepare.set_environment("PBS_ENVIRONMENT=\0PBS_JOBID=3\0"s + sge);  // as gbatch says it
  have = env();
  EXPECT_EQ(have.count("PBS_JOBID") + have.count("JOB_ID") + have.count("SGE_TASK_ID"), 0u);
  prepare.set_environment("JOB_ID=mine\0NSLOTS=3\0SGE_CLUSTER_NAME=old\0"s);
  EXPECT_EQ(env()["JOB_ID"], "mine") << "the user's own";
}

TEST_F(StepSpecTest, ANodeFileThatCannotBeSaidIsNotNamed) {
  using namespace std::string_literals;
  prepare.set_environment("PBS_ENVIRONMENT=PBS_BATCH\0"s);
  for (const char* tasks : {"2", "2(x", "2(x3)", "x(x2)", "", "4000000000(x2)", "1(x99999999)"}) {
    prepare.mutable_gang()->set_tasks(tasks);
    EXPECT_EQ(env().count("PBS_NODEFILE"), 0u) << tasks;
    EXPECT_EQ(spec().slots(), "") << tasks;
  }
}

TEST_F(StepSpecTest, SaysWhatBecomesOfAJobThatMakesWayAndWhereItIsTold) {
  using namespace std::string_literals;
  prepare.set_environment(
      "GANGWAY_PREEMPT_FILE=/home/ann/x\0GANGWAY_ON_PREEMPT=cancel\0GANGWAY_PREEMPTIONS=9\0GANGWAY_PREEMPTIONS=2"s);
  auto have = env();
  EXPECT_EQ(have["GANGWAY_PREEMPT_FILE"], "/s/steps/7.2/preempted");
  EXPECT_EQ(have["GANGWAY_ON_PREEMPT"], "requeue");
  EXPECT_EQ(have["GANGWAY_PREEMPTIONS"], "2");  // the controller's word comes last
  for (const auto& [number, word] : std::map<uint32_t, std::string>{{1, "cancel"}, {2, "checkpoint"}, {9, "requeue"}}) {
    prepare.mutable_spec()->set_on_preempt(number);
    EXPECT_EQ(env()["GANGWAY_ON_PREEMPT"], word);
  }
}

TEST_F(StepSpecTest, KeepsTheSubmissionEnvironmentButNotAnEnclosingJobs) {
  auto have = env();
  EXPECT_EQ(have["PATH"], "/opt/bin");
  EXPECT_EQ(have["A"], "1=2");
  EXPECT_EQ(have["HOME"], "/home/ann");
  EXPECT_EQ(have["SHELL"], "/bin/zsh");
  EXPECT_FALSE(have.contains("SLURM_STEP_ID"));
  EXPECT_FALSE(have.contains("junk"));
  EXPECT_FALSE(have.contains(""));
}

/// What a shell says of a command once its PATH is as /etc/profile leaves it.
std::string in_a_login_shell(const std::map<std::string, std::string>& have, const std::string& before,
                             const std::string& command) {
  std::string line = "env -i";
  for (const auto& [name, value] : have) line += " " + base::shell_quote(name + "=" + value);
  line += " /bin/bash -c " + base::shell_quote("PATH=/usr/bin:/bin; " + before + command);
  FILE* pipe = ::popen(line.c_str(), "r");
  std::string said(256, 0);
  said.resize(::fread(said.data(), 1, said.size(), pipe));
  ::pclose(pipe);
  return said;
}

TEST_F(StepSpecTest, JobsFindTheCommandsThatTheyWereSubmittedWith) {
  const std::filesystem::path folder = ::testing::TempDir() + "commands of slurm " + std::to_string(::getpid());
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "srun") << "#!/bin/sh\necho ran $1\n";
  std::filesystem::permissions(folder / "srun", std::filesystem::perms::owner_all);
  node.commands_dir = "/g/bin";
  node.slurm_commands_dir = folder;
  node.slurm_commands = {"srun"};
  const std::string slurm = folder;
  EXPECT_EQ(env()["PATH"], "/opt/bin:/g/bin") << "by its own name it sees none of Slurm's";
  EXPECT_FALSE(env().contains("BASH_FUNC_srun%%"));
  prepare.mutable_spec()->mutable_launch()->set_slurm_names(true);
  auto have = env();
  EXPECT_EQ(have["PATH"], slurm + ":/opt/bin:/g/bin");
  EXPECT_EQ(have["GANGWAY_COMMAND_PATH"], slurm + ":/g/bin");
  EXPECT_EQ(in_a_login_shell(have, "", "srun here; type -P srun"), "ran here\n" + slurm + "/srun\n");
  prepare.set_environment("PATH=/x:" + slurm + ":/g/bin");
  EXPECT_EQ(env()["PATH"], "/x:" + slurm + ":/g/bin") << "it stays where the user put it";
  prepare.clear_environment();
  EXPECT_EQ(env()["PATH"], slurm + ":/g/bin:/usr/local/bin:/usr/bin:/bin");
  node.has_login_file = true;
  EXPECT_FALSE(env().contains("BASH_FUNC_srun%%"));
  std::filesystem::remove_all(folder);
}

TEST_F(StepSpecTest, GpuIndicesAreTheNodesUnlessDevicesAreHidden) {
  prepare.mutable_share()->set_gpus("2-3");
  EXPECT_EQ(env()["CUDA_VISIBLE_DEVICES"], "2,3");
  EXPECT_EQ(env()["CUDA_DEVICE_ORDER"], "PCI_BUS_ID");
  node.constrain_devices = true;
  EXPECT_EQ(env()["CUDA_VISIBLE_DEVICES"], "0,1");
  EXPECT_EQ(env()["SLURM_JOB_GPUS"], "2,3");
  node.is_emulated = true;
  EXPECT_EQ(env()["CUDA_VISIBLE_DEVICES"], "2,3");
  node.topology.mutable_gpus(2)->set_vendor("amd");
  EXPECT_EQ(env()["ROCR_VISIBLE_DEVICES"], "2,3");
  EXPECT_FALSE(env().contains("CUDA_VISIBLE_DEVICES"));
}

TEST_F(StepSpecTest, WithoutGpusNothingIsSaidOfThem) {
  prepare.mutable_share()->clear_gpus();
  EXPECT_FALSE(env().contains("CUDA_VISIBLE_DEVICES"));
  EXPECT_FALSE(env().contains("SLURM_GPUS_ON_NODE"));
}

TEST_F(StepSpecTest, WithoutALimitTheEndIsAYearAway) {
  prepare.set_time_limit_us(base::kUnlimited.us);
  prepare.set_started_us(1'600'000'000'000'000);
  EXPECT_EQ(env()["SLURM_JOB_START_TIME"], "1600000000");
  EXPECT_EQ(env()["SLURM_JOB_END_TIME"], "1631536000");
}

TEST_F(StepSpecTest, ResolvesFiles) {
  EXPECT_EQ(spec().std_out(), "/home/ann/w/gangway-7.out");
  EXPECT_EQ(spec().std_err(), "");
  EXPECT_EQ(spec().std_in(), "/dev/null");
  wire::Launch& launch = *prepare.mutable_spec()->mutable_launch();
  launch.set_slurm_names(true);
  launch.set_std_err("/tmp/%x-%5j.err");
  EXPECT_EQ(spec().std_out(), "/home/ann/w/slurm-7.out");
  EXPECT_EQ(spec().std_err(), "/tmp/train-00007.err");
  launch.set_std_out("/tmp/%x-%5j.err");
  EXPECT_EQ(spec().std_err(), "") << "the same file is opened once";
}

TEST_F(StepSpecTest, ATaskOfAnArrayKnowsItsPlaceAndHasFilesOfItsOwn) {
  prepare.set_environment(std::string("SLURM_ARRAY_TASK_ID=99\0GANGWAY_ARRAY_JOB_ID=98", 47));
  EXPECT_FALSE(env().contains("SLURM_ARRAY_TASK_ID")) << "of the job that it was submitted in";
  wire::ArrayPlace& place = *prepare.mutable_spec()->mutable_array();
  place.set_job(5);
  place.set_task(12);
  place.set_count(4);
  place.set_least(0);
  place.set_most(12);
  place.set_step(4);
  for (const std::string prefix : {"SLURM_ARRAY_", "GANGWAY_ARRAY_"}) {
    EXPECT_EQ(env().at(prefix + "JOB_ID"), "5");
    EXPECT_EQ(env().at(prefix + "TASK_ID"), "12");
    EXPECT_EQ(env().at(prefix + "TASK_COUNT"), "4");
    EXPECT_EQ(env().at(prefix + "TASK_MIN"), "0");
    EXPECT_EQ(env().at(prefix + "TASK_MAX"), "12");
    EXPECT_EQ(env().at(prefix + "TASK_STEP"), "4");
  }
  EXPECT_EQ(env().at("SLURM_JOB_ID"), "7");
  EXPECT_EQ(spec().std_out(), "/home/ann/w/gangway-5_12.out");
  wire::Launch& launch = *prepare.mutable_spec()->mutable_launch();
  launch.set_slurm_names(true);
  EXPECT_EQ(spec().std_out(), "/home/ann/w/slurm-5_12.out");
  launch.set_std_out("%A-%3a-%b-%j");
  EXPECT_EQ(spec().std_out(), "/home/ann/w/5-012-2-7");
}

TEST_F(StepSpecTest, TakesTheSubmittedGroupOnlyFromMembers) {
  prepare.mutable_spec()->set_gid(50);
  EXPECT_EQ(spec().gid(), 50u);
  prepare.mutable_spec()->set_gid(0);
  EXPECT_EQ(spec().gid(), 1000u);
}

TEST_F(StepSpecTest, ContainsCoresMemoryAndDevicesOnTheLiveMachineOnly) {
  node.constrain_devices = true;
  node.max_processes = 9;
  node.topology.add_numa_nodes()->set_os_index(8);
  for (int i = 0; i < 4; ++i) node.topology.mutable_gpus(i)->add_devices("/dev/nvidia" + std::to_string(i));
  wire::Containment c = make_containment(node, prepare);
  EXPECT_EQ(c.group(), "gangway/c/n0/job_7.2");
  EXPECT_EQ(c.cpus(), "0-1");
  EXPECT_EQ(c.mems(), "8");
  EXPECT_EQ(c.mem_limit_mb(), 100u);
  EXPECT_EQ(c.max_pids(), 9u);
  EXPECT_EQ(c.all_devices_size(), 4);
  ASSERT_EQ(c.allow_devices_size(), 2);
  EXPECT_EQ(c.allow_devices(1), "/dev/nvidia1");
  node.is_emulated = true;
  c = make_containment(node, prepare);
  EXPECT_EQ(c.cpus(), "");
  EXPECT_EQ(c.all_devices_size(), 0);
  EXPECT_EQ(c.mem_limit_mb(), 100u);
}

TEST_F(StepSpecTest, EmulatedNodesSeeTheirOwnName) {
  EXPECT_EQ(spec().node(), "");
  node.own_host_name = true;
  node.hosts = {"127.0.1.1 n0"};
  EXPECT_EQ(spec().node(), "n0");
  EXPECT_EQ(spec().hosts_size(), 1);
}

TEST_F(StepSpecTest, AnAllocationHasNoScript) {
  EXPECT_TRUE(runs_script(prepare));
  prepare.mutable_spec()->set_kind(static_cast<uint32_t>(model::JobKind::kAllocation));
  EXPECT_FALSE(runs_script(prepare));
}

// A step with two tasks on n1, the second of the job's nodes, which has GPUs 1 to 3 for it.
class AccessSpecTest : public StepSpecTest {
 protected:
  AccessSpecTest() {
    node.name = "n1";
    node.listen_host = "127.0.1.2";
    node.step_ports = "61000-61999";
    node.topology.add_numa_nodes()->set_os_index(8);
    prepare.clear_environment();
    *prepare.mutable_share() = test_share("n1");
    prepare.mutable_share()->set_gpus("1-3");
    prepare.set_lease_us(5);
    prepare.set_generation(6);
    *prepare.mutable_gang() = test_gang({"n0", "n1"}, "n1");
    *start.mutable_job() = prepare;
    start.set_step(4);
    start.set_ticket_key("key");
    *start.mutable_share() = prepare.share();
    start.mutable_share()->set_gpus("2-3");
    start.mutable_share()->set_tasks(2);
    *start.mutable_gang() = test_gang({"n1"}, "n1", 2);
    start.mutable_request()->set_gpus_per_task(1);
  }

  wire::StepSpec spec() const { return make_access_spec(node, start, user, kNow); }
  std::map<std::string, std::string> env() const {
    std::map<std::string, std::string> result;
    const wire::StepSpec told = spec();
    for (const std::string& line : told.env()) {
      const size_t equals = line.find('=', 1);
      result[line.substr(0, equals)] = line.substr(equals + 1);
    }
    return result;
  }

  wire::StartStep start;
};

TEST_F(AccessSpecTest, LaysTheStepsVariablesOverTheJobs) {
  const std::map<std::string, std::string> want = {{"JOB_ID", "7"},
                                                   {"JOB_NODELIST", "n[0-1]"},
                                                   {"JOB_NUM_NODES", "2"},
                                                   {"NNODES", "1"},
                                                   {"STEP_ID", "3"},
                                                   {"STEPID", "3"},
                                                   {"NTASKS", "2"},
                                                   {"NPROCS", "2"},
                                                   {"STEP_NODELIST", "n1"},
                                                   {"STEP_NUM_NODES", "1"},
                                                   {"STEP_NUM_TASKS", "2"},
                                                   {"STEP_TASKS_PER_NODE", "2"},
                                                   {"TASKS_PER_NODE", "2"},
                                                   {"NODEID", "0"},
                                                   {"CPUS_ON_NODE", "2"},
                                                   {"STEP_GPUS", "2,3"},
                                                   {"JOB_GPUS", "1,2,3"},
                                                   {"GPUS_ON_NODE", "2"},
                                                   {"GPUS_PER_TASK", "1"},
                                                   {"JOB_END_TIME", "1700003600"},
                                                   {"JOB_CPUS_PER_NODE", "2(x2)"}};
  auto have = env();
  for (const auto& [name, value] : want) {
    EXPECT_EQ(have["SLURM_" + name], value) << name;
    EXPECT_EQ(have["GANGWAY_" + name], value) << name;
  }
  EXPECT_EQ(have["SLURMD_NODENAME"], "n1");
  EXPECT_EQ(have["CUDA_VISIBLE_DEVICES"], "2,3");
  EXPECT_EQ(have["GANGWAY_PREEMPT_FILE"], "/s/steps/7.2.s3/preempted");
}

TEST_F(AccessSpecTest, LeavesOutWhatIsOfTheScriptOrOfOneTask) {
  const auto have = env();
  for (const char* name : {"ENVIRONMENT", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_GTIDS"})
    EXPECT_FALSE(have.contains(name)) << name;
  EXPECT_EQ(have.at("HOME"), "/home/ann");  // for a client that sends none
}

TEST_F(AccessSpecTest, WhatTheJobWasAskedWithHoldsUntilTheStepSaysOtherwise) {
  EXPECT_FALSE(env().contains("SLURM_CPUS_PER_TASK"));
  EXPECT_FALSE(env().contains("SLURM_NTASKS_PER_NODE"));
  start.mutable_job()->mutable_spec()->mutable_request()->set_cpus_per_task(4);
  start.mutable_job()->mutable_spec()->mutable_request()->set_tasks_per_node(3);
  EXPECT_EQ(env()["SLURM_CPUS_PER_TASK"], "4");
  EXPECT_EQ(env()["GANGWAY_NTASKS_PER_NODE"], "3");
  start.mutable_request()->set_cpus_per_task(2);
  start.mutable_request()->set_tasks_per_node(1);
  EXPECT_EQ(env()["SLURM_CPUS_PER_TASK"], "2");
  EXPECT_EQ(env()["SLURM_NTASKS_PER_NODE"], "1");
}

TEST_F(AccessSpecTest, GivesEachTaskAPlace) {
  const wire::StepAccess access = spec().access();
  EXPECT_EQ(access.ticket_key(), "key");
  EXPECT_EQ(access.listen(), "127.0.1.2:0");
  EXPECT_EQ(access.ports(), "61000-61999");
  EXPECT_EQ(access.step(), 3u);
  EXPECT_EQ(access.generation(), 6u);
  EXPECT_EQ(access.gpu_variable(), "CUDA_VISIBLE_DEVICES");
  EXPECT_GT(access.launch_limit_us(), 0);
  ASSERT_EQ(access.places_size(), 2);
  EXPECT_EQ(access.places(0).cpus(), "0");
  EXPECT_EQ(access.places(1).cpus(), "1");
  EXPECT_EQ(access.places(0).mems(), "") << "memory is bound only where that is asked for";
  EXPECT_EQ(access.places(0).gpus(), "2");
  EXPECT_EQ(access.places(1).gpus(), "3");
}

TEST_F(AccessSpecTest, GpusCountWithinTheJobWhereOthersAreHidden) {
  node.constrain_devices = true;
  EXPECT_EQ(env()["CUDA_VISIBLE_DEVICES"], "1,2");
  EXPECT_EQ(env()["SLURM_STEP_GPUS"], "2,3");
  EXPECT_EQ(spec().access().places(1).gpus(), "2");
}

TEST_F(AccessSpecTest, TasksSeeAllGpusUnlessAskedOtherwise) {
  start.mutable_request()->clear_gpus_per_task();
  EXPECT_EQ(spec().access().places(0).gpus(), "");
  EXPECT_EQ(env()["CUDA_VISIBLE_DEVICES"], "2,3");
  start.mutable_share()->clear_gpus();
  EXPECT_EQ(spec().access().gpu_variable(), "");
  EXPECT_EQ(env().at("CUDA_VISIBLE_DEVICES"), "");
  EXPECT_FALSE(env().contains("SLURM_STEP_GPUS"));
}

TEST_F(AccessSpecTest, CoresOfAnEmulatedNodeAreOnlyRecorded) {
  EXPECT_FALSE(spec().access().binding().only_records());
  node.is_emulated = true;
  EXPECT_EQ(spec().access().places(0).cpus(), "0");
  EXPECT_TRUE(spec().access().binding().only_records());
  EXPECT_EQ(spec().access().places(1).gpus(), "3");
}

TEST_F(AccessSpecTest, TellsHowItsTasksAreBound) {
  auto have = env();
  EXPECT_EQ(have["SLURM_CPU_BIND"], "quiet,mask_cpu:0x1,0x2");
  EXPECT_EQ(have["SLURM_CPU_BIND_TYPE"], "mask_cpu:");
  EXPECT_EQ(have["SLURM_CPU_BIND_LIST"], "0x1,0x2");
  EXPECT_EQ(have["GANGWAY_CPU_BIND_VERBOSE"], "quiet");
  EXPECT_FALSE(have.contains("SLURM_MEM_BIND") || have.contains("SLURM_GPU_BIND"));
  start.mutable_request()->set_cpu_bind("verbose,none");
  start.mutable_request()->set_gpu_bind("verbose,map_gpu:1,0");
  start.mutable_request()->set_mem_bind("prefer,local");
  have = env();
  EXPECT_EQ(have["SLURM_CPU_BIND"], "verbose,none");
  EXPECT_EQ(have["SLURM_CPU_BIND_LIST"], "");
  EXPECT_EQ(have["SLURM_GPU_BIND"], "verbose,map_gpu:1,0");
  EXPECT_EQ(have["SLURM_MEM_BIND"], "quiet,mask_mem:0x100,0x100");
  EXPECT_EQ(have["SLURM_MEM_BIND_PREFER"], "prefer");
  const wire::StepAccess access = spec().access();
  EXPECT_EQ(access.places(0).cpus(), "");
  EXPECT_EQ(access.places(0).mems(), "8");
  EXPECT_EQ(access.places(0).gpus() + access.places(1).gpus(), "32");
  EXPECT_EQ(access.binding().cpu_kind(), "NONE");
  EXPECT_TRUE(access.binding().says_cpus() && access.binding().says_gpus() && access.binding().prefers_memory());
  EXPECT_FALSE(access.binding().says_memory());
}

TEST_F(AccessSpecTest, ABindingThatCannotBeIsToldToTheShepherd) {
  start.mutable_request()->set_cpu_bind("map_cpu:0,900");
  EXPECT_EQ(spec().access().places(0).problem(), "");
  EXPECT_NE(spec().access().places(1).problem().find("CPUs 900"), std::string::npos);
}

TEST_F(AccessSpecTest, LiesWithinItsJobAndIsBoundByNothingElse) {
  const wire::StepSpec s = spec();
  EXPECT_EQ(s.step(), "3");
  EXPECT_EQ(s.dir(), "/s/steps/7.2.s3");
  EXPECT_EQ(s.uid(), 1000u);
  EXPECT_EQ(s.lease_us(), 5);
  EXPECT_EQ(s.script(), "");
  EXPECT_FALSE(s.wait_for_go());
  EXPECT_EQ(s.containment().parent(), make_containment(node, prepare).group());
  EXPECT_EQ(s.containment().group(), s.containment().parent() + "/step_3");
  EXPECT_EQ(s.containment().kind(), "cgroup_v2");
  EXPECT_EQ(s.containment().cpus() + s.containment().mems(), "");
  EXPECT_EQ(s.containment().mem_limit_mb(), 0u);
  EXPECT_EQ(step_containment(node, {7, 2, 4}, "none").kind(), "none");
}

TEST_F(StepSpecTest, ChecksTheShare) {
  EXPECT_TRUE(check_share(node, prepare.share()));
  for (const char* bad : {"4", "x", "0-"}) {
    prepare.mutable_share()->set_cores(bad);
    EXPECT_FALSE(check_share(node, prepare.share())) << bad;
  }
  prepare.mutable_share()->set_cores("");
  prepare.mutable_share()->set_node("n9");
  EXPECT_FALSE(check_share(node, prepare.share()));
}

}  // namespace
}  // namespace gw::noded::testing
