// What NVIDIA GPUs do now, asked of NVML, which is opened at run time when it is there; its absence is normal.
// Invariants: nothing of a vendor's header is needed to build; a library that fails gives no figures. Calls may take
// long: not for an event loop.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace gw::topo {

struct GpuSample {
  uint32_t busy_percent = 0;
  uint64_t mem = 0;  ///< Bytes in use on the GPU, by whomever.
};

/// By device file, "/dev/nvidia0". `libraries`: the first that opens is used.
std::map<std::string, GpuSample> sample_gpus(const std::vector<std::string>& libraries = {"libnvidia-ml.so.1"});

}  // namespace gw::topo
