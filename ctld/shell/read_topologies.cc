// See read_topologies.h.
#include "ctld/shell/read_topologies.h"

#include <algorithm>
#include <atomic>
#include <thread>

namespace gw::ctld {

std::vector<wire::Topologies::Ptr> read_topologies(const std::vector<store::NamedBytes>& nodes, wire::Topologies& known,
                                                   size_t threads) {
  constexpr size_t kBite = 64;  // rows; fewer are not worth a thread
  std::vector<wire::RowTopology> read(nodes.size());
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t begin = next.fetch_add(kBite); begin < nodes.size(); begin = next.fetch_add(kBite))
      for (size_t i = begin; i < std::min(begin + kBite, nodes.size()); ++i)
        read[i] = wire::topology_of_row(nodes[i].bytes);
  };
  std::vector<std::thread> others;
  const size_t bites = (nodes.size() + kBite - 1) / kBite;
  while (others.size() + 1 < std::min(threads, bites)) others.emplace_back(work);
  work();
  for (std::thread& other : others) other.join();

  std::vector<wire::Topologies::Ptr> kept;
  for (const wire::RowTopology& one : read) {
    if (!one.topology) continue;
    known.add(one.bytes, one.topology);
    kept.push_back(one.topology);
  }
  return kept;
}

}  // namespace gw::ctld
