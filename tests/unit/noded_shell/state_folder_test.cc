// The state folder of a node daemon.
#include "noded/shell/state_folder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "noded/shell/step_name.h"
#include "noded/step/state/step_folder.h"

namespace gw::noded {
namespace {

namespace fs = std::filesystem;

class StateFolderTest : public ::testing::Test {
 protected:
  StateFolderTest() {
    char name[] = "/tmp/gwXXXXXX";
    dir_ = ::mkdtemp(name);
  }
  ~StateFolderTest() override { fs::remove_all(dir_); }

  static wire::RunRecord record(uint32_t job) {
    wire::RunRecord r;
    r.set_job(job);
    r.set_attempt(1);
    r.set_boot_id("b");
    return r;
  }
  std::string dir_;
};

TEST_F(StateFolderTest, OneDaemonAtATime) {
  auto first = StateFolder::open(dir_);
  ASSERT_TRUE(first) << first.error().text();
  const auto second = StateFolder::open(dir_);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().what.find("pid " + std::to_string(::getpid())), std::string::npos);
  { const StateFolder gone = std::move(*first); }
  EXPECT_TRUE(StateFolder::open(dir_));
}

TEST_F(StateFolderTest, RefusesPathsThatSocketsDoNotFitIn) {
  const auto folder = StateFolder::open("/tmp/" + std::string(80, 'x'));
  ASSERT_FALSE(folder);
  EXPECT_NE(folder.error().hint.find("--state-dir"), std::string::npos);
  EXPECT_FALSE(fs::exists("/tmp/" + std::string(80, 'x')));
}

TEST_F(StateFolderTest, FindsWhatAnEarlierDaemonLeft) {
  const auto folder = StateFolder::open(dir_);
  ASSERT_TRUE(folder);
  ASSERT_TRUE(folder->save(record(7)));
  ASSERT_TRUE(folder->save(record(8)));
  folder->forget({8, 1});
  std::ofstream(dir_ + "/runs/9.2.pb") << "garbage";
  std::ofstream(dir_ + "/runs/7.1.pb.new") << "left by a crash";
  fs::create_directory(dir_ + "/steps/10.3");
  wire::StepExit exit;
  exit.set_code(4);
  ASSERT_TRUE(step::record_exit(dir_ + "/steps/10.3", exit));
  const auto found = folder->scan("now");
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].record.boot_id(), "b");
  EXPECT_FALSE(found[0].has_step_dir);
  EXPECT_EQ(found[1].record.job(), 9u);
  EXPECT_EQ(found[1].record.boot_id(), "now");
  EXPECT_TRUE(found[1].record.has_script());
  EXPECT_TRUE(found[2].has_step_dir);
  EXPECT_FALSE(found[2].shepherd_answers);
  ASSERT_TRUE(found[2].exit);
  EXPECT_EQ(found[2].exit->code(), 4);
}

TEST_F(StateFolderTest, WhatAPowerFailureLeftUnreadableIsOfTheBootBeforeIt) {
  const auto folder = StateFolder::open(dir_);
  ASSERT_TRUE(folder);
  EXPECT_TRUE(folder->scan("first boot").empty());
  std::ofstream(dir_ + "/runs/9.1.pb") << "";
  fs::create_directory(dir_ + "/steps/10.1");
  for (int daemon = 0; daemon < 2; ++daemon) {
    const auto found = folder->scan("second boot");
    ASSERT_EQ(found.size(), 2u);
    for (const RecoveredRun& run : found) EXPECT_EQ(run.record.boot_id(), "first boot") << daemon;
  }
  std::ofstream(dir_ + "/runs/11.1.pb") << "garbage";  // by a daemon of this boot
  EXPECT_EQ(folder->scan("second boot").back().record.boot_id(), "second boot");
}

TEST_F(StateFolderTest, FindsStepsBesideTheirJob) {
  const auto folder = StateFolder::open(dir_);
  ASSERT_TRUE(folder);
  wire::RunRecord step = record(7);
  step.set_step(1);
  ASSERT_TRUE(folder->save(record(7)));
  ASSERT_TRUE(folder->save(step));
  step.set_step(UINT32_MAX);
  ASSERT_TRUE(folder->save(step));
  std::ofstream(dir_ + "/runs/7.1.s9.pb") << "garbage";
  for (const char* name : {"7.1.s2", "7.1.s", "7.1.x3", "7.1.s3x", "7.1.sbatch", "7.1.s4294967295", "7.1.3"})
    fs::create_directory(dir_ + "/steps/" + name);
  std::vector<std::string> names;
  for (const RecoveredRun& run : folder->scan("b")) {
    names.push_back(RunKey::of(run.record).text());
    EXPECT_EQ(run.has_step_dir, names.back() == "7.1.s2") << names.back();
  }
  EXPECT_EQ(names, (std::vector<std::string>{"7.1", "7.1.s0", "7.1.s2", "7.1.s9", "7.1.s4294967294"}));
  EXPECT_EQ(folder->step_socket({7, 1, 3}), dir_ + "/steps/7.1.s2/sock");
  folder->forget({7, 1, 1});
  EXPECT_FALSE(fs::exists(dir_ + "/runs/7.1.s0.pb"));
  EXPECT_TRUE(fs::exists(dir_ + "/runs/7.1.pb"));
}

TEST(StepName, IsTheLaunchersWord) {
  EXPECT_EQ(step_of("batch"), 0u);
  for (const uint32_t step : {0U, 1U, 4U, UINT32_MAX}) EXPECT_EQ(step_of(RunKey{7, 1, step}.step_name()), step);
  for (const char* other : {"", "extern", "-1", "3x", "4294967295", "99999999999"})
    EXPECT_FALSE(step_of(other)) << other;
}

TEST_F(StateFolderTest, AnEmulatedNodeRebootsWhenItsFileGoes) {
  const auto folder = StateFolder::open(dir_);
  ASSERT_TRUE(folder);
  const std::string first = folder->boot_id(true);
  EXPECT_EQ(folder->boot_id(true), first);
  EXPECT_TRUE(first.starts_with(folder->boot_id(false)));
  fs::remove(dir_ + "/boot_id");
  EXPECT_NE(folder->boot_id(true), first);
}

/// What ran there is dead.
TEST_F(StateFolderTest, AnEmulatedNodeRebootsWithItsHost) {
  const auto folder = StateFolder::open(dir_);
  ASSERT_TRUE(folder);
  const std::string first = folder->boot_id(true);
  const std::string of_another_boot = std::string(first.size(), 'x');
  std::ofstream(dir_ + "/boot_id") << of_another_boot << '\n';
  const std::string second = folder->boot_id(true);
  EXPECT_NE(second, of_another_boot);
  EXPECT_TRUE(second.starts_with(folder->boot_id(false)));
}

}  // namespace
}  // namespace gw::noded
