// What the GPUs of runs do while they run, for accounting: put together from looks of the shell, told with Done.
// Invariants: a look counts for every run that has the GPU and runs, and for none that is suspended; it stands for the
// time since the look before, bounded, so that a pause of the daemon is not taken for work or idleness.
#pragma once

#include <cstdint>
#include <map>

#include "noded/core/core.h"

namespace gw::noded {

/// How often GPUs are looked at.
inline constexpr base::Duration kGpuLookEvery = base::seconds(10);

/// What one GPU did at a look.
struct GpuLook {
  uint32_t busy_percent = 0;
  uint64_t mem = 0;  ///< Bytes in use on the whole GPU.
};
using GpuLooks = std::map<uint32_t, GpuLook>;  ///< By its number on the node.

/// Is there a run that has GPUs and runs?
bool wants_gpu_looks(const Core& core);
void on_gpu_looks(Core& core, const GpuLooks& looks);
/// Adds what was seen to what the run reports.
void tell_gpu_use(Run& run);

}  // namespace gw::noded
