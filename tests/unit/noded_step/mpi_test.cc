// PMIx for the tasks of a step: what tasks are told, what is refused, and who starts the helper.
#include "noded/step/tasks/mpi.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "scene.h"

namespace gw::noded::step {
namespace {

using ::testing::HasSubstr;
using Phase = stream::StepState::Phase;

wire::PmixLaunch pmix_of(const std::string& nodes, const std::vector<uint32_t>& tasks) {
  wire::PmixLaunch pmix;
  pmix.set_secret(std::string(32, 's'));
  pmix.set_nodes(nodes);
  for (const uint32_t n : tasks) pmix.add_tasks(n);
  return pmix;
}

wire::LaunchTasks with_pmix(wire::LaunchTasks launch) {
  *launch.mutable_pmix() = pmix_of("n0", {static_cast<uint32_t>(launch.tasks_size())});
  return launch;
}

TEST(Mpi, WhatIsOrderedIsChecked) {
  EXPECT_TRUE(check_pmix(pmix_of("n[0-2]", {4, 1, 2}), 4));
  EXPECT_FALSE(check_pmix(pmix_of("n[0-2]", {4, 1, 2}), 3)) << "not the tasks of this node";
  EXPECT_FALSE(check_pmix(pmix_of("n[0-1]", {4, 1, 2}), 4)) << "a name is missing";
  EXPECT_FALSE(check_pmix(pmix_of("n[0-999999999]", {4, 1}), 4)) << "far too many names";
  EXPECT_FALSE(check_pmix(pmix_of("n[", {4}), 4));
  EXPECT_FALSE(check_pmix(pmix_of("", {}), 4));
  EXPECT_FALSE(check_pmix(pmix_of("n[0-1]", {4, UINT32_MAX}), 4)) << "too many tasks";
  wire::PmixLaunch pmix = pmix_of("n0", {1});
  pmix.set_self(1);
  EXPECT_FALSE(check_pmix(pmix, 1)) << "no such node";
  pmix.set_self(0);
  pmix.set_secret("short");
  EXPECT_FALSE(check_pmix(pmix, 1));
}

TEST(Mpi, ABadOrderEndsTheStepAndSaysWhy) {
  Scene s;
  wire::LaunchTasks launch = with_pmix(launch_sh("true"));
  launch.mutable_pmix()->clear_secret();
  TestClient& client = s.run(launch);
  EXPECT_TRUE(client.wait_closed());
  EXPECT_THAT(client.state(Phase::kEnding).value_or(""), HasSubstr("secret"));
  s.leave();
}

TEST(Mpi, EachTaskIsToldItsRankAndTheSameServer) {
  Scene s(2);
  const std::vector<std::string> words{"/bin/sh", "-c", "echo $PMIX_RANK $PMIX_NAMESPACE $PMIX_SERVER_URI4"};
  wire::LaunchTasks launch = with_pmix(launch_of({words, words}));
  launch.add_env("PMIX_NAMESPACE=of-another-step");
  launch.add_env("PMIX_OTHER=of-another-step");
  TestClient& client = s.run(launch);
  EXPECT_TRUE(client.wait_over());
  EXPECT_THAT(client.out(0), ::testing::MatchesRegex("0 gangway\\..* gangway-pmix.0;tcp4://127.0.0.1:[0-9]+\n"));
  EXPECT_EQ(client.out(0).substr(1), client.out(1).substr(1));
  EXPECT_EQ(client.out(1).substr(0, 2), "1 ");
  s.leave();
}

TEST(Mpi, OfSeveralNodesEachSaysWhereItIsReachedAndNeedsTheOthers) {
  Scene s;
  wire::LaunchTasks launch = launch_sh("true");
  launch.set_go(false);
  *launch.mutable_pmix() = pmix_of("n[0-1]", {1, 1});
  TestClient& client = s.run(launch);
  EXPECT_TRUE(client.wait_state(Phase::kStarting));
  EXPECT_THAT(client.state(Phase::kStarting).value_or(""), HasSubstr("127.0.0.1:"));
  wire::StepOrder order;
  order.mutable_go()->add_addresses("only-one:1");
  client.order(order);
  EXPECT_TRUE(client.wait_over());
  EXPECT_THAT(client.state(Phase::kEnding).value_or(""), HasSubstr("1 addresses of the helpers of 2 nodes"));
  s.leave();
}

/// Connects to the port at the end of a text, as another user if one is given, and says something until it is hung up.
void talk_to(const std::string& uri, const std::string& bytes, uid_t user = ::geteuid()) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(std::stoi(uri.substr(uri.rfind(':') + 1))));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const uid_t self = ::geteuid();
  ASSERT_TRUE(user == self || ::seteuid(user) == 0);
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  ASSERT_TRUE(user == self || ::seteuid(self) == 0);
  ASSERT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  static_cast<void>(::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL));
  ::shutdown(fd, SHUT_WR);
  char byte = 0;
  while (::recv(fd, &byte, 1, 0) > 0) {
  }
  ::close(fd);
}

