// A step's terminal: size, name, keys that are signals, and a session that outlives its client.
#include <gtest/gtest.h>
#include <signal.h>

#include "scene.h"

namespace gw::noded::step {
namespace {

constexpr stream::ChannelId kScreen = wire::output_channel(0);

wire::LaunchTasks on_terminal(const std::string& body) {
  wire::LaunchTasks launch = launch_sh(body);
  launch.set_pty(true);
  launch.set_rows(31);
  launch.set_columns(97);
  launch.add_env("TERM=vt100");
  return launch;
}

TEST(Terminal, HasANameASizeAndItsUser) {
  Scene s;
  TestClient& client =
      s.run(on_terminal("tty; stty size; test -O $(tty) && echo mine; test -t 2 && echo all; "
                        "echo $TERM; ps -o tty= -p $$"));
  EXPECT_TRUE(client.wait_over());
  EXPECT_EQ(client.out().substr(0, 9), "/dev/pts/");
  EXPECT_NE(client.out().find("\r\n31 97\r\nmine\r\nall\r\nvt100\r\npts/"), std::string::npos) << client.out();
  s.leave();
}

TEST(Terminal, CtrlCEndsWhatRunsInFront) {
  Scene s;
  TestClient& client =
      s.run(on_terminal("trap 'echo caught' INT; sh -c 'echo up; exec sleep 1000'; echo after; exit 4"));
  EXPECT_TRUE(client.wait_text(kScreen, "up\r\n"));
  client.send_input("\x03", false);
  EXPECT_TRUE(client.wait_over());
  EXPECT_NE(client.out().find("after"), std::string::npos);
  EXPECT_EQ(client.ended(0)->exit_code, 4);
  s.leave();
}

TEST(Terminal, TakesANewSize) {
  Scene s;
  TestClient& client = s.run(on_terminal("trap 'stty size; exit 0' WINCH; echo up; while :; do sleep 0.01; done"));
  EXPECT_TRUE(client.wait_text(kScreen, "up\r\n"));
  client.control(stream::WindowSize{50, 132});
  EXPECT_TRUE(client.wait_over());
  EXPECT_NE(client.out().find("50 132"), std::string::npos);
  s.leave();
}

TEST(Terminal, InputEndsByItsKey) {
  Scene s;
  TestClient& client = s.run(on_terminal("stty -echo; echo up; cat; echo end"));
  EXPECT_TRUE(client.wait_text(kScreen, "up\r\n"));
  client.send_input("line\n");
  EXPECT_TRUE(client.wait_over());
  EXPECT_EQ(client.out(), "up\r\nline\r\nend\r\n");
  s.leave();
}

TEST(Terminal, IsTheFirstTasksAlone) {
  Scene s(2);
  wire::LaunchTasks launch = launch_of({{"sh", "-c", "test -t 0 && echo terminal"}, {"sh", "-c", "test -t 0 || cat"}});
  launch.set_pty(true);
  launch.mutable_tasks(1)->mutable_input()->set_kind(wire::TaskStream::kNothing);
  TestClient& client = s.run(launch);
  EXPECT_TRUE(client.wait_over());
  EXPECT_EQ(client.out(0), "terminal\r\n");
  EXPECT_EQ(client.out(1), "");
  s.leave();
}

TEST(Terminal, GoesOverToWhoComesNextIfKept) {
  Scene s;
  wire::LaunchTasks launch = on_terminal("stty -echo; echo screen; read line; echo got $line");
  launch.set_keep(true);
  TestClient& client = s.run(launch);
  EXPECT_TRUE(client.wait_text(kScreen, "screen"));
  ASSERT_TRUE(client.wait_state(stream::StepState::Phase::kRunning));
  const auto second = TestClient::of(s.spec, *s.peer, s.controller);
  second->join({kScreen});
  EXPECT_TRUE(second->wait_text(kScreen, "screen"));
  EXPECT_TRUE(client.wait_closed());
  EXPECT_EQ(client.closed, "another client took this step over");
  second->send_input("word\n", false);
  EXPECT_TRUE(second->wait_over());
  s.leave();
}

TEST(Terminal, SurvivesItsClientAndShowsItsLastScreen) {
  Scene s;
  wire::LaunchTasks launch = on_terminal("stty -echo; echo first screen; read line; echo got $line");
  launch.set_keep(true);
  TestClient& client = s.run(launch);
  EXPECT_TRUE(client.wait_text(kScreen, "first screen"));
  ASSERT_TRUE(client.wait_state(stream::StepState::Phase::kRunning));
  client.go_away();
  const auto second = TestClient::of(s.spec, *s.peer, s.controller);
  second->join({kScreen});
  EXPECT_TRUE(second->wait_text(kScreen, "first screen"));
  second->send_input("word\n", false);
  EXPECT_TRUE(second->wait_over());
  EXPECT_NE(second->out().find("got word"), std::string::npos);
  s.leave();
}

TEST(Terminal, IsDrawnAnewForWhoTakesItOver) {
  Scene s;
  wire::LaunchTasks launch = on_terminal("trap 'stty size' WINCH; echo up; while :; do sleep 0.01; done");
  launch.set_keep(true);
  TestClient& client = s.run(launch);
  EXPECT_TRUE(client.wait_text(kScreen, "up\r\n"));
  ASSERT_TRUE(client.wait_state(stream::StepState::Phase::kRunning));
  const auto second = TestClient::of(s.spec, *s.peer, s.controller);
  second->join({kScreen});
  EXPECT_TRUE(second->wait_text(kScreen, "up\r\n"));
  EXPECT_EQ(second->joined(), (stream::Joined{1, true, 31, 97}));
  second->control(stream::WindowSize{31, 97});
  EXPECT_TRUE(second->wait_text(kScreen, "31 97"));
  second->control(stream::WindowSize{50, 100});
  EXPECT_TRUE(second->wait_text(kScreen, "50 100"));
  second->control(stream::Signal{stream::kAllTasks, SIGKILL});
  EXPECT_TRUE(second->wait_over());
  s.leave();
}

TEST(Terminal, TakesInputFromItsNextOwnerAfterAnEndOfInput) {
  Scene s;
  wire::LaunchTasks launch = on_terminal("stty -echo; echo up; cat; echo over; read line; echo got $line");
  launch.set_keep(true);
  TestClient& client = s.run(launch);
  EXPECT_TRUE(client.wait_text(kScreen, "up\r\n"));
  ASSERT_TRUE(client.wait_state(stream::StepState::Phase::kRunning));
  client.send_input("");
  EXPECT_TRUE(client.wait_text(kScreen, "over"));
  const auto second = TestClient::of(s.spec, *s.peer, s.controller);
  second->join({kScreen});
  second->send_input("word\n", false);
  EXPECT_TRUE(second->wait_over());
  EXPECT_NE(second->out().find("got word"), std::string::npos);
  s.leave();
}

}  // namespace
}  // namespace gw::noded::step
