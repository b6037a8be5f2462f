// The controller with its disk, real node agents, a network that loses connections, and users: crashes between any two
// effects, with jobs active. See ctld_nodes/cluster.h for what must hold.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/prop/ctld_nodes/cluster.h"

namespace gw::ctld::testing {
namespace {

/// Random numbers of full size from the first case on. Not made smaller where one fails: an event less is another
/// world.
std::vector<uint32_t> random_events(size_t most) {
  const auto length = *rc::gen::noShrink(rc::gen::resize(100, rc::gen::inRange<size_t>(20, most)));
  const auto one = rc::gen::resize(100, rc::gen::inRange<uint32_t>(0, 1U << 31));
  return *rc::gen::noShrink(rc::gen::container<std::vector<uint32_t>>(length, one));
}

RC_GTEST_PROP(ControllerAndNodes, SurviveAnyOrderOfEvents, ()) {
  const std::vector<uint32_t> events = random_events(110);
  SimCluster cluster(events.front() % 2 == 0);
  for (const uint32_t event : events) cluster.step(event);
  cluster.come_to_rest();
}

}  // namespace
}  // namespace gw::ctld::testing
