// Tasks dealt to the sockets of a node, for --ntasks-per-socket. Shared by the scheduler, the division of a job among
// its steps and the binding of tasks, so that all three mean the same.
// Invariants: pure; no task has cores of two sockets; no socket has more tasks than it may.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "base/bitset.h"

namespace gw::model {

/// The cores of each socket, by its number.
using SocketCores = std::map<uint32_t, base::IndexSet>;

struct SocketLayout {
  uint32_t most = 1;  ///< Tasks of a socket.
  uint32_t each = 1;  ///< Whole cores of a task.
};

/// Whole cores of a task that has so many CPUs.
inline uint32_t cores_of_task(uint64_t cpus, uint32_t threads_per_core) {
  const uint64_t threads = std::max(threads_per_core, 1U);
  return static_cast<uint32_t>(std::min<uint64_t>((std::max<uint64_t>(cpus, 1) + threads - 1) / threads, UINT32_MAX));
}

/// Tasks that find room in so many free cores of one socket.
inline uint32_t tasks_in(uint32_t free_cores, SocketLayout layout) {
  return std::min(layout.most, free_cores / std::max(layout.each, 1U));
}

/// Tasks that find room in the free cores of a node.
inline uint64_t tasks_on_sockets(const SocketCores& sockets, const base::IndexSet& free, SocketLayout layout) {
  uint64_t tasks = 0;
  for (const auto& [socket, cores] : sockets) tasks += tasks_in(free.common(cores), layout);
  return tasks;
}

/// Tasks of a socket.
struct SocketTasks {
  uint32_t socket = 0;
  uint32_t tasks = 0;
};

/// One socket after the other takes what it may: those with more of the GPUs first (`gpus_on` tells how many it has),
/// then those that can take their full number, of these the ones with fewer free cores; by number among equals. There
/// are fewer than `tasks` of them in all where there is no room for the rest.
template <typename GpusOn>
std::vector<SocketTasks> deal_to_sockets(const SocketCores& sockets, const base::IndexSet& free, SocketLayout layout,
                                         uint32_t tasks, GpusOn gpus_on) {
  std::vector<std::tuple<uint32_t, bool, uint32_t, uint32_t>> order;  // without GPUs, is small, free cores, socket
  const uint32_t full = std::min(layout.most, tasks);
  for (const auto& [socket, cores] : sockets) {
    const uint32_t there = free.common(cores);
    order.emplace_back(UINT32_MAX - gpus_on(socket), tasks_in(there, layout) < full, there, socket);
  }
  std::sort(order.begin(), order.end());
  std::vector<SocketTasks> dealt;
  for (const auto& [gpus, is_small, there, socket] : order) {
    const uint32_t here = std::min(tasks, tasks_in(there, layout));
    if (here > 0) dealt.push_back({socket, here});
    tasks -= here;
  }
  return dealt;
}

}  // namespace gw::model
