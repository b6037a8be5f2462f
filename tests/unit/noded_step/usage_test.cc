// What the processes of a step use, as its shepherd tells it.
#include <gtest/gtest.h>

#include "scene.h"

namespace gw::noded::step {
namespace {

std::optional<wire::NodeUsage> ask(ShepherdPeer& peer, uint64_t id) {
  wire::ToShepherd query;
  query.mutable_usage_query()->set_id(id);
  peer.send(query);
  const auto answer = peer.wait([id](const wire::FromShepherd& m) { return m.has_used() && m.used().id() == id; });
  return answer ? std::optional(answer->used().usage()) : std::nullopt;
}

TEST(Usage, ATaskCountsWithItsChildren) {
  Scene s(2);
  // 20 MB in the shell, as much in a child of it; the other task holds next to nothing.
  const std::string hold = "x=$(head -c 20000000 /dev/zero | tr '\\0' x); ";
  TestClient& client = s.run(launch_of(
      {{"sh", "-c", hold + "(" + hold + "echo up; read line ; :); :"}, {"sh", "-c", "echo up; read line; :"}}));
  ASSERT_TRUE(client.wait_text(wire::output_channel(0), "up"));
  ASSERT_TRUE(client.wait_text(wire::output_channel(1), "up"));
  const auto usage = ask(*s.peer, 5);
  ASSERT_TRUE(usage);
  ASSERT_EQ(usage->tasks_size(), 2);
  EXPECT_EQ(usage->tasks(0).rank(), 0u);
  EXPECT_GT(usage->tasks(0).pid(), 0u);
  EXPECT_EQ(usage->tasks(0).processes(), 2u);
  EXPECT_GT(usage->tasks(0).rss(), 40'000'000u);
  EXPECT_GE(usage->tasks(0).peak_rss(), usage->tasks(0).rss());
  EXPECT_GE(usage->tasks(0).vm(), usage->tasks(0).rss());
  EXPECT_GT(usage->tasks(0).cpu_us(), 0);
  EXPECT_LT(usage->tasks(1).rss(), 20'000'000u);
  EXPECT_GE(usage->mem(), usage->tasks(0).rss() + usage->tasks(1).rss());
  EXPECT_GE(usage->peak_mem(), usage->mem());
  client.send_input("go\n");
  EXPECT_TRUE(client.wait_over());
  s.leave();
}

TEST(Usage, OfAStepThatHasNotBegunIsNothing) {
  Scene s;
  const auto usage = ask(*s.peer, 1);
  ASSERT_TRUE(usage);
  EXPECT_EQ(usage->tasks_size(), 0);
  EXPECT_EQ(usage->mem(), 0u);
  TestClient& client = s.run(launch_sh("exit 0"));
  EXPECT_TRUE(client.wait_over());
  s.leave();
}

}  // namespace
}  // namespace gw::noded::step
