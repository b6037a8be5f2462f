// What NVIDIA GPUs do now, asked of NVML, which is opened at run time when it is there; its absence is normal.
// Invariants: nothing of a vendor's header is needed to build; a library that fails gives no figures. Calls may take
// long: not for an event loop.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace gw::topo {

struct GpuSample {
  uint32_t busy_percent = 0;
  uint64_t mem = 0;  ///< Bytes in use on the GPU, by whomever.
};

/// The first that opens is used.
inline const std::vector<std::string> kNvmlNames = {"libnvidia-ml.so.1"};

/// NVML, held open: to open it may take seconds where no other process has a GPU in use.
class GpuSampler {
 public:
  explicit GpuSampler(const std::vector<std::string>& libraries = kNvmlNames);
  ~GpuSampler();
  GpuSampler(const GpuSampler&) = delete;
  GpuSampler& operator=(const GpuSampler&) = delete;

  /// By device file, "/dev/nvidia0".
  std::map<std::string, GpuSample> sample() const;

 private:
  struct Nvml;
  std::unique_ptr<Nvml> nvml_;  // none: there is no such library, or it failed
};

}  // namespace gw::topo
