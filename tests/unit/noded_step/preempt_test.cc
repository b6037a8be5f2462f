// A preempted step: told why in a file, then by a signal of its own; killed when its grace is over.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>
#include <nlohmann/json.hpp>

#include "harness.h"
#include "noded/step/state/step_folder.h"

namespace gw::noded::step {
namespace {

wire::Stop order(uint32_t beneficiary, int signo) {
  wire::Stop m;
  m.set_preempted_for(beneficiary);
  m.set_preempt_rule(5);
  m.set_signo(signo);
  return m;
}

std::string notice_path(const wire::StepSpec& spec) { return spec.dir() + "/" + kPreemptFile; }

/// A step that knows where it is told, and copies what it reads there when the signal comes.
wire::StepSpec listener(Node& node, const std::string& signal, const std::string& then) {
  wire::StepSpec spec = node.step("trap 'cat $GANGWAY_PREEMPT_FILE > $D/told; " + then + "' " + signal +
                                  "; echo up > $D/up; while :; do sleep 0.05; done");
  spec.add_env("GANGWAY_PREEMPT_FILE=" + notice_path(spec));
  return spec;
}

void finish(Node& node, ShepherdPeer& peer, const wire::StepSpec& spec) {
  ASSERT_TRUE(wait_clean(peer));
  peer.send(forget());
  EXPECT_TRUE(peer.wait_closed());
  const auto gone = wait_gone(node.launcher(), spec.job());
  ASSERT_TRUE(gone);
  EXPECT_EQ(gone->code(), 0);  // its folder is gone with all that was in it
}

TEST(Preempt, TheFileIsThereBeforeTheSignal) {
  Node node;
  wire::StepSpec spec = listener(node, "USR1", "exit 3");
  spec.add_env("GANGWAY_ON_PREEMPT=checkpoint");
  ShepherdPeer peer = node.launch(spec);
  ASSERT_EQ(wait_line(node.dir() + "/up"), "up");
  EXPECT_NE(::access(notice_path(spec).c_str(), F_OK), 0);
  const int64_t before = std::time(nullptr);
  ASSERT_TRUE(record_order(spec.dir(), order(17, SIGUSR1)));
  peer.send(stop(600'000'000));
  const auto exit = wait_exit(peer);
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->code(), 3);
  const auto told = nlohmann::json::parse(node.file("told"));
  EXPECT_EQ(told["reason"], "preempted");
  EXPECT_EQ(told["by_job"], 17);
  EXPECT_EQ(told["rule"], 5);
  EXPECT_EQ(told["grace_seconds"], 600);
  EXPECT_EQ(told["what"], "checkpoint");
  const int64_t until = told["until_unix"];
  EXPECT_GE(until, before + 599);
  EXPECT_LE(until, std::time(nullptr) + 601);
  tm parts{};
  ASSERT_NE(::strptime(std::string(told["until"]).c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts), nullptr);
  EXPECT_EQ(::timegm(&parts), until);
  struct stat file {};
  ASSERT_EQ(::stat(notice_path(spec).c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0400U);
  EXPECT_EQ(file.st_uid, spec.uid());
  finish(node, peer, spec);
}

TEST(Preempt, WithoutASignalOfItsOwnItGetsSigterm) {
  Node node;
  const wire::StepSpec spec = listener(node, "TERM", "exit 4");
  ShepherdPeer peer = node.launch(spec);
  ASSERT_EQ(wait_line(node.dir() + "/up"), "up");
  ASSERT_TRUE(record_order(spec.dir(), order(17, 0)));
  peer.send(stop(600'000'000));
  const auto exit = wait_exit(peer);
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->code(), 4);
  EXPECT_EQ(nlohmann::json::parse(node.file("told"))["what"], "requeue");
  finish(node, peer, spec);
}

TEST(Preempt, WhoIsToldAgainKeepsItsFirstGrace) {
  Node node;
  const wire::StepSpec spec = listener(node, "USR1", "echo told > $D/line");
  ShepherdPeer peer = node.launch(spec);
  ASSERT_EQ(wait_line(node.dir() + "/up"), "up");
  ASSERT_TRUE(record_order(spec.dir(), order(17, SIGUSR1)));
  peer.send(stop(500'000));
  ASSERT_EQ(wait_line(node.dir() + "/line"), "told");
  const std::string told = node.file("told");
  ShepherdPeer again(spec.dir() + "/sock");  // as a daemon does that was started anew
  ASSERT_TRUE(record_order(spec.dir(), order(18, SIGUSR2)));
  again.send(stop(600'000'000));
  const auto exit = wait_exit(peer);  // it continues: only SIGKILL ends it
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->signo(), SIGKILL);
  EXPECT_EQ(node.file("told"), told);
  finish(node, peer, spec);
}

TEST(Preempt, OtherEndsLeaveNoFile) {
  Node node;
  const wire::StepSpec spec = listener(node, "TERM", "ls $GANGWAY_PREEMPT_FILE >> $D/told 2>&1; exit 5");
  ShepherdPeer peer = node.launch(spec);
  ASSERT_EQ(wait_line(node.dir() + "/up"), "up");
  peer.send(stop(600'000'000));
  const auto exit = wait_exit(peer);
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->code(), 5);
  EXPECT_NE(::access(notice_path(spec).c_str(), F_OK), 0);
  finish(node, peer, spec);
}

TEST(Preempt, ALinkInTheWayIsNotFollowed) {
  Node node;
  const wire::StepSpec spec = listener(node, "TERM", "exit 6");
  ShepherdPeer peer = node.launch(spec);
  ASSERT_EQ(wait_line(node.dir() + "/up"), "up");
  const std::string precious = node.dir() + "/precious";
  ASSERT_EQ(::symlink(precious.c_str(), (notice_path(spec) + ".new").c_str()), 0);
  ASSERT_TRUE(record_order(spec.dir(), order(17, 0)));
  peer.send(stop(600'000'000));
  ASSERT_TRUE(wait_exit(peer));
  EXPECT_NE(::access(precious.c_str(), F_OK), 0);
  EXPECT_EQ(nlohmann::json::parse(node.file("told"))["by_job"], 17);
  finish(node, peer, spec);
}

}  // namespace
}  // namespace gw::noded::step
