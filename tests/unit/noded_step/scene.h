// A step on a node of its own, with its client: what the tests of interactive steps share.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "test_client.h"

namespace gw::noded::step {

/// One step on a node of its own, with its client.
struct Scene {
  auth::SigningKey controller;
  Node node;
  wire::StepSpec spec;
  std::optional<ShepherdPeer> peer;
  std::shared_ptr<TestClient> client;

  explicit Scene(
      int places = 1, const std::function<void(wire::StepSpec&)>& change = [](wire::StepSpec&) {},
      const std::string& kind = "none")
      : node(kind), spec(with_access(node.step(""), controller, places)) {
    change(spec);
    peer.emplace(node.launch(spec));
    client = TestClient::of(spec, *peer, controller);
  }
  TestClient& run(const wire::LaunchTasks& launch) {
    client->launch(launch);
    client->start();
    return *client;
  }
  /// What the node daemon is told at the end; the step is then removed.
  wire::StepExit leave() {
    const auto exit = wait_exit(*peer);
    EXPECT_TRUE(exit);
    peer->send(stop(0, true));
    EXPECT_TRUE(wait_clean(*peer));
    peer->send(forget());
    EXPECT_TRUE(peer->wait_closed());
    return exit.value_or(wire::StepExit());
  }
};

}  // namespace gw::noded::step
