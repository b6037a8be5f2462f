// Steps that others join and watch: what they see, what they may not, and that none of them is in the way.
#include <gtest/gtest.h>
#include <signal.h>

#include "noded/step/tasks/audience.h"
#include "scene.h"

namespace gw::noded::step {
namespace {

constexpr stream::ChannelId kOut = wire::output_channel(0), kErr = wire::error_channel(0);

std::shared_ptr<TestClient> watcher(Scene& s, const std::set<stream::ChannelId>& outputs = {kOut, kErr}) {
  const auto client =
      TestClient::of(s.spec, *s.peer, s.controller, [](auth::Ticket& t) { t.rights = auth::Rights::kWatch; });
  for (const stream::ChannelId channel : outputs) client->expect_output(channel);
  client->start();
  return client;
}

bool is_joined(TestClient& client) { return client.wait_state(stream::StepState::Phase::kRunning); }

TEST(Watch, SeesOutputEndsAndTheEndOfTheStep) {
  Scene s(2);
  TestClient& client =
      s.run(launch_of({{"sh", "-c", "read line; echo got $line; echo bad >&2; exit 3"}, {"sh", "-c", "exit 4"}}));
  ASSERT_TRUE(client.wait_state(stream::StepState::Phase::kRunning));
  ASSERT_TRUE(client.wait([&] { return client.ended(1).has_value(); }));
  const auto first = watcher(s), second = watcher(s);
  ASSERT_TRUE(is_joined(*first) && is_joined(*second));
  EXPECT_EQ(first->joined(), (stream::Joined{2, false, 0, 0}));
  EXPECT_EQ(first->ended(1), (stream::TaskEnded{1, 4, 0})) << "it had ended before";
  client.send_input("word\n");
  EXPECT_TRUE(client.wait_over());
  for (const auto& one : {first, second}) {
    EXPECT_TRUE(one->wait_over());
    EXPECT_EQ(one->out(), "got word\n");
    EXPECT_EQ(one->err(), "bad\n");
    EXPECT_EQ(one->ended(0), (stream::TaskEnded{0, 3, 0}));
  }
  s.leave();
}

TEST(Watch, OrdersAndInputAreRefusedAndHarmNobody) {
  Scene s;
  TestClient& client = s.run(launch_of({{"cat"}}));
  ASSERT_TRUE(client.wait_state(stream::StepState::Phase::kRunning));
  const auto typing = watcher(s), ordering = watcher(s), signalling = watcher(s), good = watcher(s);
  for (const auto& one : {typing, ordering, signalling, good}) ASSERT_TRUE(is_joined(*one));
  EXPECT_GT(typing->session().write(wire::kInputChannel, "typed\n"), 0u);
  wire::StepOrder end;
  end.mutable_end();
  ordering->order(end);
  signalling->control(stream::Signal{stream::kAllTasks, SIGKILL});
  EXPECT_TRUE(signalling->wait_closed());
  EXPECT_NE(signalling->closed->find("lets you watch"), std::string::npos) << *signalling->closed;
  client.send_input("mine\n");
  EXPECT_TRUE(client.wait_over());
  for (const auto& one : {typing, ordering, good}) EXPECT_TRUE(one->wait_over());
  EXPECT_EQ(client.out(), "mine\n");
  EXPECT_EQ(client.ended(0), (stream::TaskEnded{0, 0, 0}));
  s.leave();
}

TEST(Watch, ATicketToWatchIsNoneToJoin) {
  Scene s;
  wire::LaunchTasks launch = launch_sh("read line; echo got $line");
  launch.set_keep(true);
  TestClient& client = s.run(launch);
  ASSERT_TRUE(client.wait_state(stream::StepState::Phase::kRunning));
  const auto one = watcher(s);
  ASSERT_TRUE(is_joined(*one));
  wire::StepOrder join;
  join.mutable_join();
  one->order(join);
  client.send_input("word\n");
  EXPECT_TRUE(client.wait_over()) << "it was not taken over";
  EXPECT_TRUE(one->wait_over());
  EXPECT_EQ(client.out(), "got word\n");
  s.leave();
}

TEST(Watch, WhoTakesNothingIsInNobodysWay) {
  Scene s;
  TestClient& client = s.run(launch_sh("read line; head -c 10000000 /dev/zero; echo end; read line"));
  ASSERT_TRUE(client.wait_state(stream::StepState::Phase::kRunning));
  const auto slow = watcher(s), good = watcher(s);
  ASSERT_TRUE(is_joined(*slow) && is_joined(*good));
  slow->appetite = 0;
  client.send_input("go\n", false);
  const auto count = [](TestClient& c) { return c.counts[kOut]; };
  ASSERT_TRUE(client.wait([&] { return count(client) >= 10'000'004; }));
  EXPECT_EQ(slow->out(), "");
  slow->appetite = SIZE_MAX;
  slow->session().pull(kOut);
  ASSERT_TRUE(slow->wait_text(kOut, "bytes are left out here"));
  client.send_input("go\n");
  EXPECT_TRUE(client.wait_over());
  EXPECT_TRUE(slow->wait_over());
  EXPECT_LT(slow->out().size(), 2'000'000u) << "what it did not take was not kept for it";
  s.leave();
}

TEST(Watch, SixteenAtOnceAndTheOwnerComesIn) {
  Scene s;
  wire::LaunchTasks launch = launch_sh("read line");
  launch.set_keep(true);
  TestClient& client = s.run(launch);
  ASSERT_TRUE(client.wait_state(stream::StepState::Phase::kRunning));
  std::vector<std::shared_ptr<TestClient>> crowd;
  for (size_t i = 0; i < Audience::kMostWatchers; ++i) {
    crowd.push_back(watcher(s));
    ASSERT_TRUE(is_joined(*crowd.back()));
  }
  const auto one_more = watcher(s);
  EXPECT_TRUE(one_more->wait_closed());
  EXPECT_EQ(one_more->closed, "16 watch this step already");
  crowd.front()->go_away();
  const auto instead = watcher(s);
  EXPECT_TRUE(is_joined(*instead));
  const auto owner = TestClient::of(s.spec, *s.peer, s.controller);
  owner->join({kOut, kErr});
  EXPECT_TRUE(is_joined(*owner));
  owner->send_input("go\n");
  EXPECT_TRUE(owner->wait_over());
  s.leave();
}

TEST(Join, AStepThatIsNotKeptStaysItsClients) {
  Scene s;
  TestClient& client = s.run(launch_of({{"cat"}}));
  ASSERT_TRUE(client.wait_state(stream::StepState::Phase::kRunning));
  const auto other = TestClient::of(s.spec, *s.peer, s.controller);
  other->join({kOut, kErr});
  EXPECT_TRUE(other->wait_closed());
  EXPECT_EQ(other->closed, "another client has this step, which was not started with --keep");
  client.send_input("mine\n");
  EXPECT_TRUE(client.wait_over());
  EXPECT_EQ(client.out(), "mine\n");
  s.leave();
}

TEST(Join, BeforeTheLaunchIsRefusedAndDoesNotSpoilIt) {
  Scene s;
  const auto early = TestClient::of(s.spec, *s.peer, s.controller);
  early->join({});
  EXPECT_TRUE(early->wait_closed());
  EXPECT_EQ(early->closed, "the step has not started yet");
  TestClient& client = s.run(launch_sh("echo fine"));
  EXPECT_TRUE(client.wait_over());
  EXPECT_EQ(client.out(), "fine\n");
  s.leave();
}

TEST(Join, GetsWhatIsPrintedFromThenOn) {
  Scene s(2);
  wire::LaunchTasks launch =
      launch_of({{"sh", "-c", "echo early; read line; echo late $line; exit 6"}, {"sh", "-c", "exit 5"}});
  launch.set_keep(true);
  TestClient& client = s.run(launch);
  ASSERT_TRUE(client.wait_text(kOut, "early"));
  ASSERT_TRUE(is_joined(client));
  const auto is_over = [&](stream::ChannelId channel) { return client.ends.contains(channel); };
  ASSERT_TRUE(client.wait([&] { return is_over(wire::output_channel(1)) && is_over(wire::error_channel(1)); }));
  client.go_away();
  const auto second = TestClient::of(s.spec, *s.peer, s.controller);
  second->join({kOut, kErr});
  ASSERT_TRUE(is_joined(*second));
  EXPECT_TRUE(second->wait([&] { return second->ended(1).has_value(); }));
  second->send_input("word\n");
  EXPECT_TRUE(second->wait_over());
  EXPECT_EQ(second->out(), "late word\n");
  EXPECT_EQ(second->ended(0), (stream::TaskEnded{0, 6, 0}));
  EXPECT_EQ(s.leave().code(), 6);
}

TEST(Join, AnUnreadableOrderOfAStrangerHarmsNobody) {
  Scene s;
  TestClient& client = s.run(launch_of({{"cat"}}));
  ASSERT_TRUE(client.wait_state(stream::StepState::Phase::kRunning));
  const auto other = TestClient::of(s.spec, *s.peer, s.controller);
  EXPECT_EQ(other->session().write(wire::kOrderChannel, "\xff\xff\xff\xff garbage"), 12u);
  other->start();
  EXPECT_TRUE(other->wait_closed());
  client.send_input("mine\n");
  EXPECT_TRUE(client.wait_over());
  EXPECT_EQ(client.out(), "mine\n");
  s.leave();
}

}  // namespace
}  // namespace gw::noded::step
