// Tasks that run are moved to other processors, with all that they have begun.
#include "noded/step/tasks/rebind.h"

#include <gtest/gtest.h>

#include "noded/step/start/binding.h"
#include "scene.h"

namespace gw::noded::step {
namespace {

using base::IndexSet;

IndexSet set(const std::string& text) { return *IndexSet::parse(text); }

TEST(Rebind, AThreadFollowsItsTaskOrKeepsWhatIsLeftOfItsChoice) {
  EXPECT_EQ(moved(set("0-7"), set("0-7"), set("0-3")).text(), "0-3");
  EXPECT_EQ(moved(set("0-3"), set("0-3"), set("0-7")).text(), "0-7");
  EXPECT_EQ(moved(set("2-5"), set("0-7"), set("0-3")).text(), "2-3");
  EXPECT_EQ(moved(set("2"), set("0-3"), set("0-7")).text(), "2") << "it has chosen that";
  EXPECT_EQ(moved(set("6-7"), set("0-7"), set("0-3")).text(), "0-3") << "nothing of its choice is left";
}

/// Two processors that this test may run on; of a machine that has one only, twice that.
std::vector<std::string> two_cpus() {
  const std::vector<uint32_t> here = cpus_of(0).value_or(IndexSet::of({0})).to_vector();
  return {std::to_string(here.front()), std::to_string(here.back())};
}

/// A step of one task whose place the node daemon changes.
struct Moving {
  std::string first, second;
  Scene scene;
  pid_t task = 0, child = 0;

  Moving(const std::string& a, const std::string& b, bool only_records = false)
      : first(a), second(b), scene(1, [&](wire::StepSpec& spec) {
          spec.mutable_access()->mutable_places(0)->set_cpus(a + "," + b);
          spec.mutable_access()->mutable_binding()->set_only_records(only_records);
        }) {
    TestClient& client = scene.run(launch_sh("sleep 1000 & echo $$ $!; read line; kill $!"));
    EXPECT_TRUE(client.wait_text(wire::output_channel(0), "\n"));
    // A task may print before the shepherd has read that it runs, and is moved only once it has.
    EXPECT_TRUE(client.wait_state(stream::StepState::Phase::kRunning));
    std::sscanf(client.out().c_str(), "%d %d", &task, &child);
  }
  /// Returns when the shepherd has done it.
  void move_to(const std::string& cpus) {
    wire::ToShepherd message;
    message.mutable_places()->add_cpus(cpus);
    scene.peer->send(message);
    wire::ToShepherd query;
    query.mutable_usage_query()->set_id(++asked);
    scene.peer->send(query);
    EXPECT_TRUE(
        scene.peer->wait([this](const wire::FromShepherd& m) { return m.has_used() && m.used().id() == asked; }));
  }
  static std::string of(pid_t process) { return cpus_of(process).value_or(IndexSet{}).text(); }
  void end() {
    scene.client->send_input("\n");
    EXPECT_TRUE(scene.client->wait_over());
    scene.leave();
  }
  uint64_t asked = 0;
};

TEST(Rebind, ATaskThatRunsShrinksAndGrows) {
  const std::vector<std::string> two = two_cpus();
  Moving m(two[0], two[1]);
  const std::string both = set(two[0] + "," + two[1]).text();
  EXPECT_EQ(Moving::of(m.task), both);
  m.move_to(two[0]);
  EXPECT_EQ(Moving::of(m.task), two[0]);
  EXPECT_EQ(Moving::of(m.child), two[0]) << "what it has begun goes with it";
  m.move_to(both);
  EXPECT_EQ(Moving::of(m.task), both);
  EXPECT_EQ(Moving::of(m.child), both);
  m.move_to(two[1]);
  EXPECT_EQ(Moving::of(m.task), two[1]);
  m.end();
}

TEST(Rebind, WhatAProgramHasChosenForItselfIsNotWidened) {
  const std::vector<std::string> two = two_cpus();
  Moving m(two[0], two[1]);
  const std::string both = set(two[0] + "," + two[1]).text();
  ASSERT_TRUE(set_cpus(m.child, set(two[1])));
  m.move_to(two[0]);
  EXPECT_EQ(Moving::of(m.child), two[0]) << "its choice is another step's now";
  ASSERT_TRUE(set_cpus(m.child, set(two[1])));
  m.move_to(both);
  EXPECT_EQ(Moving::of(m.child), two[1]);
  EXPECT_EQ(Moving::of(m.task), both);
  m.end();
}

TEST(Rebind, EmulatedNodesOnlyRecordIt) {
  const std::vector<std::string> two = two_cpus();
  Moving m(two[0], two[1], true);
  const std::string all = Moving::of(m.task);
  m.move_to(two[0]);
  EXPECT_EQ(Moving::of(m.task), all);
  m.end();
}

}  // namespace
}  // namespace gw::noded::step
