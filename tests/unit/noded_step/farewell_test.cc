// The end of a step towards its clients, without tasks: when it is told, and who is waited for.
#include "noded/step/tasks/farewell.h"

#include <gtest/gtest.h>

#include "stream/session.h"

namespace gw::noded::step {
namespace {

/// An owner whose client never answers.
class SilentOwner : public stream::Handler {
 public:
  SilentOwner() : session(options()) { session.set_handler(*this); }
  size_t on_bytes(stream::ChannelId, std::string_view bytes) override { return bytes.size(); }
  void on_end(stream::ChannelId) override {}
  void on_writable(stream::ChannelId) override {}
  void on_control(const stream::Control&) override {}
  void on_closed(const base::Error& reason) override {
    closed = reason.text();
    if (then) then();
  }
  static stream::SessionOptions options() {
    stream::SessionOptions options;
    options.role = stream::Role::kShepherd;
    options.own_id = 1;
    return options;
  }

  stream::Session session;
  std::string closed;
  std::function<void()> then;
};

struct Parting {
  io::Loop loop;
  Audience audience;
  size_t untaken = 0;
  int wakes = 0;
  std::optional<wire::StepExit> exit = wire::StepExit();
  Farewell farewell;

  explicit Parting(int64_t settle_limit_us = 0)
      : farewell(loop, audience, settle_limit_us,
                 {[this] { return untaken; }, [this](bool) { return exit; }, [this] { ++wakes; }}) {}
  void begin() {
    farewell.begin();
    farewell.await_owner();
  }
  bool wait(const std::function<bool()>& done) { return loop.run_until(done, base::seconds(20)); }
};

TEST(Farewell, WithNobodyThereTheEndIsToldWhenOutputsAreDrained) {
  Parting p;
  EXPECT_FALSE(p.farewell.has_begun());
  p.begin();
  p.farewell.advance(false);
  EXPECT_FALSE(p.farewell.take_exit());
  p.farewell.advance(true);
  EXPECT_EQ(p.wakes, 1);
  EXPECT_TRUE(p.farewell.take_exit());
  EXPECT_FALSE(p.farewell.take_exit()) << "once";
  p.farewell.advance(true);
  EXPECT_FALSE(p.farewell.take_exit());
}

TEST(Farewell, AStoppedStepWaitsForNobody) {
  Parting p;
  p.farewell.stop();
  p.farewell.advance(false);
  EXPECT_FALSE(p.farewell.take_exit()) << "tasks may live";
  p.begin();
  p.exit.reset();
  p.farewell.advance(false);
  EXPECT_FALSE(p.farewell.take_exit()) << "stopped before it began";
  p.exit.emplace();
  p.farewell.advance(false);
  EXPECT_TRUE(p.farewell.take_exit());
}

TEST(Farewell, AnOwnerThatTakesNothingIsClosedInTheEnd) {
  Parting p(1000);
  SilentOwner owner;
  p.audience.set_owner(&owner.session);
  owner.then = [&] {
    p.audience.set_owner(nullptr);
    p.farewell.advance(true);
  };
  p.begin();
  p.farewell.advance(true);
  EXPECT_FALSE(p.farewell.take_exit()) << "it is being told that the step has ended";
  ASSERT_TRUE(p.wait([&] { return !owner.closed.empty(); }));
  EXPECT_NE(owner.closed.find("took nothing"), std::string::npos) << owner.closed;
  EXPECT_TRUE(p.farewell.take_exit());
}

TEST(Farewell, AnOwnerThatTakesSomethingIsWaitedFor) {
  Parting p(1000);
  SilentOwner owner;
  p.audience.set_owner(&owner.session);
  p.untaken = 1'000'000;
  p.begin();
  int asked = 0;
  // Each time that it is looked at something has been taken.
  ASSERT_TRUE(p.wait([&] {
    --p.untaken;
    return ++asked > 20;
  }));
  EXPECT_EQ(owner.closed, "");
  p.audience.set_owner(nullptr);
}

TEST(Farewell, LastWordsHoldUpLeavingForAMoment) {
  Parting p;
  SilentOwner owner;
  p.audience.set_owner(&owner.session);
  EXPECT_TRUE(p.farewell.may_leave(0)) << "no session is left";
  EXPECT_FALSE(p.farewell.may_leave(1));
  EXPECT_FALSE(p.farewell.may_leave(1));
  ASSERT_TRUE(p.wait([&] { return p.wakes > 0; }));
  EXPECT_NE(owner.closed.find("not all of its output was taken"), std::string::npos) << owner.closed;
  EXPECT_TRUE(p.farewell.may_leave(1));
  p.audience.set_owner(nullptr);
}

}  // namespace
}  // namespace gw::noded::step
