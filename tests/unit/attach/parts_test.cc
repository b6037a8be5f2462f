// The parts of a step's client that need no shepherd: lines, sinks, codes, ctrl-C, ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "attach/local/interrupts.h"
#include "attach/ranks.h"
#include "tests/unit/attach/fake_step.h"

namespace gw::attach {
namespace {

using testing::ElementsAre;

TEST(Interrupts, OnceShowsTwiceEndsThriceKills) {
  Interrupts i(true);
  using Act = Interrupts::Act;
  EXPECT_EQ(i.next(base::seconds(10)), Act::kShow);
  EXPECT_EQ(i.next(base::seconds(12)), Act::kShow);
  EXPECT_EQ(i.next(base::seconds(13)), Act::kEnd);
  EXPECT_EQ(i.next(base::seconds(90)), Act::kKill);
  Interrupts at_once(false);
  EXPECT_EQ(at_once.next({}), Act::kEnd);
  EXPECT_EQ(at_once.next({}), Act::kKill);
}

TEST(TaskTable, SaysWhoRunsAndHowTheyEnded) {
  TaskTable t({"a", "a", "b", "b", "b"});
  t.on_started(0);
  t.on_started(1);
  t.on_started(3);
  t.on_started(4);
  t.on_ended(4, 0, 0);
  t.on_ended(3, 2, 0);
  t.on_ended(3, 9, 0);   // only once
  t.on_ended(99, 9, 0);  // nobody
  EXPECT_THAT(t.state_lines("7.0"), ElementsAre("step:7.0 task 2: not started", "step:7.0 tasks 0-1: running",
                                                "step:7.0 task 4: exited", "step:7.0 task 3: exited abnormally"));
  EXPECT_THAT(t.take_bad_ends(), ElementsAre("b: task 3: Exited with exit code 2"));
  EXPECT_THAT(t.take_bad_ends(), ElementsAre());
  EXPECT_EQ(t.exit_code(), 2);
  t.on_ended(0, 0, SIGKILL);
  EXPECT_EQ(t.exit_code(), 128 + SIGKILL);
  EXPECT_EQ(t.own_exit_code(), 2);
  EXPECT_EQ(t.ended(), 3u);
  t.on_ended(1, 0, SIGSEGV);
  EXPECT_EQ(t.own_exit_code(), 128 + SIGSEGV);
}

TEST(Ranks, AreConsecutiveOrInTurn) {
  using testing::ElementsAre;
  EXPECT_THAT(distribute({2, 1, 2}, {kBlock}), ElementsAre(ElementsAre(0, 1), ElementsAre(2), ElementsAre(3, 4)));
  EXPECT_THAT(distribute({2, 1, 2}, {kCyclic}), ElementsAre(ElementsAre(0, 3), ElementsAre(1), ElementsAre(2, 4)));
  EXPECT_THAT(distribute({}, {kCyclic}), ElementsAre());
}

TEST(Ranks, GoByPlanes) {
  using testing::ElementsAre;
  EXPECT_THAT(distribute({4, 4, 2}, {2}),
              ElementsAre(ElementsAre(0, 1, 6, 7), ElementsAre(2, 3, 8, 9), ElementsAre(4, 5)));
  EXPECT_THAT(distribute({1, 3}, {2}), ElementsAre(ElementsAre(0), ElementsAre(1, 2, 3)));
  EXPECT_THAT(distribute({2, 2}, {100}), ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3)));
}

TEST(Ranks, GoWhereTheListOfHostsSays) {
  using testing::ElementsAre;
  EXPECT_THAT(distribute({2, 3}, {0, {1, 0, 1, 1, 0}}), ElementsAre(ElementsAre(1, 4), ElementsAre(0, 2, 3)));
  EXPECT_THAT(distribute({3, 2}, {0, {1, 0, 1, 1, 0}}), ElementsAre(ElementsAre(0, 1, 2), ElementsAre(3, 4)))
      << "not the numbers of the list: by planes";
  EXPECT_THAT(distribute({1}, {0, {9, 9, 0}}), ElementsAre(ElementsAre(0))) << "nodes that there are none of";
}

TEST(Ranks, OfAStepFollowItsRequest) {
  using testing::ElementsAre;
  wire::Step step;
  for (const char* name : {"a", "b"}) step.add_nodes()->mutable_share()->set_node(name);
  for (const char* host : {"b", "a", "b"}) step.mutable_request()->add_hosts(host);
  EXPECT_THAT(distribution_of(step).nodes_of, ElementsAre(1, 0, 1));
  step.mutable_request()->clear_hosts();
  step.mutable_request()->set_cyclic(true);
  EXPECT_EQ(distribution_of(step).plane, kCyclic) << "of a client before planes";
  step.mutable_request()->set_plane(3);
  EXPECT_EQ(distribution_of(step).plane, 3U);
}

/// Two writers to one sink.
struct Lines {
  io::Loop loop;
  Pipe pipe;
  Sink sink{loop, Descriptor::for_writing(pipe.write.get()), "out"};
  SharedLine line;
  std::string text() {
    char bytes[65536];
    const ssize_t n = ::read(pipe.read.get(), bytes, sizeof bytes);
    return {bytes, n > 0 ? static_cast<size_t>(n) : 0};
  }
};

TEST(LineWriter, LabelsAreAsWideAsTheLargestRank) {
  EXPECT_EQ(label_of(3, 4), "3: ");
  EXPECT_EQ(label_of(3, 11), " 3: ");
  EXPECT_EQ(label_of(10, 11), "10: ");
}

TEST(LineWriter, AnUnfinishedLineWaitsForItsEnd) {
  Lines l;
  LineWriter a(l.sink, l.line, {"", true}), b(l.sink, l.line, {"", true});
  EXPECT_EQ(a.feed("a1"), 2u);
  EXPECT_EQ(b.feed("b1\nb2"), 5u);
  EXPECT_EQ(l.text(), "b1\n");
  a.feed("a1\n");
  EXPECT_EQ(l.text(), "a1a1\n");
  b.finish();
  EXPECT_EQ(l.text(), "b2");
}

TEST(LineWriter, ALongLabelledLineIsCutByOthersVisibly) {
  Lines l;
  LineWriter a(l.sink, l.line, {"0: ", true}), b(l.sink, l.line, {"1: ", true});
  const std::string part(kLongestLine, 'x');
  a.feed(part);
  b.feed("b\n");
  a.feed("end\n");
  EXPECT_EQ(l.text(), "0: " + part + "\n1: b\n0: end\n");
  a.feed("last");
  a.finish();
  b.finish();
  EXPECT_EQ(l.text(), "0: last\n");
}

TEST(Sink, WhatASlowReaderLeavesWaitsThere) {
  Lines l;
  const std::string text(200'000, 'x');
  const size_t taken = l.sink.write(text);
  EXPECT_LT(taken, text.size());
  EXPECT_FALSE(l.sink.is_ready());
  EXPECT_EQ(l.sink.write("more"), 0u);
  l.sink.put("end");
  bool is_ready = false;
  l.sink.on_ready([&] { is_ready = true; });
  std::string got;
  ASSERT_TRUE(l.loop.run_until(
      [&] {
        got += l.text();
        return is_ready && got.size() == taken + 3;
      },
      kTestLimit));
  EXPECT_TRUE(got.ends_with("xend"));
  EXPECT_TRUE(l.sink.is_flushed());
  EXPECT_EQ(::fcntl(l.pipe.write.get(), F_GETFL) & O_NONBLOCK, 0);
}

}  // namespace
}  // namespace gw::attach
