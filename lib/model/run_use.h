// What a run used, from its first process to its last: a total for each resource, and which task used most and least.
// Of a job's own run, of a step on one node, or of a step on all of its nodes, put together by merge().
// Invariant: a spread's least and most are of tasks that are counted in `tasks`; without any, all of it is zero.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/boxed.h"

namespace gw::model {

/// What is counted, task by task.
enum class UseKind : uint8_t {
  kCpu,      ///< Processor time in microseconds.
  kRss,      ///< Largest resident memory in bytes.
  kVm,       ///< Largest address space in bytes; 0 of a task that ended before it was looked at.
  kRead,     ///< Bytes read from disks.
  kWritten,  ///< Bytes written to disks.
  kPages,    ///< Page faults that took a disk.
};
inline constexpr size_t kUseKinds = 6;

/// How much of one resource the tasks used.
struct UseSpread {
  uint64_t sum = 0, most = 0, least = 0;
  uint32_t most_task = 0, least_task = 0;          ///< Ranks.
  base::Boxed<std::string> most_node, least_node;  ///< Empty where the run has one node.
  bool operator==(const UseSpread&) const = default;
};

/// What the GPUs of a run did, as they were looked at every few seconds. Without looks all of it is zero.
struct GpuUse {
  uint32_t gpus = 0;       ///< That were looked at.
  uint64_t seen_us = 0;    ///< GPUs times the time that looks stand for;
  uint64_t busy_us = 0;    ///< of it something ran on them,
  uint64_t idle_us = 0;    ///< and nothing at all, when they were looked at.
  uint32_t most_busy = 0;  ///< Of one GPU at one look, in per cent.
  uint64_t most_mem = 0;   ///< The same, in bytes in use.
  uint64_t sum_mem = 0;    ///< The largest of each GPU, together.

  /// The same of more GPUs.
  void merge(const GpuUse& other);
  bool operator==(const GpuUse&) const = default;
};

struct RunUse {
  using Amounts = std::array<uint64_t, kUseKinds>;

  uint32_t tasks = 0;
  /// Of all processes, also of those that no task waited for.
  uint64_t user_us = 0, system_us = 0;
  std::array<UseSpread, kUseKinds> spreads;
  GpuUse gpu;

  const UseSpread& of(UseKind kind) const { return spreads[static_cast<size_t>(kind)]; }
  /// Nothing is known of it.
  bool empty() const { return tasks == 0 && user_us == 0 && system_us == 0 && gpu.gpus == 0; }
  /// One task more.
  void add_task(uint32_t rank, const Amounts& amounts);
  /// What the run used on one more node.
  void merge(const RunUse& other, std::string_view node);
  bool operator==(const RunUse&) const = default;
};

}  // namespace gw::model
