// bench_large_gang NODES: the core of the controller through the life of a gang of so many nodes, without sockets and
// disk; one line of JSON for each part of it. Each node says what it says in a message and a commit of its own.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "tests/unit/ctld_gangs/gang_world.h"

namespace gw::ctld::testing {
namespace {

int run(uint32_t nodes) {
  GangWorld w(nodes);
  w.take_cost();
  for (const GangPhase& phase : kGangLife) {
    const auto begun = std::chrono::steady_clock::now();
    (w.*phase.run)();
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begun;
    const Cost cost = w.take_cost();
    fmt::print(R"({{"bench": "large_gang", "nodes": {}, "phase": "{}", "ms": {:.1f}, "rows": {}, "row_bytes": {}, )"
               R"("deltas": {}, "messages": {}, "message_bytes": {}}})"
               "\n",
               nodes, phase.name, took.count(), cost.rows, cost.row_bytes, cost.deltas, cost.messages,
               cost.message_bytes);
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace gw::ctld::testing

int main(int argc, char** argv) {
  const int nodes = argc == 2 ? std::atoi(argv[1]) : 0;
  if (nodes > 1) return gw::ctld::testing::run(static_cast<uint32_t>(nodes));
  std::fputs("usage: bench_large_gang NODES\n", stderr);
  return 2;
}
