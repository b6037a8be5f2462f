// A step that is suspended: frozen after it was told, or at once; resumes where it was; ends also when it is frozen.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <thread>

#include "harness.h"
#include "noded/step/proc/step_clock.h"
#include "noded/step/state/step_folder.h"

namespace gw::noded::step {
namespace {

wire::ToShepherd suspend(uint32_t round, int64_t grace_us = 0) {
  wire::ToShepherd m;
  m.mutable_suspend()->set_round(round);
  m.mutable_suspend()->set_grace_us(grace_us);
  return m;
}

wire::ToShepherd resume(uint32_t round) {
  wire::ToShepherd m;
  m.mutable_resume()->set_round(round);
  return m;
}

std::optional<wire::StepSuspended> wait_suspended(ShepherdPeer& peer, uint32_t round) {
  const auto m =
      peer.wait([&](const wire::FromShepherd& f) { return f.has_suspended() && f.suspended().round() == round; });
  return m ? std::optional(m->suspended()) : std::nullopt;
}

uint32_t task_of(const ShepherdPeer& peer) {
  for (const wire::FromShepherd& f : peer.seen())
    if (f.has_started()) return f.started().task_pid();
  return 0;
}

/// A signal may need a moment to stop a process that is on another core. A shell that waits for the child that it has
/// just forked (vfork) is not stopped itself: it waits (D) for the child, which is.
bool wait_stopped(uint32_t pid) {
  for (const int64_t end = monotonic_us() + kDeadlineMs * 1000; monotonic_us() < end; std::this_thread::yield()) {
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    const std::string text((std::istreambuf_iterator<char>(stat)), {});
    const char state = text.at(text.rfind(')') + 2);
    if (state == 'T' || state == 'D') return true;
  }
  return false;
}

TEST(Suspend, StandsStillAndGoesOn) {
  Node node;
  const wire::StepSpec spec = node.step("echo up > $D/up; while [ ! -e $D/go ]; do sleep 0.02; done; exit 5");
  ShepherdPeer peer = node.launch(spec);
  ASSERT_TRUE(wait_started(peer));
  ASSERT_EQ(wait_line(node.dir() + "/up"), "up");
  peer.send(suspend(1));
  const auto said = wait_suspended(peer, 1);
  ASSERT_TRUE(said);
  EXPECT_EQ(said->problem(), "");
  EXPECT_TRUE(wait_stopped(task_of(peer)));
  ShepherdPeer again(spec.dir() + "/sock");
  EXPECT_TRUE(wait_suspended(again, 1)) << "whoever connects hears of it";
  std::ofstream(node.dir() + "/go").close();
  peer.send(resume(1));
  const auto exit = wait_exit(peer);
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->code(), 5);
}

TEST(Suspend, WhoIsToldHasItsGraceAndIsFrozenThen) {
  Node node;
  wire::StepSpec spec = node.step(
      "trap 'cat $GANGWAY_PREEMPT_FILE > $D/told.new; mv $D/told.new $D/told' USR1; echo up > $D/up; "
      "while [ ! -e $D/go ]; do sleep 0.02; done; [ -e $GANGWAY_PREEMPT_FILE ] || exit 6");
  spec.add_env("GANGWAY_PREEMPT_FILE=" + spec.dir() + "/" + kPreemptFile);
  ShepherdPeer peer = node.launch(spec);
  ASSERT_TRUE(wait_started(peer));
  ASSERT_EQ(wait_line(node.dir() + "/up"), "up");
  wire::Stop order;
  order.set_preempted_for(17);
  order.set_signo(SIGUSR1);
  ASSERT_TRUE(record_order(spec.dir(), order));
  peer.send(suspend(1, 4'000'000));
  ASSERT_TRUE(wait_suspended(peer, 1));
  const auto told = nlohmann::json::parse(node.file("told"));
  EXPECT_EQ(told["by_job"], 17);
  EXPECT_EQ(told["what"], "suspend");
  std::ofstream(node.dir() + "/go").close();
  peer.send(resume(1));
  const auto exit = wait_exit(peer);
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->code(), 6) << "the file is gone when it resumes";
}

TEST(Suspend, WhatWasSaidThenSaysNothingOfALaterEnd) {
  Node node;
  const wire::StepSpec spec =
      node.step("trap 'exit 8' USR1; trap 'exit 9' TERM; echo up > $D/up; while :; do sleep 0.02; done");
  ShepherdPeer peer = node.launch(spec);
  ASSERT_TRUE(wait_started(peer));
  ASSERT_EQ(wait_line(node.dir() + "/up"), "up");
  wire::Stop order;
  order.set_preempted_for(17);
  order.set_signo(SIGUSR1);
  ASSERT_TRUE(record_order(spec.dir(), order));
  peer.send(suspend(1));  // without a grace: it is not told
  ASSERT_TRUE(wait_suspended(peer, 1));
  peer.send(resume(1));
  peer.send(stop(600'000'000));
  const auto exit = wait_exit(peer);
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->code(), 9) << "it is cancelled, and preempted for nobody";
  EXPECT_NE(::access((spec.dir() + "/" + kPreemptFile).c_str(), F_OK), 0);
}

TEST(Suspend, WordsThatComeBeforeItRunsCount) {
  Node node;
  wire::StepSpec spec = node.step("echo up > $D/up; exit 5");
  spec.set_wait_for_go(true);
  ShepherdPeer peer = node.launch(spec);
  peer.send(suspend(1));
  peer.send(suspend(2));
  peer.send(resume(1));
  peer.send(go());
  ASSERT_TRUE(wait_suspended(peer, 2));
  peer.send(resume(2));
  const auto exit = wait_exit(peer);
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->code(), 5);
}

TEST(Suspend, LateWordsChangeNothing) {
  Node node;
  const wire::StepSpec spec = node.step("echo up > $D/up; while [ ! -e $D/go ]; do sleep 0.02; done");
  ShepherdPeer peer = node.launch(spec);
  ASSERT_TRUE(wait_started(peer));
  peer.send(suspend(2));
  ASSERT_TRUE(wait_suspended(peer, 2));
  peer.send(resume(1));
  peer.send(suspend(1));
  ShepherdPeer again(spec.dir() + "/sock");
  ASSERT_TRUE(wait_suspended(again, 2));
  EXPECT_TRUE(wait_stopped(task_of(peer)));
}

TEST(Suspend, AFrozenOneCanBeEnded) {
  for (const std::string& kind : usable_kinds()) {
    Node node(kind);
    const wire::StepSpec spec = node.step("trap 'exit 7' TERM; echo up > $D/up; while :; do sleep 0.02; done");
    ShepherdPeer peer = node.launch(spec);
    ASSERT_TRUE(wait_started(peer));
    ASSERT_EQ(wait_line(node.dir() + "/up"), "up");
    peer.send(suspend(1));
    ASSERT_TRUE(wait_suspended(peer, 1));
    peer.send(stop(600'000'000));
    const auto exit = wait_exit(peer);
    ASSERT_TRUE(exit);
    EXPECT_EQ(exit->code(), 7) << kind;
  }
}

}  // namespace
}  // namespace gw::noded::step
