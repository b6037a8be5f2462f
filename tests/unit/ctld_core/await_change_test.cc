// Who watches the cluster is told of each change, not too often, and nobody waits for ever.
#include <gtest/gtest.h>

#include "world.h"

namespace gw::ctld {
namespace {

using testing::gang;
using testing::World;

struct AwaitChange : ::testing::Test {
  World w{2};

  AwaitChange() { w.connect_all(); }
  ConnId ask(uint64_t version, ConnId conn = 0) {
    if (conn == 0) conn = ++w.last_conn;
    wire::ApiRequest request;
    request.set_id(7);
    request.mutable_await_change()->set_version(version);
    w.core->on_request(w.now, conn, World::user(1000), request);
    w.pump();
    return conn;
  }
  /// 0: no answer.
  uint64_t told(ConnId conn) { return w.replies[conn].empty() ? 0 : w.replies[conn].back().await_change().version(); }
  uint64_t version_now() { return told(ask(0)); }
  void pass(base::Duration time) {
    for (base::Duration done; done < time; done = done + base::milliseconds(50)) w.tick(base::milliseconds(50));
  }
  /// Nothing happens in it by itself.
  void settle() { pass(base::seconds(2)); }
};

TEST_F(AwaitChange, WhoKnowsNothingIsAnsweredAtOnce) { EXPECT_GT(version_now(), 0u); }

TEST_F(AwaitChange, IsToldOfAChangeSoonAndNotBefore) {
  settle();
  const uint64_t before = version_now();
  const ConnId conn = ask(before);
  pass(base::seconds(2));
  EXPECT_EQ(told(conn), 0u) << "nothing has happened";
  w.submit(1000, gang(1, 1));
  pass(base::milliseconds(100));
  EXPECT_GT(told(conn), before);
}

TEST_F(AwaitChange, WhoIsBehindIsToldTwiceASecondAtMost) {
  settle();
  const uint64_t before = version_now();
  w.submit(1000, gang(1, 1));
  const ConnId conn = ask(before);
  pass(base::milliseconds(300));
  EXPECT_EQ(told(conn), 0u);
  pass(base::milliseconds(300));
  EXPECT_GT(told(conn), before);
}

TEST_F(AwaitChange, NobodyWaitsForEver) {
  settle();
  const uint64_t before = version_now();
  const ConnId conn = ask(before);
  pass(ChangeWatch::kLongestWait + base::seconds(3));
  EXPECT_NE(told(conn), 0u);
}

/// Why jobs wait is in no row of the store.
TEST_F(AwaitChange, TheReasonOfAWaitIsAChange) {
  const auto tell = [this](model::WaitReason reason) {
    sched::Plan plan;
    plan.groups.emplace_back().decisions.push_back(sched::Wait{.job_class = "a class", .reason = reason});
    w.core->on_plan(w.now, plan);
    w.pump();
  };
  tell(model::WaitReason::kResources);
  settle();
  const ConnId conn = ask(version_now());
  tell(model::WaitReason::kResources);
  pass(base::seconds(1));
  EXPECT_EQ(told(conn), 0u) << "the same as before";
  tell(model::WaitReason::kPriority);
  pass(base::seconds(1));
  EXPECT_NE(told(conn), 0u);
}

/// Nor are forecasts.
TEST_F(AwaitChange, AForecastIsAChange) {
  w.submit(1000, gang(2, 8));
  const JobId waits = w.submit(1000, gang(2, 8));
  const auto foretell = [&](base::Time likely) {
    w.core->planning().forecasts.take({{waits, {likely, likely, likely}}}, w.now, w.core->jobs());
    w.pump();
  };
  const base::Time first = w.now + base::hours(1);
  foretell(first);
  settle();
  const ConnId conn = ask(version_now());
  foretell(first);
  pass(base::seconds(1));
  EXPECT_EQ(told(conn), 0u) << "the same as before";
  foretell(first + base::hours(1));
  pass(base::seconds(1));
  EXPECT_NE(told(conn), 0u);
}

TEST_F(AwaitChange, AConnectionWaitsOnce) {
  settle();
  const uint64_t version = version_now();
  const ConnId conn = ask(version);
  ask(version, conn);
  ASSERT_EQ(w.replies[conn].size(), 1u);
  EXPECT_EQ(w.replies[conn].back().error().code(), static_cast<uint32_t>(base::ErrorCode::kConflict));
}

TEST_F(AwaitChange, WhoHasGoneIsNotTold) {
  settle();
  const ConnId conn = ask(version_now());
  w.core->on_client_gone(w.now, conn);
  w.submit(1000, gang(1, 1));
  pass(base::seconds(1));
  EXPECT_EQ(told(conn), 0u);
}

TEST_F(AwaitChange, AfterARestartEveryVersionIsAnOldOne) {
  settle();
  const uint64_t before = version_now();
  w.tick(base::seconds(1));
  w.restart();
  w.connect_all();
  settle();
  const ConnId conn = ask(before);
  pass(base::milliseconds(700));
  EXPECT_GT(told(conn), before);
}

/// A look takes so many steps at most: with many who watch each is told all the same.
TEST(ChangeWatch, ManyAreToldInSeveralLooks) {
  constexpr size_t kMany = ChangeWatch::kLooks * 5 / 2;
  Outbox out;
  base::Time now{1'000'000};
  ChangeWatch watch(now);
  for (ConnId conn = 1; conn <= kMany; ++conn) ASSERT_TRUE(watch.ask(now, conn, 1, 1'000'000, out));
  ASSERT_TRUE(out.messages().empty());
  watch.changed();
  now = now + base::seconds(1);
  std::vector<size_t> each;
  while (watch.size() > 0 && each.size() < 10) {
    const size_t before = watch.size();
    EXPECT_LE(watch.next_due(), now);
    watch.look(now, out);
    each.push_back(before - watch.size());
    now = now + ChangeWatch::kLookEvery;
  }
  EXPECT_EQ(each, (std::vector<size_t>{ChangeWatch::kLooks, ChangeWatch::kLooks, ChangeWatch::kLooks / 2}));
  EXPECT_EQ(out.messages().size(), kMany);
  EXPECT_EQ(watch.next_due(), base::Time::never());
}

/// Where nothing else happens.
TEST(ChangeWatch, WhoComesWithAnOldVersionIsLookedAtSoon) {
  Outbox out;
  base::Time now{1'000'000};
  ChangeWatch watch(now);
  watch.look(now, out);
  ASSERT_TRUE(watch.ask(now, 1, 1, 999, out));
  for (int i = 0; i < 3; ++i) {
    EXPECT_LE(watch.next_due(), now + ChangeWatch::kLookEvery) << i;
    now = now + ChangeWatch::kLookEvery;
    watch.look(now, out);
  }
}

TEST(ChangeWatch, WhoAskedWhileARoundWentOnIsNotForgotten) {
  Outbox out;
  base::Time now{1'000'000};
  ChangeWatch watch(now);
  for (ConnId conn = 1; conn <= ChangeWatch::kLooks + 10; ++conn) watch.ask(now, conn, 1, 1'000'000, out);
  watch.changed();
  now = now + base::seconds(1);
  watch.look(now, out);                  // the first ones
  watch.ask(now, 5, 2, 1'000'000, out);  // behind, and in the part that was looked at
  watch.look(now, out);                  // the others
  ASSERT_EQ(watch.size(), 1u);
  now = now + ChangeWatch::kApart;
  EXPECT_LE(watch.next_due(), now);
  watch.look(now, out);
  EXPECT_EQ(watch.size(), 0u);
}

}  // namespace
}  // namespace gw::ctld
