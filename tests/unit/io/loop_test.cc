// The event loop: timers, deferred and posted work, signals, descriptors, and handles that go at awkward moments.
#include "io/loop.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <thread>
#include <vector>

#include "io/fd.h"

namespace gw::io {
namespace {

using base::milliseconds;
constexpr base::Duration kLimit = base::seconds(10);

struct Pipe {
  Pipe() {
    int fds[2];
    EXPECT_EQ(pipe2(fds, O_NONBLOCK | O_CLOEXEC), 0);
    read.reset(fds[0]);
    write.reset(fds[1]);
  }
  Fd read, write;
};

TEST(Loop, TellsHowLongItsTurnsTook) {
  Loop loop;
  constexpr base::Duration kBusy = milliseconds(30);
  const Timer waited = loop.after(milliseconds(1), [&] {
    const auto begun = Loop::monotonic();
    while (Loop::monotonic() - begun < kBusy) {
    }
    loop.stop();
  });
  loop.run();
  const Loop::Figures figures = loop.figures();
  EXPECT_GE(figures.longest, kBusy);
  EXPECT_GE(figures.busy, figures.longest);
  EXPECT_GT(figures.cpu.us, 0);
}

TEST(Loop, TimersFireInOrderAndNotEarly) {
  Loop loop;
  std::vector<int> order;
  const auto start = Loop::monotonic();
  base::Duration fired_at{};
  const Timer late = loop.after(milliseconds(20), [&] {
    order.push_back(2);
    fired_at = Loop::monotonic();
  });
  const Timer soon = loop.after(milliseconds(1), [&] { order.push_back(1); });
  ASSERT_TRUE(loop.run_until([&] { return order.size() == 2; }, kLimit));
  EXPECT_EQ(order, (std::vector{1, 2}));
  EXPECT_GE((fired_at - start).us, 20'000);
  EXPECT_FALSE(late.is_active());
}

TEST(Loop, CancelledAndDestroyedTimersDoNotFire) {
  Loop loop;
  bool fired = false, done = false;
  Timer cancelled = loop.after(milliseconds(1), [&] { fired = true; });
  cancelled.cancel();
  {
    const Timer gone = loop.after(milliseconds(1), [&] { fired = true; });
  }
  Timer replaced = loop.after(milliseconds(1), [&] { fired = true; });
  replaced = loop.after(milliseconds(5), [&] { done = true; });
  ASSERT_TRUE(loop.run_until([&] { return done; }, kLimit));
  EXPECT_FALSE(fired);
}

TEST(Loop, ATimerMayDestroyItselfAndOthers) {
  Loop loop;
  bool other_fired = false, done = false;
  auto self = std::make_unique<Timer>();
  auto other = std::make_unique<Timer>(loop.after(milliseconds(2), [&] { other_fired = true; }));
  *self = loop.after(milliseconds(1), [&] {
    other.reset();
    self.reset();
  });
  const Timer end = loop.after(milliseconds(10), [&] { done = true; });
  ASSERT_TRUE(loop.run_until([&] { return done; }, kLimit));
  EXPECT_FALSE(other_fired);
}

TEST(Loop, DeferredWorkRunsInOrderAndNestedWorkWaitsForTheNextRound) {
  Loop loop;
  std::vector<int> order;
  loop.defer([&] {
    order.push_back(1);
    loop.defer([&] { order.push_back(3); });
  });
  loop.defer([&] { order.push_back(2); });
  EXPECT_TRUE(order.empty());
  ASSERT_TRUE(loop.run_until([&] { return order.size() == 3; }, kLimit));
  EXPECT_EQ(order, (std::vector{1, 2, 3}));
}

TEST(Loop, EndlessDeferringStarvesNobody) {
  Loop loop;
  bool fired = false;
  std::function<void()> again = [&] { loop.defer(again); };
  loop.defer(again);
  Pipe pipe;
  const Watch watch = loop.watch_readable(pipe.read.get(), [&] { fired = true; });
  ASSERT_EQ(write(pipe.write.get(), "x", 1), 1);
  EXPECT_TRUE(loop.run_until([&] { return fired; }, kLimit));
}

TEST(Loop, PostedWorkOfManyThreadsAllArrivesOnTheLoop) {
  Loop loop;
  constexpr int kThreads = 4, kEach = 500;
  int count = 0;
  const auto home = std::this_thread::get_id();
  bool elsewhere = false;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, poster = loop.poster()] {
      for (int i = 0; i < kEach; ++i) {
        poster.post([&] {
          ++count;
          elsewhere = elsewhere || std::this_thread::get_id() != home;
        });
      }
    });
  }
  EXPECT_TRUE(loop.run_until([&] { return count == kThreads * kEach; }, kLimit));
  for (auto& thread : threads) thread.join();
  EXPECT_FALSE(elsewhere);
}

TEST(Loop, APosterOutlivesItsLoop) {
  auto loop = std::make_unique<Loop>();
  const Poster poster = loop->poster();
  const auto token = std::make_shared<int>(1);
  poster.post([token] {});
  loop.reset();
  poster.post([token] {});
  EXPECT_EQ(token.use_count(), 1);
}

TEST(Loop, RunReturnsAfterStop) {
  Loop loop;
  int rounds = 0;
  loop.defer([&] {
    ++rounds;
    loop.stop();
  });
  loop.run();
  std::thread([&] { loop.post([&] { loop.stop(); }); }).join();
  loop.run();
  EXPECT_EQ(rounds, 1);
}

TEST(Loop, Signals) {
  Loop loop;
  int count = 0;
  loop.on_signal(SIGUSR1, [&] { ++count; });
  ASSERT_EQ(raise(SIGUSR1), 0);
  EXPECT_TRUE(loop.run_until([&] { return count == 1; }, kLimit));
}

TEST(Loop, WatchPausesAndMayCancelItself) {
  Loop loop;
  Pipe pipe;
  int calls = 0;
  bool done = false;
  Watch watch;
  watch = loop.watch_readable(pipe.read.get(), [&] {
    if (++calls == 2) watch.cancel();
  });
  watch.pause();
  ASSERT_EQ(write(pipe.write.get(), "x", 1), 1);
  const Timer later = loop.after(milliseconds(5), [&] { done = true; });
  ASSERT_TRUE(loop.run_until([&] { return done; }, kLimit));
  EXPECT_EQ(calls, 0);
  watch.resume();
  ASSERT_TRUE(loop.run_until([&] { return calls == 2; }, kLimit));
  EXPECT_FALSE(watch.is_active());
}

}  // namespace
}  // namespace gw::io
