// Administrators' programs below gstepd: how they end, and what ends with them.
#include "noded/step/proc/supervise.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "noded/step/proc/tree.h"

namespace gw::noded::step::proc {
namespace {

constexpr const char* kLong = "60000000";

class Supervise : public ::testing::Test {
 protected:
  void SetUp() override {
    char folder[] = "/tmp/gw_supervise_XXXXXX";
    ASSERT_NE(::mkdtemp(folder), nullptr);
    folder_ = folder;
    ASSERT_EQ(::mkfifo((folder_ + "/own").c_str(), 0600), 0);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string script(const std::string& text) const {
    const std::string path = folder_ + "/program";
    std::ofstream(path) << "#!/bin/sh\ncd " << folder_ << "\n" << text;
    ::chmod(path.c_str(), 0755);
    return path;
  }
  /// A process that supervises for the parent.
  static pid_t begin(std::vector<std::string> words, pid_t parent) {
    words.insert(words.begin(), std::to_string(parent));
    const pid_t pid = ::fork();
    if (pid != 0) return pid;
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    ::_exit(supervise(static_cast<int>(words.size()), argv.data()));
  }
  static int code_of(pid_t pid) {
    int status = 0;
    return ::waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  static int run(std::vector<std::string> words) { return code_of(begin(std::move(words), ::getpid())); }

  /// The pid that the script writes into the pipe `own`; waits for it.
  pid_t told_pid() const {
    pid_t pid = 0;
    std::ifstream(folder_ + "/own") >> pid;
    return pid;
  }
  static bool is_alive(pid_t pid) {
    const auto process = inspect(pid);
    return process && process->is_alive();
  }

  std::string folder_;
};

TEST_F(Supervise, TheExitCodeIsTheProgramsOwn) {
  EXPECT_EQ(run({kLong, script("exit 0")}), 0);
  EXPECT_EQ(run({kLong, script("exit $#"), "a", "b c"}), 2);
  EXPECT_EQ(run({kLong, script("kill -9 $$")}), 128 + SIGKILL);
}

TEST_F(Supervise, WhatCannotBeRunIsToldByItsCode) {
  EXPECT_EQ(run({kLong, folder_ + "/nothing"}), 126);
  EXPECT_EQ(run({kLong, "relative"}), 125);
  EXPECT_EQ(run({"0", script("exit 0")}), 125);
  EXPECT_EQ(run({"soon", script("exit 0")}), 125);
  EXPECT_EQ(run({kLong}), 125);
}

TEST_F(Supervise, AtTheLimitAllThatItStartedIsKilledWhereverItHid) {
  const std::string path = script("trap '' TERM\nsetsid sh -c 'echo $$ > own; exec sleep 1000' &\nwait\nsleep 1000");
  const pid_t supervisor = begin({"300000", path}, ::getpid());
  const pid_t hidden = told_pid();
  EXPECT_EQ(code_of(supervisor), kTimeOverCode);
  EXPECT_FALSE(is_alive(hidden));
}

TEST_F(Supervise, WhatItLeavesWhenItEndsByItselfStays) {
  ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  const pid_t supervisor = begin({kLong, script("sleep 1000 > /dev/null 2>&1 &\necho $! > own")}, ::getpid());
  const pid_t service = told_pid();
  EXPECT_EQ(code_of(supervisor), 0);
  EXPECT_TRUE(is_alive(service));
  ::kill(service, SIGKILL);
  ::waitpid(service, nullptr, 0);
}

TEST_F(Supervise, TheProgramEndsWithWhomItIsRunFor) {
  ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  const std::string path = script("trap '' TERM\necho $$ > own\nsleep 1000");
  const pid_t daemon = ::fork();
  if (daemon == 0) {
    begin({kLong, path}, ::getpid());
    ::pause();
    ::_exit(0);
  }
  const pid_t program = told_pid();
  ::kill(daemon, SIGKILL);
  EXPECT_EQ(code_of(daemon), -1);
  int status = 0;
  const pid_t supervisor = ::waitpid(-1, &status, 0);  // it has come to this process
  EXPECT_GT(supervisor, 0);
  EXPECT_EQ(WEXITSTATUS(status), kTimeOverCode);
  EXPECT_FALSE(is_alive(program));
}

TEST_F(Supervise, NothingIsStartedForWhoHasEnded) {
  EXPECT_EQ(code_of(begin({kLong, script("touch began")}, ::getppid())), kTimeOverCode);
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/began"));
}

}  // namespace
}  // namespace gw::noded::step::proc
