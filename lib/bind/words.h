// How the tasks of a step are bound to processors, GPUs and memory, in Slurm's words: --cpu-bind, --gpu-bind,
// --mem-bind. Invariants: pure; an empty text says nothing of it (kAuto); lists are bounded, their repetitions written
// out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bitset.h"
#include "base/result.h"

namespace gw::bind {

/// Longest text of one option.
constexpr size_t kMaxText = 8192;
/// Most entries of a list, repetitions counted.
constexpr size_t kMaxEntries = 4096;

enum class CpuWay : uint8_t {
  kAuto,      ///< Cores of its own, where there are enough.
  kNone,      ///< All that the step has.
  kThreads,   ///< As many hardware threads as it asked for, not whole cores.
  kCores,     ///< Whole cores, nearest to the GPUs of the task.
  kSockets,   ///< What the step has of the sockets that hold those cores.
  kLdoms,     ///< Likewise of the NUMA nodes.
  kRank,      ///< Cores in order of the tasks, wherever their GPUs are.
  kMap,       ///< One processor each.
  kMask,      ///< Processors.
  kRankLdom,  ///< A NUMA node each, in order of the tasks.
  kMapLdom,
  kMaskLdom,
};
enum class GpuWay : uint8_t { kAuto, kNone, kClosest, kSingle, kPerTask, kMap, kMask };
enum class MemWay : uint8_t { kAuto, kNone, kLocal, kRank, kMap, kMask };

template <typename Way>
struct Words {
  Way way = Way::kAuto;
  bool says = false;                 ///< "verbose"
  uint32_t count = 0;                ///< Of kSingle and kPerTask.
  std::vector<base::IndexSet> list;  ///< Entry N is that of local task N; then again from the first.
  bool prefers = false;              ///< --mem-bind: other memory where that is full.
};
using CpuWords = Words<CpuWay>;
using GpuWords = Words<GpuWay>;
using MemWords = Words<MemWay>;

/// Whatever its case. Errors name the option, the word, and the words there are.
base::Result<CpuWords> parse_cpu(std::string_view text);
base::Result<GpuWords> parse_gpu(std::string_view text);
base::Result<MemWords> parse_mem(std::string_view text);

/// "0x3": bit N is index N. The empty set is "0x0".
std::string mask_text(const base::IndexSet& set);

}  // namespace gw::bind
