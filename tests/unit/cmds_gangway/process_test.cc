// Finding daemons by pid files: a pid file that names a stranger must never lead to a signal.
#include "cmds/gangway/shared/process.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace gw::cmds {
namespace {

class Processes : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(mkdtemp(folder_.data()), nullptr); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  static void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

  std::string folder_ = "/tmp/gw-process-test-XXXXXX";
};

TEST_F(Processes, IgnoresPidFilesThatNameStrangers) {
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  write(path("x.pid"), std::to_string(child) + "\n");
  EXPECT_FALSE(find_by_pid_file(path("x.pid")));
  EXPECT_TRUE(stop_by_pid_file(path("x.pid"), 100));
  EXPECT_EQ(waitpid(child, nullptr, WNOHANG), 0) << "a stranger was ended";
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST_F(Processes, WaitsForTheLastOfAProgramInAFolder) {
  const std::string pid_file = path("sh.pid");
  EXPECT_TRUE(wait_for_last_of("sh", folder_, 0));
  const pid_t child = fork();
  if (child == 0) {
    execl("/bin/sh", "sh", "-c", "while :; do sleep 1; done", pid_file.c_str(), nullptr);
    _exit(1);
  }
  while (wait_for_last_of("sh", folder_, 0)) ASSERT_EQ(waitpid(child, nullptr, WNOHANG), 0) << "until it is the shell";
  EXPECT_TRUE(wait_for_last_of("bash", folder_, 0)) << "another program";
  EXPECT_TRUE(wait_for_last_of("sh", folder_.substr(0, folder_.size() - 1), 0)) << "another folder";
  kill(child, SIGKILL);
  EXPECT_TRUE(wait_for_last_of("sh", folder_, 10'000));
  waitpid(child, nullptr, 0);
}

TEST_F(Processes, IgnoresDamagedPidFiles) {
  for (const char* text : {"", "abc", "-1", "0", "1", "99999999999999999999", "12 34"}) {
    write(path("x.pid"), text);
    EXPECT_FALSE(find_by_pid_file(path("x.pid"))) << text;
    EXPECT_TRUE(stop_by_pid_file(path("x.pid"), 100)) << text;
  }
  EXPECT_FALSE(find_by_pid_file(path("none.pid")));
}

TEST_F(Processes, StartsFindsAndEndsAProgram) {
  const std::string pid_file = path("sh.pid");
  const std::string script =
      "trap '' TERM; mkfifo \"$0\".f; echo started; echo $$ > \"$0\".new; mv \"$0\".new \"$0\"; read x < \"$0\".f";
  const Program program{"sh", {"/bin/sh", "-c", script, pid_file}, pid_file, path("out")};
  const auto pid = start_detached(program);
  ASSERT_TRUE(pid);
  while (!find_by_pid_file(pid_file) && !has_exited(*pid)) {
  }
  EXPECT_EQ(find_by_pid_file(pid_file), *pid);
  EXPECT_EQ(getsid(*pid), *pid);
  EXPECT_EQ(tail_of(path("out"), 5), "started");
  EXPECT_TRUE(stop_by_pid_file(pid_file, 50)) << "SIGKILL must follow a SIGTERM that is ignored";
  EXPECT_TRUE(has_exited(*pid));
  EXPECT_FALSE(find_by_pid_file(pid_file));
}

TEST_F(Processes, ShowsTheEndOfAFile) {
  write(path("log"), "one\ntwo\nthree\n");
  EXPECT_EQ(tail_of(path("log"), 2), "two\nthree");
  EXPECT_EQ(tail_of(path("log"), 10), "one\ntwo\nthree");
  EXPECT_EQ(tail_of(path("none"), 10), "");
}

}  // namespace
}  // namespace gw::cmds
