// Ports of a step: those set aside for it, and what is said when they are used up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "io/listener.h"
#include "noded/step/state/listen_place.h"
#include "scene.h"

namespace gw::noded::step {
namespace {

using ::testing::HasSubstr;
using Phase = stream::StepState::Phase;

/// A loopback address that no other process of these tests has.
std::string own_loopback() {
  const auto pid = static_cast<uint32_t>(::getpid());
  return "127." + std::to_string(100 + pid % 100) + "." + std::to_string(pid / 100 % 250) + "." +
         std::to_string(1 + pid / 25'000 % 250);
}

void listen_on_ports(wire::StepSpec& spec, const std::string& ports) {
  spec.mutable_access()->set_listen(own_loopback() + ":0");
  spec.mutable_access()->set_ports(ports);
}

TEST(Listen, AStepTakesAPortOfTheRange) {
  wire::StepSpec spec;
  listen_on_ports(spec, "61000");
  EXPECT_EQ(listen_place(spec.access()), own_loopback() + ":61000-61000");
  Scene s(1, [](wire::StepSpec& change) { listen_on_ports(change, "61000-61000"); });
  ShepherdPeer again(s.spec.dir() + "/sock");
  const auto ready = again.wait([](const wire::FromShepherd& m) { return m.has_ready(); });
  ASSERT_TRUE(ready);
  EXPECT_EQ(ready->ready().address(), own_loopback() + ":61000");
  EXPECT_TRUE(s.run(launch_sh("true")).wait_over());
  s.leave();
}

TEST(Listen, AStepThatFindsNoneNamesTheKey) {
  const auto taken = io::Listener::make_socket({.address = own_loopback() + ":61000"});
  ASSERT_TRUE(taken) << taken.error().text();
  const auth::SigningKey controller;
  Node node("none");
  wire::StepSpec spec = with_access(node.step(""), controller, 1);
  listen_on_ports(spec, "61000-61000");
  ShepherdPeer peer = node.launch(spec);
  const auto exit = wait_exit(peer);
  ASSERT_TRUE(exit);
  EXPECT_TRUE(exit->never_started());
  EXPECT_THAT(exit->detail(), HasSubstr("no port of 61000 is free (widen node_daemon.step_ports"));
  peer.send(stop(0, true));
  EXPECT_TRUE(wait_clean(peer));
  peer.send(forget());
  EXPECT_TRUE(peer.wait_closed());
}

TEST(Listen, AHelperThatFindsNoneNamesTheKey) {
  Scene s(1, [](wire::StepSpec& spec) { listen_on_ports(spec, "61000"); });  // the shepherd has the only one
  wire::LaunchTasks launch = launch_sh("true");
  launch.mutable_pmix()->set_secret(std::string(32, 's'));
  launch.mutable_pmix()->set_nodes("n[0-1]");
  for (int i = 0; i < 2; ++i) launch.mutable_pmix()->add_tasks(1);
  TestClient& client = s.run(launch);
  EXPECT_TRUE(client.wait_closed());
  EXPECT_THAT(client.state(Phase::kEnding).value_or(""), HasSubstr("node_daemon.step_ports"));
  s.leave();
}

}  // namespace
}  // namespace gw::noded::step