TEST(Mpi, GarbageAtItsPortHarmsNobody) {
  Scene s;
  TestClient& client = s.run(with_pmix(launch_sh("echo $PMIX_SERVER_URI4; read line; exit 4")));
  EXPECT_TRUE(client.wait_text(wire::output_channel(0), "\n"));
  std::string noise(100'000, '\0');
  uint32_t x = 1;
  for (char& c : noise) c = static_cast<char>((x = x * 1664525 + 1013904223) >> 24);
  for (const std::string& bytes : {std::string("GET / HTTP/1.0\r\n\r\n"), std::string(1, 'x'), noise, noise.substr(7)})
    talk_to(client.out(), bytes);
  client.send_input("go on\n");
  EXPECT_TRUE(client.wait_over());
  EXPECT_EQ(client.ended(0), (stream::TaskEnded{0, 4, 0}));
  EXPECT_FALSE(client.state(Phase::kEnding)) << *client.state(Phase::kEnding);
  s.leave();
}

int children_of(pid_t pid) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "status");
    for (std::string line; std::getline(file, line);) count += line == "PPid:\t" + std::to_string(pid);
  }
  return count;
}

// The shepherd, whose only child the task is, asks who comes before it starts a helper.
TEST(Mpi, StrangersStartNoHelper) {
  constexpr uid_t kStranger = 65534;
  Scene s;
  wire::LaunchTasks launch = launch_sh("echo uri $PMIX_SERVER_URI4; read line; exit 4");
  launch.set_go(false);
  *launch.mutable_pmix() = pmix_of("n[0-1]", {1, 1});
  TestClient& client = s.run(launch);
  ASSERT_TRUE(client.wait_state(Phase::kStarting));
  const std::string mesh = client.state(Phase::kStarting).value_or("");
  wire::StepOrder order;
  order.mutable_go()->add_addresses(mesh);
  order.mutable_go()->add_addresses("127.0.0.1:1");
  client.order(order);
  ASSERT_TRUE(client.wait_text(wire::output_channel(0), "\n"));
  const pid_t shepherd = s.node.shepherd();
  ASSERT_TRUE(client.wait_state(Phase::kRunning));
  ASSERT_TRUE(client.wait([&] { return children_of(shepherd) == 1; })) << "the starter is still there";
  talk_to(mesh, "GET / HTTP/1.0\r\n\r\n");
  talk_to(mesh, std::string(1000, 'x'));
  EXPECT_EQ(children_of(shepherd), 1);
  if (::geteuid() == 0) {
    for (int i = 0; i < 20; ++i) talk_to(client.out(), "", kStranger);
    EXPECT_EQ(children_of(shepherd), 1);
  }
  client.send_input("go on\n");
  EXPECT_TRUE(client.wait_over());
  EXPECT_EQ(client.ended(0), (stream::TaskEnded{0, 4, 0}));
  s.leave();
}

}  // namespace
}  // namespace gw::noded::step
